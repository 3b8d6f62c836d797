import type { JsonObject, JsonValue } from "../canonical/json.ts";
import type { ModelOperation } from "../canonical/operations.ts";
import type { Call } from "../contract/call.ts";
import { toGatewayError } from "../errors.ts";
import { type Ask, local, wayOf } from "./ask.ts";
import { describe } from "./call.ts";
import { headOf, type Upstream } from "./send.ts";

export interface Explanation {
  upstream: string;
  driver: string;
  model: string;
  /** Empty for the embedded upstream. */
  requests?: JsonObject[];
  error?: { code: string; message: string };
  /** The error that the request would cause. */
  thrown?: unknown;
}

/** The calls that would be made to a target, for people to read. Nothing is sent and no secret is shown. */
export function explain<K extends ModelOperation>(ask: Ask<K>): Explanation {
  // The calls can be described even if the upstream's secret is missing.
  const upstream = { ...ask.upstream, missingSecret: undefined };
  const explanation: Explanation = { upstream: upstream.name, driver: upstream.driver.name, model: ask.target.model };
  const lacking = thrownBy(() => wayOf(ask));
  const refusal = thrownBy(() => {
    explanation.requests = callsOf({ ...ask, upstream }).map((call) => explainCall(call, upstream));
  });
  const failure = lacking ?? refusal;
  if (!failure) return explanation;
  const { code, message } = toGatewayError(failure.thrown);
  return { ...explanation, error: { code, message }, thrown: failure.thrown };
}

function thrownBy(run: () => unknown): { thrown: unknown } | undefined {
  try {
    run();
  } catch (thrown) {
    return { thrown };
  }
}

function callsOf<K extends ModelOperation>(ask: Ask<K>): Call[] {
  const way = wayOf(ask);
  if (!("local" in way)) return describe(ask, way);
  // What the embedded upstream leaves out is known only once it has answered.
  local(way, ask);
  return [];
}

function explainCall(call: Call, upstream: Upstream): JsonObject {
  const { url, method, headers } = headOf(call, upstream);
  const masked = Object.entries(headers).sort().map(([name, value]): [string, string] => [name, mask(name, value)]);
  return { method, url, headers: Object.fromEntries(masked), body: explainBody(call) };
}

function mask(name: string, value: string): string {
  return isSecretHeader(name) ? value.replace(/\S+$/, "***") : value;
}

/** The names of configured headers show whether their values are secret. */
export function isSecretHeader(name: string): boolean {
  return /auth|key|token|secret|cookie|password|jwt|assertion|oidc/i.test(name);
}

/** The same of the parameters of a URL. */
export function isSecretParameter(name: string): boolean {
  return /auth|key|token|secret|sig|cred|password|code/i.test(name);
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
