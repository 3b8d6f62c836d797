/** Requests whose client wants to know what would become of them. */
import type { Input, ModelOperation } from "../canonical/operations.ts";
import { isStrict, type RequestContext } from "../context/request_context.ts";
import type { Destination } from "../contract/destination.ts";
import { explain } from "../upstream/explain.ts";
import { refusalOf } from "../routing/failover.ts";
import { ask } from "./attempt.ts";
import type { Step } from "./prepare.ts";

export function wantsExplanation({ headers }: { headers: Headers }): boolean {
  return headers.get("x-laneway-explain")?.toLowerCase() === "true";
}

/**
 * What a request would become: what was changed for its model (`steps`), and its targets in their order, each with what is
 * changed for it, step by step, the calls that it would get, and what they leave out.
 * Throws the error that a strict request would get, where no target would serve it.
 */
export function explainAll<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  targets: readonly Destination[],
  context: RequestContext,
  steps: readonly Step[] = [],
): Response {
  const { recorder } = context;
  recorder.entry.stream = false;
  const ends: unknown[] = [];
  const explained = targets.map((where) => {
    const own: Step[] = [];
    const { thrown, ...explanation } = explain(ask(operation, input, where, context, { steps: own }));
    ends.push(thrown);
    return { ...explanation, target: recorder.attempt?.target, notes: recorder.notes(), steps: own };
  });
  const refusal = isStrict(context) ? refusalOf(ends) : undefined;
  if (refusal !== undefined) throw refusal;
  // The notes of a target stand beside it.
  recorder.attempt = undefined;
  const { lane } = recorder.entry;
  return Response.json({ object: "explanation", operation, lane, model: input.model, steps, targets: explained });
}
