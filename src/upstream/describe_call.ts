/** Describes the calls for an operation, without the fields and parts that the upstream refuses. */
import { CACHE_HINT } from "../transforms/cache_hints.ts";
import type { Input, ModelOperation } from "../canonical/operations.ts";
import type { Call } from "../contract/call.ts";
import type { Target, UpstreamOperation } from "../contract/driver.ts";
import { type Attempt, type Lessons, placeOf } from "./attempt.ts";
import { without } from "./call_fields.ts";
import { withoutRefused } from "./known_refusals.ts";
import { needsSchemaInPrompt } from "./schema_in_prompt.ts";

/** Entries of a list of refused fields that are not fields of the body: reasoning of earlier turns, and cache hints. */
export const REASONING = "reasoning of earlier turns";

/** The content of a turn with tool calls and no text. Each form is refused by some servers. */
export const NULL_CONTENT = "null content";
export const EMPTY_CONTENT = "empty content";

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
  if (attempt.upstream.refusals.hasAny) calls = calls.map((call) => withoutRefused(call, attempt));
  attempt.onDescribed?.();
  return calls;
}

const NOTHING: readonly string[] = [];

/** For a target that refuses nothing, as far as is known. */
const NO_LESSONS: Lessons = { refusesCacheHints: false, refusesReasoning: false };

/** The calls without the fields and the parts of the input that the upstream refuses. */
export async function callsFor<K extends ModelOperation>(
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
export function refusedBy<K extends ModelOperation>(attempt: Attempt<K>): readonly string[] {
  return [...attempt.upstream.refuses, ...attempt.upstream.refusals.names(placeOf(attempt), attempt.key)];
}
