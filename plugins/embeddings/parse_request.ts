import type { EmbedRequest } from "../../src/canonical/embed.ts";
import { extraField } from "../../src/canonical/extra.ts";
import { asObject, isJsonObject, present } from "../../src/canonical/json.ts";
import type { WireRequest } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { REQUEST_KEYS, requestSchema, WIRE } from "./wire.ts";

/** The vendor's own limit for one request. */
const MOST_INPUTS = 2_048;

/** A client's request for vectors. `null` means absent: some clients send it for every field that is not set. */
export function parseRequest(wire: WireRequest): EmbedRequest {
  // Token ids can number in the millions, so `input` is validated below without a schema.
  const { input, ...rest } = asObject(wire.body);
  const body = validate(requestSchema, isJsonObject(wire.body) ? rest : wire.body);
  return {
    model: body.model,
    input: parseInput(input),
    encoding: body.encoding_format ?? "float",
    ...present("dimensions", body.dimensions),
    ...extraField(WIRE, body, REQUEST_KEYS),
  };
}

/** A text, a list of texts, a list of token ids, or a list of such lists. A list of ids is one input. */
function parseInput(input: unknown): EmbedRequest["input"] {
  if (typeof input === "string") return [parseText(input, "input")];
  if (!Array.isArray(input)) throw invalid("input", "Expected a text, a list of texts, or token ids");
  if (input.length === 0) throw invalid("input", "Expected at least one input");
  if (typeof input[0] === "number") return [parseIds(input, "input")];
  if (input.length > MOST_INPUTS) {
    throw invalid("input", `Expected at most ${MOST_INPUTS} inputs, not ${input.length}`);
  }
  const parse = typeof input[0] === "string" ? parseText : parseIds;
  return input.map((one, index) => parse(one, `input[${index}]`));
}

function parseText(text: unknown, param: string): string {
  if (typeof text !== "string") throw invalid(param, "Expected a text, as the first input is one");
  if (text === "") throw invalid(param, "Expected a text that is not empty");
  return text;
}

function parseIds(ids: unknown, param: string): number[] {
  if (!Array.isArray(ids)) throw invalid(param, "Expected a list of token ids");
  if (ids.length === 0) throw invalid(param, "Expected at least one token id");
  const wrong = ids.findIndex((id) => !Number.isSafeInteger(id) || id < 0);
  if (wrong >= 0) throw invalid(`${param}[${wrong}]`, "Expected a token id, which is an integer from 0");
  return ids;
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", `Invalid value at "${param}": ${message}`, { param });
}
