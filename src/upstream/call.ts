/** Describes the calls for an operation and makes them, without the fields that the upstream refuses. */
import { CACHE_HINT } from "../transforms/cache_hints.ts";
import type { Input, ModelOperation } from "../canonical/operations.ts";
import type { Call, Reply } from "../contract/call.ts";
import type { Target, UpstreamOperation } from "../contract/driver.ts";
import { GatewayError } from "../errors.ts";
import type { TransportResponse } from "../platform/transport.ts";
import { type Attempt, type Lessons, placeOf, wayOf } from "./attempt.ts";
import { fieldsOf, tellsRoom, without, withShorterAnswer } from "./call_fields.ts";
import { FORM, needsSchemaInPrompt } from "./schema_in_prompt.ts";
import { readReply, send, type Upstream } from "./send.ts";

/** Entries of a list of refused fields that are not fields of the body: reasoning of earlier turns, and cache hints. */
const REASONING = "reasoning of earlier turns";

/** The content of a turn with tool calls and no text. Each form is refused by some servers. */
const NULL_CONTENT = "null content";
const EMPTY_CONTENT = "empty content";

/** Entries for parts that occur in many places of the input. The whole call is described again to leave one out. */
const IN_INPUT: readonly string[] = [CACHE_HINT, REASONING, NULL_CONTENT, EMPTY_CONTENT];

/** The calls as they will be made. Returns a promise only if stages of plugins wait. */
export function describe<K extends ModelOperation>(
  attempt: Attempt<K>,
  way: UpstreamOperation<K>,
): Call[] | Promise<Call[]> {
  const { input, corrections, upstream: { refuses, refusals } } = attempt;
  const hasSchema = "messages" in input && input.outputSchema !== undefined;
  const isPlain = !hasSchema && !corrections && !refusals.hasAny && refuses.length === 0;
  const refused = isPlain ? NOTHING : refusedBy(attempt);
  const prepared = attempt.prepare(isPlain ? NO_LESSONS : lessonsOf(attempt, refused));
  return prepared instanceof Promise
    ? prepared.then((one) => described(one, attempt, way, refused))
    : described(prepared, attempt, way, refused);
}

function described<K extends ModelOperation>(
  input: Input<K>,
  attempt: Attempt<K>,
  way: UpstreamOperation<K>,
  refused: readonly string[],
): Call[] {
  const made = way.request(input, targetWithout(refused, attempt.target), attempt.context);
  let calls = Array.isArray(made) ? made : [made];
  if (refused.length > 0) calls = calls.map((call) => without(call, refused, attempt));
  attempt.onDescribed?.();
  return calls;
}

const NOTHING: readonly string[] = [];

/** For a target that refuses nothing, as far as is known. */
const NO_LESSONS: Lessons = { refusesCacheHints: false, refusesReasoning: false };

/** The calls without the fields and the parts of the input that the upstream refuses. */
async function callsFor<K extends ModelOperation>(
  attempt: Attempt<K>,
  way: UpstreamOperation<K>,
  refused: readonly string[],
): Promise<Call[]> {
  const input = await attempt.prepare(lessonsOf(attempt, refused));
  const calls = [way.request(input, targetWithout(refused, attempt.target), attempt.context)].flat();
  return calls.map((call) => without(call, refused, attempt));
}

function targetWithout(refused: readonly string[], target: Target): Target {
  if (refused.length === 0) return target;
  return {
    ...target,
    ...(refused.includes(REASONING) && { refusesReasoning: true }),
    ...(refused.includes(NULL_CONTENT) && {
      silentContent: refused.includes(EMPTY_CONTENT) ? "absent" as const : "empty" as const,
    }),
  };
}

/** The facts about the target that decide how its input is prepared. */
export function lessonsOf<K extends ModelOperation>(attempt: Attempt<K>, refused = refusedBy(attempt)): Lessons {
  return {
    refusesCacheHints: refused.includes(CACHE_HINT),
    refusesReasoning: refused.includes(REASONING),
    corrections: attempt.corrections ?? (needsSchemaInPrompt(attempt) ? [] : undefined),
  };
}

/** The fields that the upstream refuses, as configured and as learned. */
function refusedBy<K extends ModelOperation>(attempt: Attempt<K>): readonly string[] {
  return [...attempt.upstream.refuses, ...attempt.upstream.refusals.of(placeOf(attempt))];
}

/** The response to a call. Throws if it is an error. */
export function open<K extends ModelOperation>(
  call: Call,
  attempt: Attempt<K>,
  signal: AbortSignal,
): Promise<TransportResponse> {
  const settle = (response: TransportResponse): TransportResponse | Promise<TransportResponse> => {
    if (!response.ok) return accepted(call, response, attempt, signal).then(settle);
    const wait = attempt.onHead?.(response.headers);
    return wait ? wait.then(() => response) : response;
  };
  return send(call, attempt.upstream, signal, attempt.largeFor).then(settle);
}

/** How often one upstream is asked again after it refused part of a request. Some report only one field at a time. */
const MOST_TRIES = 4;

/**
 * The response to a call that is repeated without the parts that the upstream refuses, beginning with those in
 * `refusal`.
 */
async function accepted<K extends ModelOperation>(
  first: Call,
  refusal: TransportResponse,
  attempt: Attempt<K>,
  signal: AbortSignal,
): Promise<TransportResponse> {
  const { upstream } = attempt;
  const learnt: string[] = [];
  let refused = refusedBy(attempt);
  let call = first;
  let shortened = false;
  for (let tries = 1;; tries++) {
    const response = tries === 1 ? refusal : await send(call, upstream, signal, attempt.largeFor);
    const error = response.ok
      ? undefined
      : refusalOf(upstream, await readReply(response, upstream.answerBytes, upstream.json));
    // A different complaint means that leaving out the earlier part has helped.
    const isPast = !error || error.details.unsupported?.some((one) => !refused.includes(one));
    if (isPast && learnt.length > 0) upstream.refusals.add(placeOf(attempt), learnt);
    if (!error) return response;
    const shorter = shortened ? undefined : withShorterAnswer(call, attempt, error);
    if (shorter) {
      // The first refusal may only have led to an estimate. The next one may state the exact number.
      shortened = tellsRoom(error);
      call = shorter;
      continue;
    }
    const named = namedIn(error);
    refused = [...refused, ...named];
    const less = tries < MOST_TRIES ? await lessOf(call, attempt, named, refused) : undefined;
    if (!less) throw error;
    attempt.onDescribed?.();
    learnt.push(...named.filter((one) => isLearnt(one, call, less, error)));
    call = less;
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
  attempt: Attempt<K>,
  named: readonly string[],
  refused: readonly string[],
): Promise<Call | undefined> {
  const way = wayOf(attempt);
  const standsInInput = named.some((one) => IN_INPUT.includes(one));
  if (!standsInInput || !("messages" in attempt.input) || "local" in way) {
    const less = without(call, named, attempt);
    return less === call ? undefined : less;
  }
  const [less] = await callsFor(attempt, way, refused);
  return less && JSON.stringify(less.body) !== JSON.stringify(call.body) ? less : undefined;
}

/**
 * Whether to remember the refusal: only if it concerns a field that was sent. Reasoning that is refused because of one
 * conversation, such as another vendor's signature, says nothing about the next conversation.
 */
function isLearnt(named: string, before: Call, after: Call, { details }: GatewayError): boolean {
  if ([CACHE_HINT, NULL_CONTENT, EMPTY_CONTENT].includes(named)) return true;
  if (named === REASONING) return details.reasoning === "any";
  return Object.hasOwn(fieldsOf(before), named) && !Object.hasOwn(fieldsOf(after), named);
}

/**
 * The error for a status outside 2xx. A redirect or an unknown status comes from something that is not a model server
 * or is misconfigured, so it is not retried.
 */
function refusalOf({ driver }: Upstream, reply: Reply): GatewayError {
  const { code, message, details } = driver.parseError(reply);
  const { status } = reply;
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
