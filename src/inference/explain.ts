/** Requests whose client wants them explained instead of served. */
import type { Input, ModelOperation } from "../canonical/operations.ts";
import { isStrict, type RequestContext } from "../context/request_context.ts";
import { SHORTEST_MASKED } from "../context/secrets.ts";
import { refusalOf } from "../routing/failover.ts";
import { openAttempt } from "./attempt.ts";
import type { Inference, Stage } from "./inference.ts";
import { beginStep, type Step } from "./steps.ts";

export function wantsExplanation({ headers }: { headers: Headers }): boolean {
  return headers.get("x-laneway-explain")?.toLowerCase() === "true";
}

/** Runs one stage, and records what it did. */
export async function explainStage(stage: Stage, inference: Inference, steps: Step[]): Promise<Inference> {
  const { note } = inference;
  const step = beginStep(stage.name, note, steps);
  const passed = await stage.request!({ ...inference, note: step.note });
  // A relay is another operation. Its input is the client's own body.
  step.end(inference.input, passed.operation === inference.operation ? passed.input : inference.input);
  return { ...passed, note };
}

/**
 * Explains a request: what each stage changed and, for each target in order, the changes for it, the calls that would
 * be made, and what they leave out. Throws the error that a strict request would get if no target would serve it.
 */
export async function explainInference<K extends ModelOperation>(
  inference: Inference<K>,
  steps: readonly Step[],
): Promise<Response> {
  const { explain } = await import("../upstream/explain.ts");
  const { operation, input, hosted, plan: { targets }, context } = inference;
  const { requestLog } = context;
  const offered = await hosted?.offer();
  const offer = offered && { functions: offered.functions, isLast: false };
  requestLog.entry.stream = false;
  const ends: unknown[] = [];
  const explained: unknown[] = [];
  for (const where of targets) {
    const own: Step[] = [];
    const attempt = openAttempt({ ...inference, steps: own, offer }, where);
    const { thrown, ...explanation } = await explain(attempt);
    ends.push(thrown);
    const { target } = requestLog.attempt ?? {};
    explained.push({ ...explanation, target, notes: requestLog.notes(), steps: own });
  }
  const refusal = isStrict(context) ? refusalOf(ends) : undefined;
  if (refusal !== undefined) throw refusal;
  // Each target lists its own notes, so the response header does not repeat them.
  requestLog.attempt = undefined;
  const { lane } = requestLog.entry;
  const explanation = { object: "explanation", operation, lane, model: input.model, steps, targets: explained };
  const plain = JSON.stringify(explanation);
  const credentials = credentialsIn(input);
  const text = credentials.length === 0 ? plain : await hideCredentials(plain, credentials, context);
  return new Response(text, { headers: { "content-type": "application/json" } });
}

async function hideCredentials(text: string, credentials: readonly string[], context: RequestContext) {
  const { withoutCredentials } = await import("./explain_hidden.ts");
  return await withoutCredentials(text, credentials, context);
}

/** The credentials in a request that are meant for servers that hosted tools call. */
function credentialsIn(input: unknown): string[] {
  const { tools, extra } = input as Partial<Input<"generate">>;
  const hosted = tools?.filter(({ type }) => type === "hosted");
  return hosted || extra ? secretsUnder({ hosted, extra: extra?.fields }) : [];
}

function secretsUnder(value: unknown, isSecret = false): string[] {
  if (typeof value === "string") return isSecret && value.length >= SHORTEST_MASKED ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    secretsUnder(inner, isSecret || /^(authorization|authorization_token|token|headers)$/.test(key))
  );
}
