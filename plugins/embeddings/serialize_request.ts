import { batchesOf, type EmbedRequest } from "../../src/canonical/embed.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import { type JsonObject, present } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { WIRE } from "./wire.ts";

/**
 * The number of inputs of one call unless the target says otherwise: an answer of 512 vectors can be read whole, whatever their
 * width.
 */
const BATCH = 512;

/** The inputs of each call, in order. */
export function inputsOf({ input }: EmbedRequest, { batch = BATCH }: Target): EmbedRequest["input"][] {
  return batchesOf(input, batch);
}

/**
 * The bodies for an OpenAI-compatible server. `encoding_format` is left out where
 * it would say the default, because not every server knows the word `float`.
 */
export function serializeRequest(input: EmbedRequest, target: Target, context: Context): JsonObject[] {
  const fields = fieldsFor(WIRE, input.extra, context.note);
  return inputsOf(input, target).map((batch) => ({
    model: target.model,
    input: batch,
    ...(input.encoding === "base64" && { encoding_format: "base64" }),
    ...present("dimensions", input.dimensions),
    ...fields,
  }));
}
