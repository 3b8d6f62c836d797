import type { ErrorCode } from "../errors.ts";
import type { GenerateResponse, Message } from "./generate.ts";
import type { JsonObject } from "./json.ts";

/** An answer as the gateway remembers it: one turn of a conversation, with a pointer to the turn before. */
export interface StoredAnswer {
  id: string;
  /** The id of the answer that this one follows. */
  previous?: string;
  /** Seconds since the epoch. */
  created: number;
  completed: number;
  /** As the client asked for it. */
  model: string;
  /** What the client added in this turn; the turns before it are in the answers before. */
  messages: Message[];
  response: GenerateResponse;
  /** What the wire wanted to see of the request again (`MemoryRequest.keep`). */
  keep: JsonObject;
  /** Present where there is no answer: it is made in the background still, or came to nothing. */
  run?: RunState;
}

export interface RunState {
  status: "queued" | "in_progress" | "cancelled" | "failed";
  error?: RunError;
}

export interface RunError {
  code: ErrorCode;
  message: string;
}
