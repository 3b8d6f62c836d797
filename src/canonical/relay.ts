import type { GatewayError } from "../errors.ts";
import type { JsonObject } from "./json.ts";
import type { ReportedUsage } from "./usage.ts";

/**
 * A request that shapes its whole answer in a way that one wire alone knows. It goes to upstreams of that wire as the client
 * wrote it, and their answer comes back so.
 */
export interface RelayRequest {
  model: string;
  stream: boolean;
  wire: string;
  /** The field that asks for it. */
  field: string;
  body: JsonObject;
}

export interface RelayResponse {
  body: JsonObject;
  usage?: ReportedUsage;
}

export type RelayEvent =
  | { type: "frame"; body: JsonObject }
  | { type: "finish"; usage?: ReportedUsage }
  | { type: "error"; error: GatewayError };
