/** How requests and their answers go over a WebSocket, a message each. */
import type { JsonObject, JsonValue } from "../canonical/json.ts";

export interface SocketSpeech {
  /**
   * What a message of the client asks; nothing where it is none that is answered. Throws `invalid_request` where it is no message of the wire.
   */
  read(message: unknown): SocketMessage | undefined;
  /** One event, given as the text that the protocol wrote. */
  writeEvent(data: string, lane: string | undefined): string;
  writeError(error: SocketError, lane: string | undefined): string;
}

export interface SocketMessage {
  /** What is asked in one lane is answered in turn, apart from other lanes. */
  lane?: string;
  /** The request, as it would be without a socket. */
  body: JsonObject;
  /** Whether nothing is to be answered yet. */
  isWarmUp: boolean;
}

export interface SocketError {
  status: number;
  headers: Headers;
  /** What is answered without a socket. */
  body: JsonValue;
  /** Which limit of the socket was reached, where one was. */
  limit?: SocketLimit;
}

/** How old it may become, and how many lanes it may have. */
export type SocketLimit = "age" | "lanes";
