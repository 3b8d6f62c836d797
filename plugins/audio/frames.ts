import type { JsonObject } from "../../src/canonical/json.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { GatewayError } from "../../src/errors.ts";
import { serializeErrorBody } from "../shared/errors.ts";

export function frame(body: JsonObject): Frame {
  return { data: JSON.stringify(body) };
}

/** The end of a stream that failed. */
export function errorFrame(error: GatewayError): Frame {
  return { event: "error", ...frame(serializeErrorBody(error)) };
}
