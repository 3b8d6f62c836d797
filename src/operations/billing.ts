/** What the answers of upstreams cost a request: each is priced where it ends, by who gave it. */
import { estimateInputTokens, estimateTextTokens } from "../canonical/estimate.ts";
import type { HostedResult } from "../canonical/hosted.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import type { ReportedUsage, Usage } from "../canonical/usage.ts";
import type { Bill, Reserved } from "../context/bill.ts";
import type { Payer } from "../context/gateway.ts";
import type { Attempt, Recorder } from "../context/recorder.ts";
import type { RequestContext } from "../context/request_context.ts";
import { type Destination, type Price, targetName } from "../contract/destination.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import type { PricedPlace } from "../lanes/prices.ts";
import { costOfSound, priceOf } from "../observe/cost.ts";
import type { Reservation } from "../state/budget/page.ts";
import type { AnswerBill, Ask } from "../upstream/ask.ts";
import { settleWithin } from "../util/timeout.ts";
import { weighRelayed } from "./carried.ts";

const CHARACTERS_PER_TOKEN = 4;

/** The bill of one answer, as who asks for it sees it. */
function billOf<K extends ModelOperation>(operation: K, bill: Bill, recorder: Recorder): AnswerBill<K> {
  return {
    follow(text) {
      // Of what is relayed or transcribed there is one answer, whose events are weighed on their way.
      bill.emitted = operation === "generate" ? () => text.length / CHARACTERS_PER_TOKEN : () => recorder.emittedTokens;
    },
    answered: (output) => settle(bill, reportIn(operation, output)),
    finished: (last) => settle(bill, reportAtEnd(last)),
    ended: (isGivenUp) => bill.end(isGivenUp),
  };
}

/** What an answer says of its own cost. */
interface Report {
  usage?: ReportedUsage;
  /** The length of sound that was transcribed. */
  seconds?: number;
  /** The tokens of the answer, estimated. */
  weigh?(): number;
}

function settle(bill: Bill, { usage = {}, seconds, weigh }: Report): void {
  if (seconds !== undefined) bill.settleSound(seconds);
  else bill.settle(usage, weigh);
}

function reportIn<K extends ModelOperation>(operation: K, output: Output<K>): Report {
  switch (operation) {
    case "generate": {
      const { usage, content } = output as Output<"generate">;
      return { usage, weigh: () => estimateInputTokens({ messages: [{ role: "assistant", content }] }) };
    }
    case "relay": {
      const { usage, body } = output as Output<"relay">;
      return { usage, weigh: () => weighRelayed(body) };
    }
    case "transcribe": {
      const { usage, text } = output as Output<"transcribe">;
      return { ...transcriptReport(usage), weigh: () => estimateTextTokens(text) };
    }
    case "embed":
    case "rerank":
      return { usage: { ...(output as Output<"embed" | "rerank">).usage, outputTokens: 0 } };
    default:
      // No server reports how many tokens its speech was; what it was made of is known.
      return { usage: { outputTokens: 0 } };
  }
}

function reportAtEnd(event: StreamEvent<ModelOperation>): Report {
  if (event.type !== "finish") return {};
  if ("transcript" in event) return transcriptReport(event.transcript.usage);
  return { usage: event.usage };
}

function transcriptReport(usage: Output<"transcribe">["usage"]): Report {
  return usage && "seconds" in usage ? { seconds: usage.seconds } : { usage };
}

/** The answer to a request that says nothing of its length, and of whose model nothing is known, in tokens. */
const USUAL_ANSWER = 8_192;
/** The fewest bytes of a second of sound that are in use, the most, and the most tokens of one. */
const SOUND_BYTES = 2_000;
const MOST_SOUND_BYTES = 400_000;
const SOUND_TOKENS = 25;

/** What an answer may cost at most, by estimate, in pico-dollars; nothing where its price is not known. */
export function mostOf<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  inputTokens: number,
  { price, answerRoom }: Pick<Destination, "price" | "answerRoom">,
): bigint | undefined {
  if (!price) return undefined;
  const { input: read = 0, cacheWrite = 0, output = 0, reasoning = 0 } = price;
  const dearest: Price = {
    ...price,
    ...(price.input !== undefined && { input: Math.max(read, cacheWrite) }),
    ...(price.output !== undefined && { output: Math.max(output, reasoning) }),
  };
  const answered = (wanted: number | undefined) => wanted ?? answerRoom ?? USUAL_ANSWER;
  const tokens = (sent: number, received: number) =>
    priceOf({ inputTokens: most(sent), outputTokens: most(received) }, {
      ...dearest,
      cacheWrite: undefined,
      reasoning: undefined,
    });
  switch (operation) {
    case "generate":
      return tokens(inputTokens, answered((input as Input<"generate">).maxOutputTokens));
    case "relay": {
      const { max_completion_tokens: limit, max_tokens: same = limit, n } = (input as Input<"relay">).body;
      return tokens(inputTokens, answered(countIn(limit ?? same)) * (countIn(n) ?? 1));
    }
    case "transcribe": {
      const seconds = secondsOf((input as Input<"transcribe">).file.bytes);
      return price.audioMinute === undefined
        ? tokens(seconds * SOUND_TOKENS, USUAL_ANSWER)
        : costOfSound(seconds, price)?.pico;
    }
    default:
      return tokens(inputTokens, 0);
  }
}

function most(tokens: number): number {
  return Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER);
}

function countIn(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 ? value : undefined;
}

/** How long a recording may be at most. Those that are not packed say how many bytes a second has. */
function secondsOf(bytes: Uint8Array): number {
  const isWave = bytes.length > 44 && String.fromCharCode(...bytes.subarray(0, 4)) === "RIFF";
  const rate = isWave ? new DataView(bytes.buffer, bytes.byteOffset).getUint32(28, true) : SOUND_BYTES;
  return bytes.length / Math.min(Math.max(rate, SOUND_BYTES), MOST_SOUND_BYTES);
}

function unpriced(where: Destination): GatewayError {
  const message = `The price of "${targetName(where)}" is not known, and this key has a budget`;
  return new GatewayError("permission", message, { param: "model", tryNextTarget: true });
}

/** How long a request waits for the first list of prices, in milliseconds. */
const PRICES_MS = 500;

/** The place that is asked, as lists of prices know it: with the provider that serves there, as soon as it is known. */
export function pricedPlace(
  { upstream, path, pinned, model, provider }: Destination,
  attempt?: Pick<Attempt, "provider">,
): PricedPlace {
  return { upstream, path, model: pinned ?? model, provider: attempt?.provider ?? provider };
}

/** Whoever brings a token of its own pays for itself, and what the gateway answers by itself costs nothing. */
function paysItself({ upstream, price }: Destination, { upstreams }: RequestContext["gateway"]): boolean {
  const { takesTokens, baseUrl } = upstreams.get(upstream) ?? {};
  return takesTokens === true || (baseUrl === undefined && !price);
}

/**
 * Opens the bill of an answer that is about to be asked for, once what it may cost is set aside. Throws `budget_exceeded` where
 * that is more than is left, and `permission` where nobody knows what it may cost.
 */
export function openBill<K extends ModelOperation>(
  asked: Pick<Ask<K>, "operation" | "input" | "signal">,
  where: Destination,
  attempt: Attempt,
  inputTokens: number,
  { recorder, gateway }: Pick<RequestContext, "recorder" | "gateway">,
): AnswerBill<K> | Promise<AnswerBill<K>> {
  const { operation, input, signal } = asked;
  const { price } = where;
  const payer = paysItself(where, gateway) ? undefined : recorder.payer;
  const open = (reserved?: Reserved) =>
    billOf(operation, recorder.open(inputTokens, { price, listed: attempt.listed, reserved }), recorder);
  if (!payer) return open();
  const sent = Math.max(inputTokens, attempt.counted?.inputTokens ?? 0);
  const reserve = (price: Price | undefined) => {
    const amount = mostOf(operation, input, sent, { price, answerRoom: where.answerRoom });
    if (amount === undefined && payer.refusesUnpriced) throw unpriced(where);
    return reserved(payer, amount ?? 0n, signal, open);
  };
  const place = pricedPlace(where);
  const known = price ?? gateway.prices.mostOf(place, sent);
  const loading = known ? undefined : gateway.prices.load(place);
  if (!loading) return reserve(known);
  return settleWithin(loading, PRICES_MS).then(() => {
    signal.throwIfAborted();
    return reserve(gateway.prices.mostOf(place, sent));
  });
}

/** Sets an amount aside for what is opened then. */
function reserved<T>(
  payer: Payer,
  amount: bigint,
  signal: AbortSignal,
  open: (reserved: Reserved) => T,
): T | Promise<T> {
  const reservation = payer.reserve(amount);
  if (!(reservation instanceof Promise)) return open(heldFor(amount, reservation));
  return reservation.then((one) => {
    if (!signal.aborted) return open(heldFor(amount, one));
    one.settle(0n);
    throw signal.reason;
  });
}

/** Apart, because it lives as long as the answer, and who opens its bill holds what was asked. */
function heldFor(amount: bigint, reservation: Reservation): Reserved {
  return { amount, settle: (cost) => reservation.settle(cost) };
}

const ONE_SEARCH: ReportedUsage = { inputTokens: 0, outputTokens: 0, hostedUses: { webSearch: 1 } };

/** A search that the gateway runs for the model that was asked last. One that fails costs nothing. */
export async function billSearch(
  run: () => Promise<HostedResult>,
  { recorder }: Pick<RequestContext, "recorder">,
  signal: AbortSignal,
): Promise<HostedResult> {
  const { payer, attempt } = recorder;
  const search = attempt?.price?.search;
  if (search === undefined) return await run();
  const open = (reserved?: Reserved) => recorder.open(0, { price: { search }, reserved });
  let bill: Bill;
  try {
    bill = payer ? await reserved(payer, priceOf(ONE_SEARCH as Usage, { search })!, signal, open) : open();
  } catch {
    signal.throwIfAborted();
    return { kind: "error", code: "too_many_requests" };
  }
  const result = await run();
  if (result.kind === "error") bill.end(signal.aborted);
  else bill.settle(ONE_SEARCH);
  return result;
}

/** Whether it was a budget that let an answer go on no further. */
export function isUnpaid(thrown: unknown, { note }: Pick<RequestContext, "note">): boolean {
  const { code, message } = toGatewayError(thrown);
  if (code !== "budget_exceeded") return false;
  note(`ended the answer: ${message}`);
  return true;
}
