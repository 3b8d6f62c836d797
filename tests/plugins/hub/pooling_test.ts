import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { poolVectors } from "../../../plugins/hub/tei.ts";
import { GatewayError } from "../../../src/errors.ts";
import { law } from "../../support/law.ts";

// Every shape in which feature extraction answers. The mean of [6, 0] and [0, 8] is [3, 4], of length 5.

const tokens = [[6, 0], [0, 8]];
const shapes: Record<string, [answer: unknown, count: number, vectors: number[][]]> = {
  "[d] for one input": [[3, 4], 1, [[3, 4]]],
  "[1][d] for one input": [[[3, 4]], 1, [[3, 4]]],
  "[n][d]": [[[3, 4], [1, 0]], 2, [[3, 4], [1, 0]]],
  "[tokens][d] for one input": [tokens, 1, [[0.6, 0.8]]],
  "[1][tokens][d] for one input": [[tokens], 1, [[0.6, 0.8]]],
  "[1][1][d] for one input": [[[[3, 4]]], 1, [[0.6, 0.8]]],
  "[1][1][tokens][d] for one input": [[[tokens]], 1, [[0.6, 0.8]]],
  "[n][tokens][d]": [[tokens, [[1, 0], [3, 0]]], 2, [[0.6, 0.8], [1, 0]]],
  "[n][tokens][d] with other numbers of tokens": [[[[5, 0]], tokens, [[0, 1], [0, 2], [0, 3]]], 3, [
    [1, 0],
    [0.6, 0.8],
    [
      0,
      1,
    ],
  ]],
  "[n][1][tokens][d]": [[[tokens], [[[5, 0]]]], 2, [[0.6, 0.8], [1, 0]]],
  "tokens whose mean is zero": [[[[1, 1], [-1, -1]]], 1, [[0, 0]]],
};

for (const [name, [answer, count, vectors]] of Object.entries(shapes)) {
  Deno.test(`feature extraction may answer ${name}`, () => {
    const pooled = poolVectors(answer, count, true);
    assertEquals(pooled.length, vectors.length);
    for (const [index, vector] of vectors.entries()) {
      assertEquals(pooled[index]!.length, vector.length);
      for (const [at, number] of vector.entries()) assertAlmostEquals(pooled[index]![at]!, number);
    }
  });
}

Deno.test("vectors that are not to be normalised stay as long as they are", () => {
  assertEquals(poolVectors([tokens], 1, false), [[3, 4]]);
});

const broken: Record<string, [answer: unknown, count: number, says: string]> = {
  "an object": [{ embeddings: [[1]] }, 1, "1 inputs with no list"],
  "a text": ["busy", 1, "1 inputs with no list"],
  "nothing": [null, 1, "1 inputs with no list"],
  "one vector for two inputs": [[3, 4], 2, "2 inputs with a list of 1 dimensions"],
  "a matrix that is no vector for each input": [[[1], [2], [3]], 2, "2 inputs with a list of 2 dimensions"],
  "the tokens of one input for two": [[tokens], 2, "2 inputs with a list of 3 dimensions"],
  "all inputs wrapped once more": [[[[1], [2], [3]]], 3, "3 inputs with a list of 3 dimensions"],
  "tokens of different widths": [[[[1, 2], [3]]], 1, "differ in shape"],
  "two matrices for one input": [[[tokens, tokens]], 1, "differ in shape"],
  "five dimensions": [[[[tokens]]], 1, "differ in shape"],
  "no tokens": [[tokens, []], 2, "differ in shape"],
  "one input without a matrix": [[tokens, 7], 2, "differ in shape"],
};

for (const [name, [answer, count, says]] of Object.entries(broken)) {
  Deno.test(`feature extraction that answers ${name} fails`, () => {
    const error = assertThrows(() => poolVectors(answer, count, true), GatewayError, says);
    assertEquals(error.code, "upstream_error");
  });
}

Deno.test("what is no number does not count as 0 among the tokens", () => {
  assertEquals(poolVectors([[[1, null], [1, 2]]], 1, false), [[1, NaN]]);
  assertEquals(poolVectors([[[1, "7"], [1, 2]]], 1, false), [[1, NaN]]);
});

const number = fc.integer({ min: -1_000, max: 1_000 }).map((value) => value / 64);
/** Token matrices of one width, with any number of tokens each. */
const matrices = fc.integer({ min: 1, max: 6 }).chain((width) => {
  const token = fc.array(number, { minLength: width, maxLength: width });
  return fc.array(fc.array(token, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 8 });
});

law("a leading axis of 1 changes nothing", matrices, (inputs) => {
  const wrapped = inputs.map((tokens) => [tokens]);
  assertEquals(poolVectors(wrapped, inputs.length, true), poolVectors(inputs, inputs.length, true));
});

law("each input's vector depends on its own tokens only", matrices, (inputs) => {
  const alone = inputs.flatMap((tokens) => poolVectors([tokens], 1, true));
  assertEquals(poolVectors(inputs, inputs.length, true), alone);
});

law("a pooled vector has the length 1", matrices, (inputs) => {
  for (const vector of poolVectors(inputs, inputs.length, true)) {
    const length = Math.hypot(...vector);
    if (length > 0) assertAlmostEquals(length, 1, 1e-9);
  }
});
