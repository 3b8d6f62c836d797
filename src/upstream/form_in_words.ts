/** Upstreams that can only be asked in words for an answer in a form: which they are, and what is learnt of them. */
import type { GenerateRequest } from "../canonical/generate.ts";
import type { ModelOperation } from "../canonical/operations.ts";
import { toGatewayError } from "../errors.ts";
import { type Ask, placeOf } from "./ask.ts";

/** What upstreams call the form of an answer when they refuse it, whichever field of their wire it stands in. */
export const FORM = "response_format";

/** Whether this upstream can be asked only in words for the form of the answer. */
export function needsWords<K extends ModelOperation>(ask: Ask<K>): boolean {
  const { input, target, upstream } = ask;
  if (!("messages" in input) || !input.outputSchema) return false;
  // A request to count is to be the same.
  const way = upstream.driver.operations.generate;
  const hasForm = !way || "local" in way || way.hasForm?.(input.outputSchema) !== false;
  return !hasForm || target.structuredOutput === "instruct" ||
    upstream.refuses.includes(FORM) || upstream.refusals.of(placeOf(ask)).includes(nameOfForm(input));
}

/** Whether the upstream failed because of the form that was asked for: it may answer where it is asked for in words. */
export function refusesForm(thrown: unknown, { input }: Ask<"generate">): boolean {
  return input.outputSchema !== undefined && toGatewayError(thrown).details.unsupported?.includes(FORM) === true;
}

/** What is learnt once it has answered without. */
export function rememberWords(ask: Ask<"generate">): void {
  if (!needsWords(ask)) ask.upstream.refusals.add(placeOf(ask), [nameOfForm(ask.input)]);
}

/** Some servers take a form, and tools, but not both. */
function nameOfForm({ tools = [] }: GenerateRequest): string {
  return tools.length > 0 ? "a form beside tools" : "a form";
}
