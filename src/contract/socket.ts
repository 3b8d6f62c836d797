/** How requests and answers travel over a WebSocket, one per message. */
import type { JsonObject, JsonValue } from "../canonical/json.ts";

export interface SocketSpeech {
  /**
   * Reads a client's message. `undefined` if it needs no answer. Throws `invalid_request` if it is not a message of the
   * wire.
   */
  read(message: unknown): SocketMessage | undefined;
  /** Writes one event, given as the text that the protocol wrote. */
  writeEvent(data: string, lane: string | undefined): string;
  writeError(error: SocketError, lane: string | undefined): string;
}

export interface SocketMessage {
  /** Requests of one lane are answered in order, independently of other lanes. */
  lane?: string;
  /** The request body, as it would be without a socket. */
  body: JsonObject;
  /** Whether the message only warms up and needs no answer yet. */
  isWarmUp: boolean;
}

export interface SocketError {
  status: number;
  headers: Headers;
  /** The error body, as it would be without a socket. */
  body: JsonValue;
  /** The limit of the socket that was reached, if any. */
  limit?: SocketLimit;
}

/** Limits on a socket's age and its number of lanes. */
export type SocketLimit = "age" | "lanes";
