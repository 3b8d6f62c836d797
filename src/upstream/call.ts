/** The calls that ask for an operation, and one of them made: without what the upstream refuses. */
import { CACHE_HINT } from "../transforms/cache_hints.ts";
import type { ModelOperation } from "../canonical/operations.ts";
import type { Call, Reply } from "../contract/call.ts";
import type { Target, UpstreamOperation } from "../contract/driver.ts";
import { GatewayError } from "../errors.ts";
import type { TransportResponse } from "../platform/transport.ts";
import { type Ask, type Lessons, placeOf, wayOf } from "./ask.ts";
import { fieldsOf, tellsRoom, without, withShorterAnswer } from "./call_fields.ts";
import { FORM, needsWords } from "./form_in_words.ts";
import { readReply, send, type Upstream } from "./send.ts";

/** Among what an upstream refuses, the reasoning of earlier turns: no field of the body, and neither are cache hints. */
const REASONING = "reasoning of earlier turns";

/** What turns with calls and no text have for their content: each is refused by some servers. */
const NULL_CONTENT = "null content";
const EMPTY_CONTENT = "empty content";

/** What stands in many places of the input, so that a call without it is described anew. */
const IN_INPUT: readonly string[] = [CACHE_HINT, REASONING, NULL_CONTENT, EMPTY_CONTENT];

/** The calls, as they would be made. */
export function describe<K extends ModelOperation>(ask: Ask<K>, way: UpstreamOperation<K>): Call[] {
  const calls = callsFor(ask, way, refusedBy(ask));
  ask.onDescribed();
  return calls;
}

/** The calls without what is refused: fields of their bodies, and what stands in many places, for the wire to find in none. */
function callsFor<K extends ModelOperation>(
  ask: Ask<K>,
  way: UpstreamOperation<K>,
  refused: readonly string[],
): Call[] {
  const input = ask.prepare(lessonsOf(ask, refused));
  const calls = [way.request(input, targetWithout(refused, ask.target), ask.context)].flat();
  return calls.map((call) => without(call, refused, ask));
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

/** What is known of the target, by which its input is prepared. */
export function lessonsOf<K extends ModelOperation>(ask: Ask<K>, refused = refusedBy(ask)): Lessons {
  return {
    refusesCacheHints: refused.includes(CACHE_HINT),
    refusesReasoning: refused.includes(REASONING),
    corrections: ask.corrections ?? (needsWords(ask) ? [] : undefined),
  };
}

/** What the upstream is configured to refuse, and what it turned out to. */
function refusedBy<K extends ModelOperation>(ask: Ask<K>): readonly string[] {
  return [...ask.upstream.refuses, ...ask.upstream.refusals.of(placeOf(ask))];
}

/** The response to a call, if it is no failure. */
export async function open<K extends ModelOperation>(
  call: Call,
  ask: Ask<K>,
  signal: AbortSignal,
): Promise<TransportResponse> {
  const first = await send(call, ask.upstream, signal);
  const response = first.ok ? first : await accepted(call, first, ask, signal);
  const wait = ask.onHead?.(response.headers);
  if (wait) await wait;
  return response;
}

/** How often a request is asked of one upstream that refuses a part of it: some name one field at a time. */
const MOST_TRIES = 4;

/** The response to a call that is made again without what the upstream turns out to refuse of it. `refusal`: how it begins. */
async function accepted<K extends ModelOperation>(
  first: Call,
  refusal: TransportResponse,
  ask: Ask<K>,
  signal: AbortSignal,
): Promise<TransportResponse> {
  const { upstream } = ask;
  const learnt: string[] = [];
  let refused = refusedBy(ask);
  let call = first;
  let shortened = false;
  for (let tries = 1;; tries++) {
    const response = tries === 1 ? refusal : await send(call, upstream, signal);
    const error = response.ok
      ? undefined
      : refusalOf(upstream, await readReply(response, upstream.answerBytes, upstream.json));
    // Who finds fault with something else has got past what was left out.
    const isPast = !error || error.details.unsupported?.some((one) => !refused.includes(one));
    if (isPast && learnt.length > 0) upstream.refusals.add(placeOf(ask), learnt);
    if (!error) return response;
    const shorter = shortened ? undefined : withShorterAnswer(call, ask, error);
    if (shorter) {
      // The next refusal may state exactly what was only reckoned.
      shortened = tellsRoom(error);
      call = shorter;
      continue;
    }
    const named = namedIn(error);
    refused = [...refused, ...named];
    const less = tries < MOST_TRIES ? lessOf(call, ask, named, refused) : undefined;
    if (!less) throw error;
    ask.onDescribed();
    learnt.push(...named.filter((one) => isLearnt(one, call, less, error)));
    call = less;
  }
}

/** What an upstream's refusal is about, where the same can be asked without it. Without the form of its answer it could not. */
function namedIn({ details: { unsupported = [], reasoning } }: GatewayError): string[] {
  return [...unsupported.filter((field) => field !== FORM), ...(reasoning ? [REASONING] : [])];
}

/** The call without what was named, `refused` being all that is refused by now; nothing where that is the same call. */
function lessOf<K extends ModelOperation>(
  call: Call,
  ask: Ask<K>,
  named: readonly string[],
  refused: readonly string[],
): Call | undefined {
  const way = wayOf(ask);
  const standsInInput = named.some((one) => IN_INPUT.includes(one));
  if (!standsInInput || !("messages" in ask.input) || "local" in way) {
    const less = without(call, named, ask);
    return less === call ? undefined : less;
  }
  const [less] = callsFor(ask, way, refused);
  return less && JSON.stringify(less.body) !== JSON.stringify(call.body) ? less : undefined;
}

/**
 * Whether the upstream is to be spared it from now on: a field that was sent. What one conversation brings of earlier
 * reasoning, such as another vendor's signature, says nothing of the next one.
 */
function isLearnt(named: string, before: Call, after: Call, { details }: GatewayError): boolean {
  if ([CACHE_HINT, NULL_CONTENT, EMPTY_CONTENT].includes(named)) return true;
  if (named === REASONING) return details.reasoning === "any";
  return Object.hasOwn(fieldsOf(before), named) && !Object.hasOwn(fieldsOf(after), named);
}

/**
 * An answer outside 2xx. A redirect, or a status that is none of HTTP's failures, comes from something that is no model's
 * server, or is set up wrongly: nobody is asked again.
 */
function refusalOf({ driver }: Upstream, reply: Reply): GatewayError {
  const { code, message, details } = driver.parseError(reply);
  const { status } = reply;
  if (status < 400 || status > 599) {
    return new GatewayError("upstream_error", message, { ...details, retryable: false, tryNextTarget: false });
  }
  return new GatewayError(code, message, { ...details, notProcessed: isNotProcessed(status) });
}

/** Of a client's mistakes (RFC 9110) those that a server finds while it works, or waits: 408 and 424, and 499 of proxies. */
const LATE_REFUSALS: ReadonlySet<number> = new Set([408, 424, 499]);
/** Of a server's failures those that say that it is too busy to begin: 529 is how the vendor of the messages wire says it. */
const BUSY: ReadonlySet<number> = new Set([503, 529]);

/** Whether a status says that the work was not begun. A server may be at work still, and charge for it, after any other one. */
function isNotProcessed(status: number): boolean {
  return status < 500 ? !LATE_REFUSALS.has(status) : BUSY.has(status);
}
