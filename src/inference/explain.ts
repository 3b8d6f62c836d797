/** Requests whose client wants them explained instead of served. */
import type { Input, ModelOperation } from "../canonical/operations.ts";
import { SHORTEST_MASKED } from "../context/secrets.ts";
import { isStrict, type RequestContext } from "../context/request_context.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import { refusalOf } from "../routing/failover.ts";
import type { HostedOffer } from "../transforms/hosted_history.ts";
import { type AttemptOptions, openAttempt } from "./attempt.ts";
import type { Step } from "./prepare.ts";

interface ExplainOptions extends Pick<AttemptOptions, "beside">, Partial<Pick<HostedOffer, "functions">> {
  /** The changes by the transforms for the model. */
  steps?: readonly Step[];
}

export function wantsExplanation({ headers }: { headers: Headers }): boolean {
  return headers.get("x-laneway-explain")?.toLowerCase() === "true";
}

/**
 * Explains a request: what was changed for its model and, for each target in order, the changes step by step, the calls
 * that would be made, and what they leave out. Throws the error that a strict request would get if no target would
 * serve it.
 */
export async function explainAll<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  targets: readonly PlannedTarget[],
  context: RequestContext,
  { steps = [], functions, beside }: ExplainOptions = {},
): Promise<Response> {
  const { explain } = await import("../upstream/explain.ts");
  const { requestLog } = context;
  const hosted = functions && { functions, isLast: false };
  requestLog.entry.stream = false;
  const ends: unknown[] = [];
  const explained = targets.map((where) => {
    const own: Step[] = [];
    const { thrown, ...explanation } = explain(
      openAttempt(operation, input, where, context, { steps: own, hosted, beside }),
    );
    ends.push(thrown);
    return { ...explanation, target: requestLog.attempt?.target, notes: requestLog.notes(), steps: own };
  });
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
