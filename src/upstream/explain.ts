import type { JsonObject, JsonValue } from "../canonical/json.ts";
import type { ModelOperation } from "../canonical/operations.ts";
import type { Call } from "../contract/call.ts";
import { toGatewayError } from "../errors.ts";
import { type Attempt, local, wayOf } from "./attempt.ts";
import { describe, recall } from "./call.ts";
import { decidingTarget } from "./decisions.ts";
import { type RefusedPart, refusedParts } from "./learnt.ts";
import { isSecretHeader, maskedUrl } from "../util/urls_and_headers.ts";
import { headOf, type Upstream } from "./send.ts";

export interface Explanation {
  upstream: string;
  driver: string;
  model: string;
  /** How the operation is requested, where there are several ways. */
  way?: string;
  /** The parts that the model was found to refuse of requests with this key. Absent if there are none. */
  refused?: Omit<RefusedPart, "model">[];
  /** Empty for the embedded upstream. */
  requests?: JsonObject[];
  error?: { code: string; message: string };
  /** The error that the request would cause. */
  thrown?: unknown;
}

/** The calls that would be made to a target, for people to read. Nothing is sent and no secret is shown. */
export async function explain<K extends ModelOperation>(attempt: Attempt<K>): Promise<Explanation> {
  // The calls can be described even if the upstream's secret is missing.
  const upstream = { ...attempt.upstream, missingSecret: undefined };
  const explanation: Explanation = {
    upstream: upstream.name,
    driver: upstream.driver.name,
    model: attempt.target.model,
  };
  await recall(attempt.upstream);
  const refused = refusedParts(attempt.upstream, attempt.key).filter(({ model }) => model === attempt.target.model);
  if (refused.length > 0) explanation.refused = refused.map(({ model: _, ...part }) => part);
  const target = attempt.operation === "decide" ? decidingTarget(attempt) : attempt.target;
  const lacking = await thrownBy(() => wayOf(attempt));
  const refusal = await thrownBy(async () => {
    const asked = { ...attempt, upstream, target };
    const way = wayOf(asked);
    if (!("local" in way)) {
      await way.load?.();
      if (way.wayAt) explanation.way = way.wayAt(target);
    }
    const calls = await callsOf(asked);
    explanation.requests = calls.map((call) => explainCall(call, upstream));
  });
  const failure = lacking ?? refusal;
  if (!failure) return explanation;
  const { code, message } = toGatewayError(failure.thrown);
  return { ...explanation, error: { code, message }, thrown: failure.thrown };
}

async function thrownBy(run: () => unknown): Promise<{ thrown: unknown } | undefined> {
  try {
    await run();
  } catch (thrown) {
    return { thrown };
  }
}

async function callsOf<K extends ModelOperation>(attempt: Attempt<K>): Promise<Call[]> {
  const way = wayOf(attempt);
  if (!("local" in way)) return await describe(attempt, way);
  // The fields that the embedded upstream leaves out are known only once it has answered.
  await local(way, attempt);
  return [];
}

function explainCall(call: Call, upstream: Upstream): JsonObject {
  const { url, method, headers } = headOf(call, upstream);
  const isSecret = (name: string) => isSecretHeader(name) || name === upstream.secretPlace?.header;
  const masked = Object.entries(headers).sort()
    .map(([name, value]): [string, string] => [name, isSecret(name) ? value.replace(/\S+$/, "***") : value]);
  return {
    method,
    url: maskedUrl(url, upstream.secretPlace?.query),
    headers: Object.fromEntries(masked),
    body: explainBody(call),
  };
}

function explainBody({ body, form }: Call): JsonValue | undefined {
  if (form) {
    return form.map(({ name, value, file }) =>
      file ? { name, file: { name: file.name, type: file.mediaType, bytes: file.bytes.length } } : { name, value }
    );
  }
  if (body instanceof Blob) return { type: body.type, bytes: body.size };
  return body instanceof Uint8Array ? { bytes: body.length } : body;
}
