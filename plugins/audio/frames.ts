import type { JsonObject } from "../../src/canonical/json.ts";
import type { ServerSentEvent } from "../../src/contract/frame.ts";
import type { GatewayError } from "../../src/errors.ts";
import { serializeErrorBody } from "../shared/errors.ts";

export function frame(body: JsonObject): ServerSentEvent {
  return { data: JSON.stringify(body) };
}

/** The end of a stream that failed. */
export function errorFrame(error: GatewayError): ServerSentEvent {
  return { event: "error", ...frame(serializeErrorBody(error)) };
}
