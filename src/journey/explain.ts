/** Requests whose client wants to know what would become of them. */
import type { Input, ModelOperation } from "../canonical/operations.ts";
import type { WireRequest } from "../contract/context.ts";
import type { Destination } from "../contract/destination.ts";
import { explain } from "../upstream/explain.ts";
import { refusalOf } from "../routing/failover.ts";
import { ask } from "./attempt.ts";
import { isStrict, type Journey, notesOf } from "./journey.ts";

export function wantsExplanation({ headers }: Pick<WireRequest, "headers">): boolean {
  return headers.get("x-laneway-explain")?.toLowerCase() === "true";
}

/**
 * What a request would become: its targets in their order, each with the calls that it would get and what they leave out.
 * Throws what a strict request would be told, where no target would serve it.
 */
export function explainAll<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  targets: readonly Destination[],
  journey: Journey,
): Response {
  const { entry } = journey;
  entry.stream = false;
  const ends: unknown[] = [];
  const told = targets.map((where) => {
    const { thrown, ...told } = explain(ask(operation, input, where, journey));
    ends.push(thrown);
    return { ...told, target: journey.attempt?.target, notes: notesOf(journey) };
  });
  const refusal = isStrict(journey) ? refusalOf(ends) : undefined;
  if (refusal !== undefined) throw refusal;
  // What is said of a target stands beside it.
  journey.attempt = undefined;
  return Response.json({ object: "explanation", operation, lane: entry.lane, model: input.model, targets: told });
}
