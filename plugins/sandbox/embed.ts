import { checkVectors, type EmbedRequest, type EmbedResponse } from "../../src/canonical/embed.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import { estimateTextTokens } from "../../src/canonical/estimate.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { hashOf } from "./hash.ts";
import { runsOf } from "./terms.ts";

/** The usual width of small open models' vectors. The words of a paragraph seldom share a dimension. */
const WIDTH = 384;
/** The width of large open models' vectors. A request must not allocate unlimited memory. */
const MAX_WIDTH = 4096;

/** Makes vectors from the words of each input. Texts that share words, or pieces of words, have similar vectors. */
export function embed(request: EmbedRequest, _target: Target, context: Context): EmbedResponse {
  const { input, dimensions = WIDTH } = request;
  if (dimensions > MAX_WIDTH) {
    const message = `The sandbox returns vectors of at most ${MAX_WIDTH} numbers and cannot return ${dimensions}`;
    throw new GatewayError("invalid_request", message, { param: "dimensions" });
  }
  fieldsFor("sandbox", request.extra, context.note);
  return {
    vectors: checkVectors(input.map((one) => vectorOf(one, dimensions)), request),
    // Not marked as estimated, because this is the sandbox's own count.
    usage: { inputTokens: input.reduce((sum, one) => sum + tokensOf(one), 0) },
  };
}

function tokensOf(input: string | number[]): number {
  return typeof input === "string" ? Math.max(1, estimateTextTokens(input)) : input.length;
}

function vectorOf(input: string | number[], width: number): Float32Array {
  const sums = new Float64Array(width);
  if (typeof input === "string") addText(sums, input);
  else for (const id of input) add(sums, `${id}`, 1);
  // If there are no words, or their signs cancel out, the whole input counts as one word.
  if (sums.every((sum) => sum === 0)) add(sums, `${input}`, 1);
  const length = Math.hypot(...sums);
  return Float32Array.from(sums, (sum) => sum / length);
}

function addText(sums: Float64Array, text: string) {
  for (const run of runsOf(text)) {
    // Long words are rare and weigh most, because there is no collection by which to weigh words.
    for (const term of run.terms) add(sums, term, Math.sqrt(term.length));
    // The pieces together weigh as much as the word, so that its other forms have similar vectors.
    const padded = ` ${run.text} `;
    for (let at = 0; at + 3 <= padded.length; at++) add(sums, padded.slice(at, at + 3), 1);
  }
}

/** Half of all words count negative, so that words that share a dimension cancel out instead of looking alike. */
function add(sums: Float64Array, word: string, weight: number) {
  const hash = hashOf(word);
  const place = (hash >>> 1) % sums.length;
  sums[place] = sums[place]! + (hash & 1 ? weight : -weight);
}
