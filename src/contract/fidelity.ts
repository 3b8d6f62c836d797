/** The tables of what becomes of each field that clients and upstreams send. */
import type { JsonObject, JsonValue } from "../canonical/json.ts";

/** What became of a request. */
export interface Outcome {
  status: number;
  /** What the upstream was asked; nothing where it was not. */
  asked?: { body: JsonObject; headers: Record<string, string> };
  /** What the client got: JSON, or the text of a stream. */
  answer: JsonValue;
  notes: readonly string[];
}

export interface ExchangeOptions {
  headers?: Record<string, string>;
  /** A request that is answered before. */
  before?: JsonObject;
  /** What the upstream answers, in place of what it always does. */
  answer?: JsonObject;
}

/** Sends `body`, without its model, as the client does, to one model. */
export type Exchange = (client: string, body: JsonObject, options?: ExchangeOptions) => Promise<Outcome>;

/** What becomes of one field: a word for what it is, and the same with more in it, where names are in backticks. */
export interface FidelityRow {
  field: string;
  is: string;
  words: string;
}

export interface Fidelity {
  /** The wires that clients speak. */
  clients: readonly string[];
  /** The request with that body to a model of the lane. */
  request(client: string, place: { lane: string; model: string }, body: JsonObject): FidelityRequest;
  /** What an upstream of that wire answers; nothing where there is no table for the wire. */
  answer(wire: string, asked: JsonObject): JsonObject | undefined;
  /** Requests of the client, and answers of an upstream of that wire to it: row by row, because each takes a millisecond or more. */
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
