import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { checkVectors, type EmbedResponse, usageOfInputs, type Vector } from "../../src/canonical/embed.ts";
import { GatewayError } from "../../src/errors.ts";

function check(vectors: Vector[], inputs: number, dimensions?: number): Vector[] {
  return checkVectors(vectors, { model: "m", input: Array(inputs).fill("x"), encoding: "float", dimensions });
}

Deno.test("good vectors come back as they are, numbers and bytes alike", () => {
  const vectors = [[1, -0.5, 1e-300], Float32Array.of(0, 2, 3), [0, 0, 0]];
  const checked = check(vectors, 3, 3);
  assertEquals(checked, vectors);
  for (const [index, vector] of checked.entries()) assertStrictEquals(vector, vectors[index]);
});

Deno.test("what is wrong with an upstream's vectors is said", () => {
  const ragged = [[1, 2], [1, 2, 3]];
  const holed: number[] = JSON.parse("[1,null]");
  const cases: [vectors: Vector[], inputs: number, message: string][] = [
    [[], 1, "The upstream returned 0 vectors for 1 inputs"],
    [[[1], [2]], 1, "The upstream returned 2 vectors for 1 inputs"],
    [[[1], []], 2, "The upstream's vector 1 is empty"],
    [[[]], 1, "The upstream's vector 0 is empty"],
    [ragged, 2, "The upstream's vectors differ in width: 2 and 3"],
    [[[1, 2], [1, NaN]], 2, "The upstream's vector 1 contains a value that is not a finite number"],
    [[[Infinity, 1]], 1, "The upstream's vector 0 contains a value that is not a finite number"],
    [[Float32Array.of(1, -Infinity)], 1, "The upstream's vector 0 contains a value that is not a finite number"],
    [[holed], 1, "The upstream's vector 0 contains a value that is not a finite number"],
  ];
  for (const [vectors, inputs, message] of cases) {
    assertEquals(assertThrows(() => check(vectors, inputs), GatewayError, message).code, "upstream_error");
  }
});

Deno.test("a width that the model does not give is the client's to change", () => {
  const error = assertThrows(() => check([[1, 2, 3]], 1, 2), GatewayError);
  assertEquals([error.code, error.details.param], ["invalid_request", "dimensions"]);
  assertEquals(error.message, "The model returns vectors of 3 numbers and cannot return 2");
});

Deno.test("one bad number anywhere is found", () => {
  const finite = fc.float({ noNaN: true, noDefaultInfinity: true });
  const shape = fc.integer({ min: 1, max: 8 }).chain((width) =>
    fc.record({
      vectors: fc.array(fc.array(finite, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 8 }),
      row: fc.nat(),
      column: fc.nat({ max: width - 1 }),
      // The last two would be infinite as the 32-bit floats that base64 holds.
      bad: fc.constantFrom(NaN, Infinity, -Infinity, 1e39, -1e300),
    })
  );
  fc.assert(
    fc.property(shape, ({ vectors, row, column, bad }) => {
      assertEquals(check(vectors, vectors.length, vectors[0]!.length), vectors);
      vectors[row % vectors.length]![column] = bad;
      assertThrows(() => check(vectors, vectors.length), GatewayError, `vector ${row % vectors.length} contains`);
    }),
    { seed: 20261121 },
  );
});

Deno.test("usage is what the upstream counted in all its replies, else an estimate that is noted", () => {
  const cases: [counts: (number | null | undefined)[], usage: EmbedResponse["usage"], notes: string[]][] = [
    [[3], { inputTokens: 3 }, []],
    [[3, 4], { inputTokens: 7 }, []],
    [[3, undefined], { inputTokens: 4, estimated: true }, ["estimated usage"]],
    [[null], { inputTokens: 4, estimated: true }, ["estimated usage"]],
    [[0], { inputTokens: 4, estimated: true }, ["estimated usage"]],
  ];
  for (const [counts, usage, noted] of cases) {
    const notes: string[] = [];
    assertEquals(usageOfInputs(counts, ["word", [1, 2, 3]], (text) => notes.push(text)), usage);
    assertEquals(notes, noted);
  }
});
