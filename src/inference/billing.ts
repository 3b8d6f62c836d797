/** The cost of the answers of upstreams. Each is priced when it ends, by the target that gave it. */
import { estimateInputTokens, estimateTextTokens } from "../canonical/estimate.ts";
import type { HostedResult } from "../canonical/hosted.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import type { ReportedUsage, Usage } from "../canonical/usage.ts";
import type { Bill, Reserved } from "../context/bill.ts";
import type { Payer } from "../context/guards.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { AttemptRecord, RequestLog } from "../context/request_log.ts";
import { type PlannedTarget, type Price, targetName } from "../contract/planned_target.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import type { PricedTarget } from "../lanes/prices.ts";
import { priceOf } from "../observe/cost.ts";
import type { Reservation } from "../state/budget/period_ledger.ts";
import type { Wanted } from "../state/budget/wanted.ts";
import type { AnswerBill, Attempt } from "../upstream/attempt.ts";
import { settleWithin } from "../util/timeout.ts";
import { CHARACTERS_PER_TOKEN } from "./counting.ts";
import type { Stage } from "./inference.ts";
import { weighRelayed } from "./mask_secrets.ts";

/** The bill of one answer, as the code that makes the attempt sees it. */
function billOf<K extends ModelOperation>(operation: K, bill: Bill, requestLog: RequestLog): AnswerBill<K> {
  return {
    follow(text) {
      // A relay, completion or transcription has a single answer, whose tokens are estimated as its events pass.
      bill.emitted = operation === "generate"
        ? () => text.length / CHARACTERS_PER_TOKEN
        : () => requestLog.emittedTokens;
    },
    answered: (output) => settle(bill, reportIn(operation, output)),
    finished: (last) => settle(bill, reportAtEnd(last)),
    ended: (isGivenUp) => bill.end(isGivenUp),
  };
}

/** Opens a bill for each answer that is asked for, before its target is called. */
export const BILLING: Stage = {
  name: "billing",
  operations: ["generate", "relay", "complete", "decide", "embed", "rerank", "speak", "transcribe", "draw"],
  around(inference, ask) {
    const { attempt, target, context } = inference;
    const { requestLog } = context;
    const record = target && requestLog.attemptAt(target);
    if (!attempt || !record) return ask(inference);
    const bill = () => openBill(attempt, target, record, attempt.estimate || requestLog.estimate, context);
    return ask({ ...inference, attempt: { ...attempt, bill } });
  },
};

/** The figures of an answer that its cost depends on. */
interface Report {
  usage?: ReportedUsage;
  /** The length of the transcribed sound. */
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
    case "complete": {
      const { usage, choices } = output as Output<"complete">;
      return { usage, weigh: () => choices.reduce((sum, { text }) => sum + estimateTextTokens(text), 0) };
    }
    case "decide": {
      const { usage, answers } = output as Output<"decide">;
      return { usage, weigh: () => answers.length };
    }
    case "transcribe": {
      const { usage, text } = output as Output<"transcribe">;
      return { ...transcriptReport(usage), weigh: () => estimateTextTokens(text) };
    }
    case "draw":
      return { usage: { outputTokens: 0, ...(output as Output<"draw">).usage } };
    case "embed":
    case "rerank":
      return { usage: { ...(output as Output<"embed" | "rerank">).usage, outputTokens: 0 } };
    default:
      // No server reports the tokens of its speech. The tokens of the text are known.
      return { usage: { outputTokens: 0 } };
  }
}

function reportAtEnd(event: StreamEvent<ModelOperation>): Report {
  if (event.type !== "finish") return {};
  if ("transcript" in event) return transcriptReport(event.transcript.usage);
  // An upstream that counts no tokens of pictures counts none of the prompt either.
  const { usage } = event;
  return { usage: usage && "pictures" in usage ? { outputTokens: 0, ...usage } : usage };
}

function transcriptReport(usage: Output<"transcribe">["usage"]): Report {
  return usage && "seconds" in usage ? { seconds: usage.seconds } : { usage };
}

function unpriced(where: PlannedTarget): GatewayError {
  const message = `The price of "${targetName(where)}" is not known, and a budget applies to this request. ` +
    'To allow it: "unpriced": "allow" in the budgets of the key, its team and the gateway';
  return new GatewayError("permission", message, { param: "model", tryNextTarget: true });
}

/** How long a request waits for the first list of prices, in milliseconds. */
const PRICES_MS = 500;

/** The target as price lists name it, with the provider that serves it as soon as that is known. */
export function pricedTarget(
  { upstream, path, pinned, model, provider }: PlannedTarget,
  attempt?: Pick<AttemptRecord, "provider">,
): PricedTarget {
  return { upstream, path, model: pinned ?? model, provider: attempt?.provider ?? provider };
}

/**
 * A caller with its own token pays the upstream directly. An upstream inside the gateway costs nothing unless it has a
 * price.
 */
function needsNoBudget({ upstream, price }: PlannedTarget, { upstreams }: RequestContext["gateway"]): boolean {
  const { takesTokens, baseUrl } = upstreams.get(upstream) ?? {};
  return takesTokens === true || (baseUrl === undefined && !price);
}

const NOTHING: Wanted = { most: 0n, least: 0n };

/**
 * Opens the bill of an answer before the upstream is called, once the most it may cost is reserved. If a budget pays
 * and the request sets no limit, the attempt gets the limit of the answer's length. Throws `budget_exceeded` if the
 * budget has less left, and `permission` if the price is not known.
 */
function openBill<K extends ModelOperation>(
  asked: Pick<Attempt<K>, "operation" | "input" | "target" | "signal">,
  where: PlannedTarget,
  attempt: AttemptRecord,
  inputTokens: number,
  { requestLog, gateway }: Pick<RequestContext, "requestLog" | "gateway">,
): AnswerBill<K> | Promise<AnswerBill<K>> {
  const { operation, input, target, signal } = asked;
  const { price } = where;
  const payer = requestLog.payer && !needsNoBudget(where, gateway) ? requestLog.payer : undefined;
  const pictures = operation === "draw" ? (input as Input<"draw">).count : undefined;
  const open = (reserved?: Reserved) => {
    const bill = requestLog.open(inputTokens, { price, listed: attempt.listed, reserved });
    bill.pictures = pictures;
    return billOf(operation, bill, requestLog);
  };
  if (!payer) return open();
  const sent = Math.max(inputTokens, attempt.counted?.inputTokens ?? 0);
  const reserve = (price: Price | undefined) => {
    const wanted = price && payer.reservingFor(operation, input, sent, price, target);
    if (!wanted && payer.refusesUnpriced) throw unpriced(where);
    return reserved(payer, wanted ?? NOTHING, signal, (one) => {
      attempt.answerLimit = wanted?.limitFor?.(one.amount);
      return open(one);
    });
  };
  const place = pricedTarget(where);
  const known = price ?? gateway.prices.mostOf(place, sent);
  const loading = known ? undefined : gateway.prices.load(place);
  if (!loading) return reserve(known);
  return settleWithin(loading, PRICES_MS).then(() => {
    signal.throwIfAborted();
    return reserve(gateway.prices.mostOf(place, sent));
  });
}

/** Reserves an amount, then opens the bill with the reservation. */
function reserved<T>(
  payer: Payer,
  wanted: Wanted,
  signal: AbortSignal,
  open: (reserved: Reserved) => T,
): T | Promise<T> {
  const reservation = payer.reserve(wanted);
  if (!(reservation instanceof Promise)) return open(heldBy(reservation));
  return reservation.then((one) => {
    if (!signal.aborted) return open(heldBy(one));
    one.settle(0n);
    throw signal.reason;
  });
}

/** A function of its own: its closure lives as long as the answer, and its caller holds the request. */
function heldBy(reservation: Reservation): Reserved {
  return { amount: reservation.amount, settle: (cost) => reservation.settle(cost) };
}

const ONE_SEARCH: ReportedUsage = { inputTokens: 0, outputTokens: 0, hostedUses: { webSearch: 1 } };

/** Runs a search for the model of the current attempt, and bills it. A search that fails costs nothing. */
export async function billSearch(
  run: () => Promise<HostedResult>,
  { requestLog }: Pick<RequestContext, "requestLog">,
  signal: AbortSignal,
): Promise<HostedResult> {
  const { payer, attempt } = requestLog;
  const search = attempt?.price?.search;
  if (search === undefined) return await run();
  const open = (reserved?: Reserved) => requestLog.open(0, { price: { search }, reserved });
  const amount = priceOf(ONE_SEARCH as Usage, { search })!;
  const wanted = { most: amount, least: amount, why: "one search" };
  let bill: Bill;
  try {
    bill = payer ? await reserved(payer, wanted, signal, open) : open();
  } catch {
    signal.throwIfAborted();
    return { kind: "error", code: "too_many_requests" };
  }
  const result = await run();
  if (result.kind === "error") bill.end(signal.aborted);
  else bill.settle(ONE_SEARCH);
  return result;
}

/** Whether a budget ended the answer. */
export function isUnpaid(thrown: unknown, { note }: Pick<RequestContext, "note">): boolean {
  const { code, message } = toGatewayError(thrown);
  if (code !== "budget_exceeded") return false;
  note(`ended the answer: ${message}`);
  return true;
}
