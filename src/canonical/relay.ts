import type { GatewayError } from "../errors.ts";
import type { JsonObject } from "./json.ts";
import type { ReportedUsage } from "./usage.ts";

/**
 * A request that shapes its whole answer in a way that only one wire can express. It is sent unchanged to upstreams of
 * that wire, and the answer is returned unchanged.
 */
export interface RelayRequest {
  model: string;
  stream: boolean;
  wire: string;
  /** The field that makes the request a relay. */
  field: string;
  body: JsonObject;
  /** The field of `body` that holds the conversation, as far as is known. */
  conversation?: string;
  /** The limit of each answer in tokens that the gateway sets, since the client set none. */
  maxOutputTokens?: number;
}

export interface RelayResponse {
  body: JsonObject;
  usage?: ReportedUsage;
}

export type RelayEvent =
  | { type: "frame"; body: JsonObject }
  | { type: "finish"; usage?: ReportedUsage }
  | { type: "error"; error: GatewayError };

/** A copy without the conversation, which nothing reads any more: the copy lives as long as the answer. */
export function withoutConversation(request: RelayRequest): RelayRequest {
  const { body, conversation } = request;
  return conversation === undefined ? request : { ...request, body: { ...body, [conversation]: undefined } };
}
