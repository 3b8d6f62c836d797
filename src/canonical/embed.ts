import { GatewayError } from "../errors.ts";
import type { Extra } from "./extra.ts";
import { estimateTextTokens } from "./estimate.ts";

/** A request for vectors. Each input is one text or one list of token ids. */
export interface EmbedRequest {
  model: string;
  input: (string | number[])[];
  /** The encoding that the client wants. An upstream of the same wire can produce it directly. */
  encoding: "float" | "base64";
  /** The wanted length of each vector, for models whose vectors can be shortened. */
  dimensions?: number;
  extra?: Extra;
}

/** Numbers as the upstream wrote them, or 32-bit floats if it sent bytes. */
export type Vector = readonly number[] | Float32Array;

export interface EmbedResponse {
  /** One vector for each input, in the order of the request, all of the same length. */
  vectors: Vector[];
  usage: { inputTokens: number; estimated?: true };
}

/**
 * Checks the vectors of an answer: one for each input, with 32-bit float values, all of the same length, which must be
 * the wanted one. Throws `upstream_error`, or `invalid_request` if the model cannot produce that length.
 */
export function checkVectors(vectors: readonly Vector[], { input, dimensions }: EmbedRequest): Vector[] {
  if (vectors.length !== input.length) {
    throw new GatewayError(
      "upstream_error",
      `The upstream returned ${vectors.length} vectors for ${input.length} inputs`,
    );
  }
  const width = vectors[0]?.length ?? 0;
  for (const [index, vector] of vectors.entries()) {
    if (vector.length === 0) throw new GatewayError("upstream_error", `The upstream's vector ${index} is empty`);
    if (vector.length !== width) {
      const message = `The upstream's vectors differ in width: ${width} and ${vector.length}`;
      throw new GatewayError("upstream_error", message);
    }
    if (!areFloats(vector)) {
      throw new GatewayError(
        "upstream_error",
        `The upstream's vector ${index} contains a value that is not a finite number`,
      );
    }
  }
  if (dimensions !== undefined && width !== dimensions) {
    const message = `The model returns vectors of ${width} numbers and cannot return ${dimensions}`;
    throw new GatewayError("invalid_request", message, { param: "dimensions", tryNextTarget: true });
  }
  return [...vectors];
}

/** Plain loops, one for each kind. `every`, or one loop for both kinds, takes several times as long. */
function areFloats(vector: Vector): boolean {
  if (vector instanceof Float32Array) {
    for (let at = 0; at < vector.length; at++) if (!(Math.abs(vector[at]!) < Infinity)) return false;
    return true;
  }
  return areNumbers(vector);
}

function areNumbers(vector: readonly unknown[]): boolean {
  for (let at = 0; at < vector.length; at++) {
    const number = vector[at];
    if (typeof number !== "number" || !(Math.abs(number) <= LARGEST_FLOAT)) return false;
  }
  return true;
}

const LARGEST_FLOAT = (2 - 2 ** -23) * 2 ** 127;

/** The sum of the upstream's token counts, if all its replies have one. Otherwise an estimate, which `note` reports. */
export function usageOfInputs(
  counts: readonly (number | null | undefined)[],
  input: EmbedRequest["input"],
  note: (text: string) => void,
): EmbedResponse["usage"] {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
  const stated = counts.map((count) => Math.ceil(Math.max(0, count || 0)));
  if (!stated.includes(0)) return { inputTokens: sum(stated) };
  note("estimated usage");
  return { inputTokens: estimateInputsTokens(input), estimated: true };
}

export function estimateInputsTokens(input: EmbedRequest["input"]): number {
  return input.reduce((total, one) => total + (typeof one === "string" ? estimateTextTokens(one) : one.length), 0);
}

/** Splits the items into batches of at most `size`, in order. */
export function batchesOf<T>(items: readonly T[], size = items.length): T[][] {
  return Array.from(
    { length: Math.ceil(items.length / size) },
    (_, batch) => items.slice(batch * size, (batch + 1) * size),
  );
}

/**
 * The vector of one input, normalized to length 1 if `normalize` is set. Models without a pooling head return one
 * vector for each token, as `[tokens][d]` or `[1][tokens][d]`. Their mean is the result. `checkVectors` finds values
 * that are not numbers. Throws `upstream_error` if the vectors of the tokens differ in shape.
 */
export function poolTokens(matrix: unknown, normalize: boolean): Vector {
  const isWrapped = depthOf(matrix) === 3 && Array.isArray(matrix) && matrix.length === 1;
  const tokens = isWrapped ? matrix[0] : matrix;
  if (!Array.isArray(tokens) || depthOf(tokens) !== 2) throw differing();
  const mean = new Array<number>(tokens[0].length).fill(0);
  for (const token of tokens) {
    if (token?.length !== mean.length) throw differing();
    // A value that is not a number must not count as 0.
    for (let at = 0; at < mean.length; at++) mean[at]! += Number.isFinite(token[at]) ? token[at] / tokens.length : NaN;
  }
  const length = Math.sqrt(mean.reduce((sum, number) => sum + number * number, 0));
  return normalize && length > 0 ? mean.map((number) => number / length) : mean;
}

/** Judged by the first item of each list. No sensible value has more than four dimensions. */
export function depthOf(value: unknown): number {
  let depth = 0;
  for (; depth < 5 && Array.isArray(value); depth++) value = value[0];
  return depth;
}

function differing(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's vectors of one input's tokens differ in shape");
}
