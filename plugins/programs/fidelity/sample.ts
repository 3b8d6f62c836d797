import type { JsonObject } from "../../../src/canonical/json.ts";
import type { SamplingTable } from "../../shared/sampling.ts";

/** The wires that clients speak, in the page's order. */
export const CLIENTS = ["messages", "chat", "responses", "ollama", "gemini"] as const;
export type Client = typeof CLIENTS[number];

/** The wires that upstreams speak, in the page's order. */
export const UPSTREAM_WIRES = ["messages", "chat", "responses"] as const;
export type UpstreamWire = typeof UPSTREAM_WIRES[number];

/**
 * One field, used for real: a body that has it beside the same body without it, so that what comes of the field is seen from
 * the difference. The texts in it that must not get lost are `kept…`; every other value is unusual enough to be told apart.
 */
export interface Sample {
  /** As people write it: `thinking.budget_tokens`. */
  field: string;
  with: JsonObject;
  without: JsonObject;
  headers?: Record<string, string>;
  /** A request that is answered before, which this one goes on from. */
  before?: JsonObject;
}

/** The body without the field, and the same with it. */
export function sample(field: string, without: JsonObject, more: JsonObject): Sample {
  return { field, without, with: { ...without, ...more } };
}

/** A sample of each sampling parameter, by its name on the wire. */
export function samplingSamples<Name extends string>(
  { samples }: SamplingTable<Name>,
  sampleOf: (name: Name, value: number) => Sample,
): Record<Name, Sample> {
  const named = Object.entries<number>(samples).map(([name, value]) => [name, sampleOf(name as Name, value)]);
  return Object.fromEntries(named);
}

/** Samples of a conversation's messages, for the wires that have them in a list. `bodyOf`: a request of these messages. */
export function messageSamples(bodyOf: (...messages: JsonObject[]) => JsonObject, asked: JsonObject) {
  return {
    role: (name: string): Sample => ({
      field: `messages[].role: ${name}`,
      without: bodyOf(asked),
      with: bodyOf({ role: name, content: "keptText" }, asked),
    }),
    message: (field: string, turn: JsonObject, more: JsonObject): Sample => ({
      field,
      without: bodyOf(asked, turn, asked),
      with: bodyOf(asked, { ...turn, ...more }, asked),
    }),
  };
}
