import { GatewayError } from "../errors.ts";
import type { Extra } from "./extra.ts";
import { estimateTextTokens } from "./estimate.ts";

/** A request for vectors. Every input is one text or one list of token ids. */
export interface EmbedRequest {
  model: string;
  input: (string | number[])[];
  /** How the client wants the vectors spelt, which an upstream of the same wire can do at once. */
  encoding: "float" | "base64";
  /** How many numbers each vector is to have, for models whose vectors can be cut. */
  dimensions?: number;
  extra?: Extra;
}

/** Numbers as an upstream wrote them, or as 32-bit floats where it gave bytes. */
export type Vector = readonly number[] | Float32Array;

export interface EmbedResponse {
  /** One vector for each input, in the order of the request, all of one width. */
  vectors: Vector[];
  usage: { inputTokens: number; estimated?: true };
}

/**
 * The vectors, once they are what was asked for: one for each input, of 32-bit floats, of one width, and of the wanted one.
 * Throws `upstream_error`, or `invalid_request` where the model cannot give the width.
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

/** By plain loops, one for each kind: `every`, and one loop for both, take several times as long. */
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

/** What the upstream counted in each of its replies, if it counted in all; else an estimate, which `note` reports. */
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

/** As many items in each as `size` allows, in order. */
export function batchesOf<T>(items: readonly T[], size = items.length): T[][] {
  return Array.from(
    { length: Math.ceil(items.length / size) },
    (_, batch) => items.slice(batch * size, (batch + 1) * size),
  );
}

/**
 * The vector of one input, of length 1 where it is to be normalised: models without a pooling head give one for each token,
 * `[tokens][d]` or `[1][tokens][d]`, and what is meant is their mean. Whether the numbers are numbers, `checkVectors` finds out.
 * Throws `upstream_error` where the tokens' vectors differ in shape.
 */
export function poolTokens(matrix: unknown, normalize: boolean): Vector {
  const isWrapped = depthOf(matrix) === 3 && Array.isArray(matrix) && matrix.length === 1;
  const tokens = isWrapped ? matrix[0] : matrix;
  if (!Array.isArray(tokens) || depthOf(tokens) !== 2) throw differing();
  const mean = new Array<number>(tokens[0].length).fill(0);
  for (const token of tokens) {
    if (token?.length !== mean.length) throw differing();
    // What is no number must not count as 0.
    for (let at = 0; at < mean.length; at++) mean[at]! += Number.isFinite(token[at]) ? token[at] / tokens.length : NaN;
  }
  const length = Math.sqrt(mean.reduce((sum, number) => sum + number * number, 0));
  return normalize && length > 0 ? mean.map((number) => number / length) : mean;
}

/** By the first item of each list. None that makes sense has more than four dimensions. */
export function depthOf(value: unknown): number {
  let depth = 0;
  for (; depth < 5 && Array.isArray(value); depth++) value = value[0];
  return depth;
}

function differing(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's vectors of one input's tokens differ in shape");
}
