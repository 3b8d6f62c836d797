/** The tables that show what becomes of each field that clients and upstreams send. */
import type { JsonObject, JsonValue } from "../canonical/json.ts";

/** The outcome of a request. */
export interface Outcome {
  status: number;
  /** The request that the upstream received, if any. */
  asked?: { body: JsonObject; headers: Record<string, string> };
  /** The answer that the client received: JSON, or the text of a stream. */
  answer: JsonValue;
  notes: readonly string[];
}

export interface ExchangeOptions {
  headers?: Record<string, string>;
  /** A request that is sent and answered first. */
  before?: JsonObject;
  /** The upstream's answer, instead of its usual one. */
  answer?: JsonObject;
}

/** Sends `body` to one model, as the client does. The body has no model of its own. */
export type Exchange = (client: string, body: JsonObject, options?: ExchangeOptions) => Promise<Outcome>;

/** The outcome for one field: `is` is one word for it, and `words` describes it in full, with names in backticks. */
export interface FidelityRow {
  field: string;
  is: string;
  words: string;
}

export interface Fidelity {
  /** The wires that clients use. */
  clients: readonly string[];
  /** The request with that body to a model of the lane. */
  request(client: string, place: { lane: string; model: string }, body: JsonObject): FidelityRequest;
  /** An upstream's answer on that wire. `undefined` if the wire has no table. */
  answer(wire: string, asked: JsonObject): JsonObject | undefined;
  /**
   * The rows for a client's requests and for an upstream's answers. They come one by one, because each costs a
   * millisecond or more.
   */
  rows(
    client: string,
    wire: string,
    exchange: Exchange,
  ): { requests: AsyncIterable<FidelityRow>; answers: AsyncIterable<FidelityRow> };
}

export interface FidelityRequest {
  path: string;
  headers: Record<string, string>;
  body: JsonObject;
}
