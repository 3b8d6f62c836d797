import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { embeddingsDriver, embeddingsProtocols } from "../../../plugins/embeddings/mod.ts";
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import type { Target } from "../../../src/contract/driver.ts";
import { type ErrorCode, GatewayError } from "../../../src/errors.ts";
import { isOk, loadFixtures, reply } from "../../support/fixtures.ts";
import { newReply, protocolOf, travel, type Upstream, wayOf } from "../../support/text_operations.ts";
import { law } from "../../support/law.ts";

const PROTOCOL = protocolOf(embeddingsProtocols, "embed", "embeddings");

function ask(body: JsonObject, upstream: Upstream | JsonValue, quirks: Partial<Target> = {}) {
  const answer = typeof upstream === "function" ? upstream : () => upstream;
  return travel(PROTOCOL, wayOf(embeddingsDriver, "embed"), body, answer, quirks);
}

/** The vectors in an answer, base64 or not. */
function vectorsOf(answer: JsonObject): number[][] {
  const entries = answer.data as { embedding: number[] | string }[];
  return entries.map(({ embedding }) =>
    typeof embedding === "string" ? [...new Float32Array(Uint8Array.fromBase64(embedding).buffer)] : embedding
  );
}

const meanOf = (rows: number[][]) =>
  rows[0]!.map((_, at) => rows.reduce((sum, row) => sum + row[at]! / rows.length, 0));
/** The vector at length 1; nothing has no direction. */
function unit(vector: number[]): number[] {
  const length = Math.hypot(...vector);
  return length > 0 ? vector.map((value) => value / length) : vector;
}
function assertNear(vector: readonly number[], expected: readonly number[]): void {
  assertEquals(vector.length, expected.length);
  for (const [at, value] of vector.entries()) assertAlmostEquals(value, expected[at]!, 1e-6);
}

const toBase64 = (vector: Float32Array | number[]) => new Uint8Array(new Float32Array(vector).buffer).toBase64();
const entry = (index: number, embedding: JsonValue) => ({ object: "embedding", index, embedding });
const list = (...data: JsonValue[]) => ({ object: "list", data, usage: { prompt_tokens: 2, total_tokens: 2 } });

// What the servers answer to ["a", "b"]

const providers: Record<string, { body: JsonObject; tokens?: number }> = {
  "vLLM": {
    body: {
      id: "embd-1",
      object: "list",
      created: 1,
      model: "org/model",
      data: [entry(0, [0.5, -0.5]), entry(1, [0.25, 1])],
      usage: { prompt_tokens: 4, total_tokens: 4, completion_tokens: 0, prompt_tokens_details: null },
    },
    tokens: 4,
  },
  "Ollama": {
    body: {
      object: "list",
      data: [entry(0, [0.5, -0.5]), entry(1, [0.25, 1])],
      model: "nomic-embed-text",
      usage: { prompt_tokens: 3, total_tokens: 3 },
    },
    tokens: 3,
  },
  "LM Studio, which counts nothing": {
    body: {
      object: "list",
      data: [entry(0, [0.5, -0.5]), entry(1, [0.25, 1])],
      model: "m",
      usage: { prompt_tokens: 0, total_tokens: 0 },
    },
  },
  "TEI's OpenAI route": {
    body: {
      object: "list",
      data: [entry(0, [0.5, -0.5]), entry(1, [0.25, 1])],
      model: "m",
      usage: { prompt_tokens: 8, total_tokens: 8 },
    },
    tokens: 8,
  },
  "together, without usage": {
    body: { object: "list", data: [entry(0, [0.5, -0.5]), entry(1, [0.25, 1])], model: "m", request_id: "r" },
  },
  "deepinfra": {
    body: {
      object: "list",
      data: [entry(0, [0.5, -0.5]), entry(1, [0.25, 1])],
      model: "m",
      usage: { prompt_tokens: 5, total_tokens: 5 },
    },
    tokens: 5,
  },
  "scaleway, in the order of the work": {
    body: {
      id: "embd-1",
      object: "list",
      data: [entry(1, [0.25, 1]), entry(0, [0.5, -0.5])],
      model: "m",
      usage: { prompt_tokens: 6, total_tokens: 6 },
    },
    tokens: 6,
  },
  "Jina and Voyage, which count the total only": {
    body: {
      object: "list",
      data: [entry(0, [0.5, -0.5]), entry(1, [0.25, 1])],
      model: "m",
      usage: { total_tokens: 7 },
    },
    tokens: 7,
  },
  "a server of base64": {
    body: { object: "list", data: [entry(0, toBase64([0.5, -0.5])), entry(1, toBase64([0.25, 1]))], usage: null },
  },
  "a server without indexes": { body: { data: [{ embedding: [0.5, -0.5] }, { embedding: [0.25, 1], index: null }] } },
  "a server with counts of nonsense": {
    body: { data: [entry(0, [0.5, -0.5]), entry(1, [0.25, 1])], usage: { prompt_tokens: "four" } },
  },
};

for (const [name, { body, tokens }] of Object.entries(providers)) {
  for (const encoding_format of ["float", "base64"]) {
    Deno.test(`vectors of ${name} reach a client of ${encoding_format}`, async () => {
      const { answer, notes } = await ask({ input: ["a", "b"], encoding_format }, body);
      assertEquals(vectorsOf(answer), [[0.5, -0.5], [0.25, 1]]);
      assertEquals(
        typeof (answer.data as { embedding: unknown }[])[0]!.embedding === "string",
        encoding_format === "base64",
      );
      assertEquals(answer.model, "mine");
      assertEquals(answer.usage, { prompt_tokens: tokens ?? 2, total_tokens: tokens ?? 2 });
      assertEquals(notes, tokens === undefined ? ["estimated usage"] : []);
    });
  }
}

Deno.test("an answer has the published shape", async () => {
  const { answer } = await ask({ input: ["a", "b"] }, list(entry(0, [0.1, 2]), entry(1, [1e-7, 3])));
  assertEquals(answer, {
    object: "list",
    data: [
      { object: "embedding", index: 0, embedding: [0.1, 2] },
      { object: "embedding", index: 1, embedding: [1e-7, 3] },
    ],
    model: "mine",
    usage: { prompt_tokens: 2, total_tokens: 2 },
  });
});

for (const fixture of loadFixtures("embeddings")) {
  Deno.test(`the real engine's answer "${fixture.name}"`, async () => {
    const body = fixture.request.body as JsonObject;
    if (!isOk(fixture)) {
      const { code } = embeddingsDriver.parseError(reply(fixture));
      assertEquals(code, "upstream_error");
    } else if (body.dimensions) {
      // This engine ignores the field.
      await assertRejects(() => ask(body, () => reply(fixture)), GatewayError, "cannot return 8");
    } else {
      const { calls, answer, notes } = await ask(body, () => reply(fixture));
      const expected = fixture.response.json as JsonObject;
      const input = typeof body.input === "string" ? [body.input] : body.input;
      assertEquals(calls, [{ path: "embeddings", body: { ...body, model: "org/model", input } }]);
      for (const [index, { embedding }] of (expected.data as { embedding: unknown }[]).entries()) {
        const isMatrix = Array.isArray(embedding) && Array.isArray(embedding[0]);
        if (isMatrix) assertNear(vectorsOf(answer)[index]!, unit(meanOf(embedding as number[][])));
        else assertEquals(vectorsOf(answer)[index], vectorsOf(expected)[index]);
      }
      assertEquals(answer.usage, expected.usage);
      assertEquals(notes, []);
    }
  });
}

// What goes up

const sent: Record<string, [body: JsonObject, upstream: JsonObject]> = {
  "a text as a list of one": [{ input: "a" }, { input: ["a"] }],
  "token ids as a list of one": [{ input: [1, 2] }, { input: [[1, 2]] }],
  "the encoding where it is base64": [{ input: "a", encoding_format: "base64" }, {
    input: ["a"],
    encoding_format: "base64",
  }],
  "no encoding where it is the default": [{ input: "a", encoding_format: "float" }, { input: ["a"] }],
  "no nulls": [{ input: "a", encoding_format: null, dimensions: null, user: null }, { input: ["a"] }],
  "the fields of this wire": [{ input: "a", user: "u", dimensions: 1 }, { input: ["a"], dimensions: 1, user: "u" }],
};

for (const [name, [body, upstream]] of Object.entries(sent)) {
  Deno.test(`an OpenAI-compatible server is sent ${name}`, async () => {
    const { calls } = await ask(body, list(entry(0, [1])));
    assertEquals(calls, [{ path: "embeddings", body: { model: "org/model", ...upstream } }]);
  });
}

Deno.test("a server that takes few inputs gets them in batches, and its counts are added up", async () => {
  const { calls, answer } = await ask({ input: ["a", "b", "c"] }, (_call, index) => ({
    data: index === 0 ? [entry(1, [2]), entry(0, [1])] : [entry(0, [3])],
    usage: { prompt_tokens: 10 + index },
  }), { batch: 2 });
  assertEquals(calls.map(({ body }) => (body as JsonObject).input), [["a", "b"], ["c"]]);
  assertEquals(vectorsOf(answer), [[1], [2], [3]]);
  assertEquals(answer.usage, { prompt_tokens: 21, total_tokens: 21 });
});

Deno.test("the count of a batch that is not told is not taken for the whole", async () => {
  const { answer, notes } = await ask({ input: "one two three four" }, {
    data: [entry(0, [1])],
  });
  assertEquals([answer.usage, notes], [{ prompt_tokens: 5, total_tokens: 5 }, ["estimated usage"]]);
  const half: Upstream = (_call, index) => ({
    data: [entry(0, [1])],
    ...(index === 0 && { usage: { prompt_tokens: 9 } }),
  });
  const { answer: second } = await ask({ input: [[1, 2, 3], [4]] }, half, { batch: 1 });
  assertEquals(second.usage, { prompt_tokens: 4, total_tokens: 4 });
});

// What is no answer

const NAN = new Float32Array([1, NaN]);
const broken: Record<string, [answer: JsonValue, says: string, code?: ErrorCode]> = {
  "null for a number": [
    list(entry(0, [1, null]), entry(1, [1, 2])),
    "vector 0 contains a value that is not a finite number",
  ],
  "a text for a number": [
    list(entry(0, [1, 2]), entry(1, [1, "2"])),
    "vector 1 contains a value that is not a finite number",
  ],
  "NaN in bytes": [
    list(entry(0, toBase64([1, 2])), entry(1, toBase64(NAN))),
    "vector 1 contains a value that is not a finite number",
  ],
  "tokens of different widths": [list(entry(0, [[1, 2], [1]]), entry(1, [[1, 2]])), "differ in shape"],
  "two matrices of tokens for an input": [list(entry(0, [[[1]], [[2]]]), entry(1, [[1]])), "differ in shape"],
  "tokens that are no numbers": [
    list(entry(0, [["a"]]), entry(1, [[1]])),
    "vector 0 contains a value that is not a finite number",
  ],
  "vectors of different widths": [list(entry(0, [1, 2]), entry(1, [1])), "differ in width: 2 and 1"],
  "empty vectors": [list(entry(0, []), entry(1, [])), "vector 0 is empty"],
  "empty bytes": [list(entry(0, ""), entry(1, "")), "vector 0 is empty"],
  "no vector": [list(), "0 vectors for 2 inputs"],
  "one vector": [list(entry(0, [1])), "1 vectors for 2 inputs"],
  "three vectors": [list(entry(0, [1]), entry(1, [1]), entry(2, [1])), "3 vectors for 2 inputs"],
  "one index twice": [list(entry(1, [1]), entry(1, [2])), "index 1 of 2"],
  "an index of no input": [list(entry(0, [1]), entry(2, [2])), "index 2 of 2"],
  "a negative index": [list(entry(-1, [1]), entry(1, [2])), "index -1 of 2"],
  "no vector in an entry": [list(entry(0, [1]), entry(1, null)), "vector 1 is neither a list of numbers nor base64"],
  "what is no base64": [list(entry(0, "*"), entry(1, "*")), "vector 0 is neither"],
  "bytes that are no whole floats": [list(entry(0, "AAAA"), entry(1, "AAAA")), "vector 0 is neither"],
  "no list": [{ object: "list", data: null }, "not a list of embeddings"],
  "a page": ["<html>busy</html>", "not a list of embeddings"],
  "an error with status 200": [{ error: { message: "Slow down", code: 429 } }, "Slow down", "rate_limit"],
};

for (const [name, [answer, says, code = "upstream_error"]] of Object.entries(broken)) {
  Deno.test(`an upstream that gives ${name} is told of clearly`, async () => {
    const error = await assertRejects(() => ask({ input: ["a", "b"] }, answer), GatewayError, says);
    assertEquals(error.code, code);
  });
}

Deno.test("a width that the model cannot return is the client's mistake", async () => {
  const error = await assertRejects(
    () => ask({ input: "a", dimensions: 3 }, list(entry(0, [1, 2]))),
    GatewayError,
    "cannot return 3",
  );
  assertEquals([error.code, error.details.param], ["invalid_request", "dimensions"]);
});

// Laws

const float32 = fc.float({ noNaN: true, noDefaultInfinity: true });
const matrix = fc.integer({ min: 1, max: 12 }).chain((width) =>
  fc.array(fc.array(float32, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 20 })
);
const inputsFor = (vectors: unknown[]) => vectors.map((_, index) => `text ${index}`);

law("base64 carries every 32-bit float exactly, whichever way the upstream spells it", matrix, async (vectors) => {
  const body = { input: inputsFor(vectors), encoding_format: "base64" };
  const expected = vectors.map(toBase64);
  const embeddings = ({ answer }: { answer: JsonObject }) =>
    (answer.data as { embedding: string }[]).map(({ embedding }) => embedding);
  assertEquals(embeddings(await ask(body, list(...expected.map((text, index) => entry(index, text))))), expected);
  const numbers = list(...vectors.map((vector, index) => entry(index, vector)));
  assertEquals(embeddings(await ask(body, numbers)), expected);
});

law("numbers of base64 are the very floats", matrix, async (vectors) => {
  const body = list(...vectors.map((vector, index) => entry(index, toBase64(vector))));
  const { answer } = await ask({ input: inputsFor(vectors) }, body);
  // JSON knows no -0.
  assertEquals(vectorsOf(answer), vectors.map((vector) => vector.map((number) => number + 0)));
});

const tokens = fc.integer({ min: 1, max: 8 }).chain((width) => {
  const token = fc.array(fc.integer({ min: -64, max: 64 }).map((value) => value / 64), {
    minLength: width,
    maxLength: width,
  });
  return fc.array(fc.array(token, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 8 });
});

law(
  "the vectors of an input's tokens are one vector of length 1, in the encoding that was asked for",
  tokens,
  async (inputs) => {
    const expected = inputs.map((rows) => unit(meanOf(rows)));
    for (const wrapped of [false, true]) {
      const body = list(...inputs.map((rows, index) => entry(index, wrapped ? [rows] : rows)));
      for (const encoding_format of ["float", "base64"]) {
        const { answer } = await ask({ input: inputsFor(inputs), encoding_format }, body);
        assertEquals(
          (answer.data as JsonObject[]).every(({ embedding }) => typeof embedding === "string"),
          encoding_format === "base64",
        );
        for (const [index, vector] of vectorsOf(answer).entries()) assertNear(vector, expected[index]!);
      }
    }
  },
);

const shuffled = fc.integer({ min: 1, max: 30 }).chain((count) => {
  const data = Array.from({ length: count }, (_, index) => entry(index, [index]));
  return fc.shuffledSubarray(data, { minLength: count, maxLength: count });
});

law("vectors keep the order of their inputs in any order of `data`", shuffled, async (data) => {
  const { answer } = await ask({ input: inputsFor(data) }, list(...data));
  assertEquals(vectorsOf(answer), data.map((_, index) => [index]));
});

const split = fc.record({
  texts: fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 40 }),
  batch: fc.integer({ min: 1, max: 50 }),
});

law("batches come to the same as one call", split, async ({ texts, batch }) => {
  const upstream: Upstream = ({ body }) => {
    const input = (body as { input: string[] }).input;
    assert(input.length <= batch || input.length === texts.length);
    return newReply({
      data: input.map((text, index) => entry(index, [text.length, text.charCodeAt(0)])),
      usage: { prompt_tokens: input.length },
    });
  };
  assertEquals(
    (await ask({ input: texts }, upstream, { batch })).answer,
    (await ask({ input: texts }, upstream)).answer,
  );
});
