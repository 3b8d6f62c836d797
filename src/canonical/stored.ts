import type { ErrorCode } from "../errors.ts";
import type { GenerateResponse, Message } from "./generate.ts";
import type { JsonObject } from "./json.ts";

/** An answer as the gateway stores it: one turn of a conversation, with a pointer to the previous turn. */
export interface StoredAnswer {
  id: string;
  /** The id of the answer that this one follows. */
  previous?: string;
  /** Seconds since the epoch. */
  created: number;
  completed: number;
  /** The model's name as the client requested it. */
  model: string;
  /** The messages that the client added in this turn. Earlier turns are in the previous answers. */
  messages: Message[];
  response: GenerateResponse;
  /** On the first turn of a thread: the parts of its request that all later turns have in common. */
  setup?: JsonObject;
  /** The parts of the request that the wire needs later (`RecallRequest.keep`). */
  keep: JsonObject;
  /** Present if there is no answer: it is still being made in the background, or it failed. */
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
