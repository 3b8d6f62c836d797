/** Describes the calls for an operation and makes them, without the fields and parts that the upstream refuses. */
import { CACHE_HINT } from "../transforms/cache_hints.ts";
import type { Input, ModelOperation } from "../canonical/operations.ts";
import type { Call } from "../contract/call.ts";
import type { Target, UpstreamOperation } from "../contract/driver.ts";
import type { TransportResponse } from "../platform/transport.ts";
import type { Attempt, Lessons } from "./attempt.ts";
import { EMPTY_CONTENT, NULL_CONTENT, REASONING, refusedBy, SUFFIX, without } from "./call_fields.ts";
import { needsSchemaInPrompt } from "./schema_in_prompt.ts";
import { send, type Upstream } from "./send.ts";

/** Loaded when an upstream refuses something for the first time. */
let relaxing: typeof import("./ask_again.ts") | undefined;

/** The calls as they will be made. Returns a promise only if stages of plugins wait, or the driver has to be loaded. */
export function describe<K extends ModelOperation>(
  attempt: Attempt<K>,
  way: UpstreamOperation<K>,
): Call[] | Promise<Call[]> {
  const loading = way.load?.();
  if (loading) return loading.then(() => describe(attempt, way));
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
  const made = way.request(input, targetWithout(refused, attempt), attempt.context);
  let calls = Array.isArray(made) ? made : [made];
  if (refused.length > 0) calls = calls.map((call) => without(call, refused, attempt));
  if (attempt.upstream.refusals.hasAny && relaxing) {
    calls = calls.map((call) => relaxing!.withoutRefused(call, attempt));
  }
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
  const calls = [way.request(input, targetWithout(refused, attempt), attempt.context)].flat();
  return calls.map((call) => without(call, refused, attempt));
}

function targetWithout<K extends ModelOperation>(refused: readonly string[], attempt: Attempt<K>): Target {
  const { target } = attempt;
  if (refused.length === 0) return target;
  if (attempt.operation === "complete" && refused.includes(SUFFIX)) {
    return attempt.described = { ...target, refusesSuffix: true };
  }
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

/** Reads what all gateways have found of an upstream, for those who want to see it. */
export async function recall(upstream: Upstream): Promise<void> {
  await (await loadRelaxing()).recall(upstream);
}

async function loadRelaxing() {
  return relaxing ??= await import("./ask_again.ts");
}

/** The response to a call. Throws if it is an error. */
export function open<K extends ModelOperation>(
  call: Call,
  attempt: Attempt<K>,
  signal: AbortSignal,
): Promise<TransportResponse> {
  const settle = (response: TransportResponse): TransportResponse | Promise<TransportResponse> => {
    if (!response.ok) {
      attempt.isRefused = true;
      return askAgain(call, response, attempt, signal).then(settle);
    }
    if (attempt.upstream.refusals.hasAny) relaxing?.settleTrial(call, attempt);
    const wait = attempt.onHead?.(response.headers);
    return wait ? wait.then(() => response) : response;
  };
  return send(call, attempt.upstream, signal, attempt.largeFor).then(settle);
}

async function askAgain<K extends ModelOperation>(
  call: Call,
  refusal: TransportResponse,
  attempt: Attempt<K>,
  signal: AbortSignal,
): Promise<TransportResponse> {
  const describeWithout = (way: UpstreamOperation<K>, refused: readonly string[]) => callsFor(attempt, way, refused);
  return await (await loadRelaxing()).askAgain(call, refusal, { attempt, signal, describeWithout });
}
