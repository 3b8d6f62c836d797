/** Which upstreams need the output schema in the prompt, and what is learned about them. */
import type { GenerateRequest } from "../canonical/generate.ts";
import type { ModelOperation } from "../canonical/operations.ts";
import { toGatewayError } from "../errors.ts";
import { type Attempt, placeOf } from "./attempt.ts";

/** The entry for a refused output schema, whichever field of the wire holds it. */
export const FORM = "response_format";

/** The facts about a request for a form that are needed while it is answered. */
export type FormRequest = Pick<Attempt<"generate">, "input" | "target" | "upstream" | "key" | "context" | "calls">;

/** These facts hold no conversation, because they live as long as the answer. */
export function formRequestOf({ input, target, upstream, key, context, calls }: Attempt<"generate">): FormRequest {
  return { input: { ...input, messages: [] }, target, upstream, key, context, calls };
}

/** Whether this upstream needs the output schema in the prompt. */
export function needsSchemaInPrompt<K extends ModelOperation>(
  attempt: Pick<Attempt<K>, "input" | "target" | "upstream" | "key">,
): boolean {
  const { input, target, upstream } = attempt;
  if (!("messages" in input) || !input.outputSchema) return false;
  // A request for a token count must be the same as the request itself.
  const way = upstream.driver.operations.generate;
  const hasForm = !way || "local" in way || way.hasForm?.(input.outputSchema) !== false;
  return !hasForm || target.structuredOutput === "instruct" ||
    upstream.refuses.includes(FORM) ||
    upstream.refusals.names(placeOf(attempt), attempt.key).includes(nameOfForm(input));
}

/** Whether the upstream failed because of the output schema. It may succeed with the schema in the prompt. */
export function refusesSchema(thrown: unknown, { input }: FormRequest): boolean {
  return input.outputSchema !== undefined && toGatewayError(thrown).details.unsupported?.includes(FORM) === true;
}

/** Remembers that the upstream answers without the field. */
export function rememberSchemaInPrompt(attempt: FormRequest): void {
  if (!needsSchemaInPrompt(attempt)) {
    attempt.upstream.refusals.add(placeOf(attempt), [nameOfForm(attempt.input)], attempt.key);
  }
}

/** Some servers accept a schema or tools, but not both. */
function nameOfForm({ tools = [] }: GenerateRequest): string {
  return tools.length > 0 ? A_FORM_BESIDE_TOOLS : A_FORM;
}

export const A_FORM = "a form";
export const A_FORM_BESIDE_TOOLS = "a form beside tools";
