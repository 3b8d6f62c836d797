import { assertEquals, assertThrows } from "@std/assert";
import { parseRequest } from "../../../plugins/embeddings/parse_request.ts";
import type { EmbedRequest } from "../../../src/canonical/embed.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { GatewayError } from "../../../src/errors.ts";
import { newWireRequest } from "../../support/context.ts";

const parse = (body: JsonObject) => parseRequest(newWireRequest({ model: "m", ...body }));

const accepted: Record<string, [body: JsonObject, parsed: Partial<EmbedRequest>]> = {
  "a text": [{ input: "a" }, { input: ["a"] }],
  "a list of texts": [{ input: ["a", " "] }, { input: ["a", " "] }],
  "token ids": [{ input: [0, 7] }, { input: [[0, 7]] }],
  "lists of token ids": [{ input: [[0], [7, 8]] }, { input: [[0], [7, 8]] }],
  "more ids than there may be inputs": [{ input: Array(3_000).fill(1) }, { input: [Array(3_000).fill(1)] }],
  "as many inputs as there may be": [{ input: Array(2_048).fill("a") }, { input: Array(2_048).fill("a") }],
  "base64": [{ input: "a", encoding_format: "base64" }, { input: ["a"], encoding: "base64" }],
  "a number of dimensions": [{ input: "a", dimensions: 8 }, { input: ["a"], dimensions: 8 }],
  "nulls, which are absent": [{ input: "a", encoding_format: null, dimensions: null, user: null }, { input: ["a"] }],
  "fields of the wire alone": [
    { input: "a", user: "u", truncate: true },
    { input: ["a"], extra: { wire: "embeddings", fields: { user: "u", truncate: true } } },
  ],
};

for (const [name, [body, parsed]] of Object.entries(accepted)) {
  Deno.test(`an embedding request may hold ${name}`, () => {
    assertEquals<unknown>(parse(body), { model: "m", encoding: "float", ...parsed });
  });
}

const refused: Record<string, [body: JsonObject, param: string]> = {
  "no input": [{}, "input"],
  "null": [{ input: null }, "input"],
  "a number": [{ input: 7 }, "input"],
  "an object": [{ input: { text: "a" } }, "input"],
  "an empty text": [{ input: "" }, "input"],
  "an empty list": [{ input: [] }, "input"],
  "an empty text in a list": [{ input: ["a", "b", "c", ""] }, "input[3]"],
  "an empty list of ids": [{ input: [[1], []] }, "input[1]"],
  "3,000 inputs": [{ input: Array(3_000).fill("a") }, "input"],
  "3,000 lists of ids": [{ input: Array(3_000).fill([1]) }, "input"],
  "ids among texts": [{ input: ["a", [1]] }, "input[1]"],
  "a number among texts": [{ input: ["a", 1] }, "input[1]"],
  "a text among ids": [{ input: [1, "a"] }, "input[1]"],
  "a text among lists of ids": [{ input: [[1], "a"] }, "input[1]"],
  "a text in a list of ids": [{ input: [[1], [2, "a"]] }, "input[1][1]"],
  "null in a list": [{ input: ["a", null] }, "input[1]"],
  "a negative id": [{ input: [1, -1] }, "input[1]"],
  "an id that is no integer": [{ input: [[1.5]] }, "input[0][0]"],
  "pictures": [{ input: [{ image: "https://host/a.png" }] }, "input[0]"],
  "an unknown encoding": [{ input: "a", encoding_format: "int8" }, "encoding_format"],
  "no dimensions": [{ input: "a", dimensions: 0 }, "dimensions"],
  "half a dimension": [{ input: "a", dimensions: 1.5 }, "dimensions"],
  "an empty model": [{ input: "a", model: "" }, "model"],
};

for (const [name, [body, param]] of Object.entries(refused)) {
  Deno.test(`an embedding request with ${name} is refused, naming the field`, () => {
    const error = assertThrows(() => parse(body), GatewayError, `"${param}"`);
    assertEquals([error.code, error.details.param], ["invalid_request", param]);
  });
}
