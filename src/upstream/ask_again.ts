/**
 * Asks an upstream again without what it refused: first what its driver recognizes, then what the words of the refusal
 * name of the body, at last everything that can be given up.
 */
import type { ModelOperation } from "../canonical/operations.ts";
import type { Call, Reply } from "../contract/call.ts";
import type { UpstreamOperation } from "../contract/driver.ts";
import { GatewayError } from "../errors.ts";
import type { TransportResponse } from "../platform/transport.ts";
import { textsIn, unquoted } from "../relaxations/words.ts";
import { CACHE_HINT } from "../transforms/cache_hints.ts";
import { type Attempt, placeOf, wayOf } from "./attempt.ts";
import {
  EMPTY_CONTENT,
  fieldsOf,
  NULL_CONTENT,
  REASONING,
  refusedBy,
  SUFFIX,
  tellsRoom,
  UNFINISHED,
  without,
  withShorterAnswer,
} from "./call_fields.ts";
import { Guesses } from "./guesses.ts";
import { recall, trialOf, withoutNewlyKnown } from "./known_refusals.ts";
import { FORM } from "./schema_in_prompt.ts";
import { readReply, send, type Upstream } from "./send.ts";

export { recall, settleTrial, withoutRefused } from "./known_refusals.ts";

/** Entries for parts that occur in many places of the input. The whole call is described again to leave one out. */
const IN_INPUT: readonly string[] = [CACHE_HINT, REASONING, NULL_CONTENT, EMPTY_CONTENT, SUFFIX];

/** How often one upstream is asked, with the first time. Some hosts report only one field at a time. */
const MOST_TRIES = 5;
/** A call's attempt, and what is needed to make it again. */
interface Asking<K extends ModelOperation> {
  attempt: Attempt<K>;
  signal: AbortSignal;
  /** Describes the calls again, without these parts of the input. */
  describeWithout(way: UpstreamOperation<K>, refused: readonly string[]): Promise<Call[]>;
}

/**
 * The response to a call that is repeated without the parts that the upstream refuses, beginning with those in
 * `refusal`. Throws the upstream's refusal if nothing helps.
 */
export async function askAgain<K extends ModelOperation>(
  first: Call,
  refusal: TransportResponse,
  asking: Asking<K>,
): Promise<TransportResponse> {
  if (isUnfinished(asking.attempt)) throw await refusalOfTurn(refusal, asking.attempt, first);
  return await askWithLess(first, refusal, asking);
}

async function askWithLess<K extends ModelOperation>(
  first: Call,
  refusal: TransportResponse,
  asking: Asking<K>,
): Promise<TransportResponse> {
  const { attempt, signal } = asking;
  const { upstream } = attempt;
  const hasNews = await recall(upstream) && !trialOf(first);
  const guesses = new Guesses(first, attempt);
  const parts = new RefusedParts(asking, hasNews);
  let call = first;
  for (let tries = 1;; tries++) {
    if (tries > 1 && attempt.calls) attempt.calls.repeated++;
    attempt.isRefused = tries === 1;
    const response = tries === 1 ? refusal : await send(guesses.applied(call), upstream, signal, attempt.largeFor);
    const reply = response.ok ? undefined : await readReply(response, upstream.answerBytes, upstream.json);
    const error = reply && refusalOf(upstream, reply, call);
    attempt.isRefused = error !== undefined;
    parts.answered(error);
    if (!error) {
      guesses.accepted(call);
      return response;
    }
    guesses.refused(error, reply);
    if (tries === MOST_TRIES || attempt.signal.aborted || attempt.calls?.areCallsSpent()) {
      throw guesses.failure;
    }
    const less = await parts.less(call, error);
    if (less) call = less;
    else if (!guesses.next(call, reply, tries === MOST_TRIES - 1)) throw guesses.failure;
  }
}

/** Whether the call asks to go on with a turn. Without the fields for that, the server would begin another one. */
function isUnfinished({ input }: Attempt<ModelOperation>): boolean {
  const last = "messages" in input ? input.messages.at(-1) : undefined;
  return last?.role === "assistant" && last.isUnfinished === true;
}

/** The refusal of a call that asks to go on with a turn. If the call itself is at fault, the next answer that breaks off is not sent there. */
async function refusalOfTurn<K extends ModelOperation>(
  response: TransportResponse,
  attempt: Attempt<K>,
  call: Call,
): Promise<GatewayError> {
  const { upstream } = attempt;
  const error = refusalOf(upstream, await readReply(response, upstream.answerBytes, upstream.json), call);
  if (error.code === "invalid_request") upstream.refusals.add(placeOf(attempt), [UNFINISHED], attempt.key);
  return error;
}

/** The parts that the driver recognizes in refusals, and which of them have been left out with success. */
class RefusedParts<K extends ModelOperation> {
  readonly #asking: Asking<K>;
  readonly #learnt: string[] = [];
  #refused: readonly string[];
  #isShort = false;
  #hasNews: boolean;

  /** `hasNews`: whether other gateways have found more than the first call was described with. */
  constructor(asking: Asking<K>, hasNews: boolean) {
    this.#asking = asking;
    this.#hasNews = hasNews;
    this.#refused = refusedBy(asking.attempt);
  }

  /** Remembers what was left out if that has helped. */
  answered(error: GatewayError | undefined): void {
    const { attempt } = this.#asking;
    // A different complaint means that leaving out the earlier part has helped.
    const isPast = !error || error.details.unsupported?.some((one) => !this.#refused.includes(one));
    if (isPast && this.#learnt.length > 0) attempt.upstream.refusals.add(placeOf(attempt), this.#learnt, attempt.key);
  }

  /** The next call. Absent if what the driver recognizes in the refusal cannot be left out. */
  async less(call: Call, error: GatewayError): Promise<Call | undefined> {
    const known = this.#hasNews ? await this.#known(call) : undefined;
    this.#hasNews = false;
    return known ?? this.#shorter(call, error) ?? await this.#without(call, error);
  }

  /** The call for an answer that the refusal leaves room for. */
  #shorter(call: Call, error: GatewayError): Call | undefined {
    const shorter = this.#isShort ? undefined : withShorterAnswer(call, this.#asking.attempt, error);
    // The first refusal may only have led to an estimate. The next one may state the exact number.
    if (shorter) this.#isShort = tellsRoom(error);
    return shorter;
  }

  /** The call without what other gateways have found. */
  async #known(call: Call): Promise<Call | undefined> {
    const { attempt } = this.#asking;
    this.#refused = refusedBy(attempt);
    const less = withoutNewlyKnown(await lessOf(call, this.#asking, this.#refused, this.#refused) ?? call, attempt);
    if (JSON.stringify(less.body) === JSON.stringify(call.body)) return undefined;
    attempt.onDescribed?.();
    return less;
  }

  async #without(call: Call, error: GatewayError): Promise<Call | undefined> {
    const named = namedIn(error);
    this.#refused = [...this.#refused, ...named];
    const less = await lessOf(call, this.#asking, named, this.#refused);
    if (!less) return undefined;
    this.#asking.attempt.onDescribed?.();
    this.#learnt.push(...named.filter((one) => isLearnt(one, call, less, error)));
    return less;
  }
}

/** The parts that an upstream's refusal names and that can be left out. The output schema cannot. */
function namedIn({ details: { unsupported = [], reasoning } }: GatewayError): string[] {
  return [...unsupported.filter((field) => field !== FORM), ...(reasoning ? [REASONING] : [])];
}

/**
 * The call without the parts in `named`; `undefined` if that changes nothing. `refused`: all parts that are refused so
 * far.
 */
async function lessOf<K extends ModelOperation>(
  call: Call,
  { attempt, describeWithout }: Asking<K>,
  named: readonly string[],
  refused: readonly string[],
): Promise<Call | undefined> {
  const way = wayOf(attempt);
  if (attempt.operation === "complete" && named.includes(SUFFIX) && !("local" in way)) {
    return await withMarks(call, { attempt, describeWithout }, refused);
  }
  const standsInInput = named.some((one) => IN_INPUT.includes(one));
  if (!standsInInput || !("messages" in attempt.input) || "local" in way) {
    const less = without(call, named, attempt);
    return less === call ? undefined : less;
  }
  const [less] = await describeWithout(way, refused);
  return less && JSON.stringify(less.body) !== JSON.stringify(call.body) ? less : undefined;
}

/** The call with its gap in the prompt. A request may have several calls, of which this is one. */
async function withMarks<K extends ModelOperation>(
  call: Call,
  { attempt, describeWithout }: Pick<Asking<K>, "attempt" | "describeWithout">,
  refused: readonly string[],
): Promise<Call | undefined> {
  const way = wayOf(attempt) as UpstreamOperation<K>;
  const bodyOf = ({ body }: Call) => JSON.stringify(body);
  const before = await describeWithout(way, refused.filter((one) => one !== SUFFIX));
  const at = before.findIndex((one) => bodyOf(one) === bodyOf(call));
  const less = at < 0 ? undefined : (await describeWithout(way, refused))[at];
  return !less || bodyOf(less) === bodyOf(call) ? undefined : less;
}

/**
 * Whether to remember the refusal: only if it concerns a field that was sent. Reasoning that is refused because of one
 * conversation, such as another vendor's signature, says nothing about the next conversation.
 */
function isLearnt(named: string, before: Call, after: Call, { details }: GatewayError): boolean {
  if ([CACHE_HINT, NULL_CONTENT, EMPTY_CONTENT, SUFFIX].includes(named)) return true;
  if (named === REASONING) return details.reasoning === "any";
  return Object.hasOwn(fieldsOf(before), named) && !Object.hasOwn(fieldsOf(after), named);
}

/**
 * The error for a status outside 2xx. A redirect or an unknown status comes from something that is not a model server
 * or is misconfigured, so it is not retried.
 */
function refusalOf({ driver }: Upstream, reply: Reply, call: Call): GatewayError {
  const { code, message, details: all } = driver.parseError(reply);
  const { status } = reply;
  const names = all.unsupported?.length || all.reasoning || all.answerLimit;
  // A host may quote the request. Names in a quotation are no evidence.
  const details = names
    ? driver.parseError({ ...reply, body: unquoted(reply.body, textsIn(fieldsOf(call))) }).details
    : all;
  if (status < 400 || status > 599) {
    return new GatewayError("upstream_error", message, { ...details, retryable: false, tryNextTarget: false });
  }
  return new GatewayError(code, message, { ...details, notProcessed: isNotProcessed(status) });
}

/**
 * 4xx statuses (RFC 9110) that a server sends while it is already working or waiting: 408 and 424, and 499 from
 * proxies.
 */
const LATE_REFUSALS: ReadonlySet<number> = new Set([408, 424, 499]);
/** 5xx statuses that mean that the server is too busy to begin. 529 is the messages wire's own status for that. */
const BUSY: ReadonlySet<number> = new Set([503, 529]);

/**
 * Whether a status means that the work was not started. After any other status the server may still be working and
 * charge for it.
 */
function isNotProcessed(status: number): boolean {
  return status < 500 ? !LATE_REFUSALS.has(status) : BUSY.has(status);
}
