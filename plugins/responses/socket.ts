/** The wire over a WebSocket: a request is a message, and so is each event. */
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { Protocol, SocketEndpoint } from "../../src/contract/protocol.ts";
import type { SocketError, SocketLimit, SocketMessage } from "../../src/contract/socket.ts";
import { GatewayError } from "../../src/errors.ts";
import { parseSocketRequest } from "./parse_request.ts";

const CREATE = "response.create";
/** A lane's name. */
const LANE = /^[\w.-]{1,256}$/;

export function socketOf(protocol: Protocol<"generate">): SocketEndpoint {
  return { protocol: { ...protocol, parse: parseSocketRequest }, read, writeEvent, writeError };
}

function read(message: unknown): SocketMessage | undefined {
  if (!isJsonObject(message)) throw invalid("Expected a JSON object", "type");
  const { type, stream_id: lane, generate, stream: _stream, stream_options: _options, ...body } = message;
  // Agents have messages about what they did with an answer, which want none.
  if (type === "response.processed") return undefined;
  if (type === "response.steer") {
    throw invalid("A response that is made cannot be steered: send the input after it", "type");
  }
  if (type !== CREATE) throw invalid(`Expected a message of type "${CREATE}"`, "type");
  if (lane !== undefined && lane !== null && (typeof lane !== "string" || !LANE.test(lane))) {
    throw invalid("Expected 1 to 256 letters, digits, dots, hyphens and underscores", "stream_id");
  }
  if (body.background) {
    throw invalid("Nothing is made in the background in a connection that stays: ask for it over HTTP", "background");
  }
  return { ...(typeof lane === "string" && { lane }), body, isWarmUp: generate === false };
}

function invalid(message: string, param: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}

function writeEvent(data: string, lane: string | undefined): string {
  return lane === undefined ? data : `{"stream_id":${JSON.stringify(lane)},${data.slice(1)}`;
}

const CODE_OF: Record<SocketLimit, string> = {
  age: "websocket_connection_limit_reached",
  lanes: "websocket_stream_limit_reached",
};

function writeError({ status, headers, body, limit }: SocketError, lane: string | undefined): string {
  const error: JsonObject = isJsonObject(body) && isJsonObject(body.error) ? body.error : { message: "" };
  const own = limit ? CODE_OF[limit] : error.param === "stream_id" ? "invalid_stream_id" : undefined;
  const retryAfter = headers.get("retry-after");
  return JSON.stringify({
    type: "error",
    status,
    ...(lane !== undefined && { stream_id: lane }),
    error: {
      ...error,
      code: own ?? error.code ?? "invalid_request",
      ...(retryAfter !== null && { headers: { "retry-after": retryAfter } }),
    },
  });
}
