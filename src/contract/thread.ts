import type { GenerateRequest, GenerateResponse, Message } from "../canonical/generate.ts";
import type { JsonObject } from "../canonical/json.ts";
import type { GatewayError } from "../errors.ts";
import type { Context, WireRequest } from "./context.ts";

/** How a wire's clients have the gateway keep conversations for them, each answer of which they continue once. */
export interface ThreadSpeech {
  /** The id of the answer that the request continues. Absent if it begins a thread. Throws `invalid_request`. */
  previous(wire: WireRequest): string | undefined;
  /** Whether the request adds no turn, because the answer before it is unfinished. */
  isEmpty(wire: WireRequest): boolean;
  /** Whether the client may ask for the rest of this answer by an empty request. */
  isUnfinished(answer: GenerateResponse): boolean;
  /** Reads a request that begins a thread, and the parts of it that all turns of the thread have in common. */
  begin(wire: WireRequest, context: Context): { input: GenerateRequest; setup: JsonObject };
  /** Reads a request that continues one. Throws if it disagrees with the thread. */
  goOn(wire: WireRequest, context: Context, thread: KeptThread): { input: GenerateRequest; wire: WireRequest };
  /** Whether the client takes the answer for one that it can continue. */
  isKept(answer: GenerateResponse): boolean;
  refusal(why: ThreadRefusal, previous: string): GatewayError;
}

/** The stored parts of a thread. */
export interface KeptThread {
  setup: JsonObject;
  messages: readonly Message[];
}

export type ThreadRefusal = "not found" | "continued" | "in flight" | "nothing to add";
