import { assertEquals, assertThrows } from "@std/assert";
import { parseRequest } from "../../../plugins/rerank/parse_request.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import type { RerankRequest } from "../../../src/canonical/rerank.ts";
import { GatewayError } from "../../../src/errors.ts";
import { newWireRequest } from "../../support/context.ts";

const parse = (body: JsonObject) =>
  parseRequest(newWireRequest({ model: "m", query: "q", documents: ["a", "b"], ...body }));

const a = { text: "a", source: "a" };
const b = { text: "b", source: "b" };
const book = { title: "Dune", year: 1965, tags: ["sand"], text: "Spice", isbn: null };

const accepted: Record<string, [body: JsonObject, parsed: Partial<RerankRequest>]> = {
  "texts": [{}, {}],
  "an empty text": [{ documents: [""] }, { documents: [{ text: "", source: "" }] }],
  "objects among texts": [
    { documents: ["a", book] },
    { documents: [a, { text: "Spice", source: book }] },
  ],
  "fields to rank by": [
    { documents: ["a", book], rank_fields: ["title", "isbn", "year", "tags", "pages"] },
    { documents: [a, { text: 'title: Dune\nyear: 1965\ntags: ["sand"]', source: book }] },
  ],
  "top_n": [{ top_n: 1 }, { topN: 1 }],
  "more than there are": [{ top_n: 3_000 }, { topN: 2 }],
  "Voyage's top_k": [{ top_k: 1 }, { topN: 1 }],
  "return_documents": [{ return_documents: true }, { returnDocuments: true }],
  "nulls, which are absent": [{ top_n: null, top_k: null, return_documents: null, rank_fields: null }, {}],
  "fields of the wire alone": [
    { max_tokens_per_doc: 100, truncation: true },
    { extra: { wire: "rerank", fields: { max_tokens_per_doc: 100, truncation: true } } },
  ],
};

for (const [name, [body, parsed]] of Object.entries(accepted)) {
  Deno.test(`a rerank request may hold ${name}`, () => {
    const expected = { model: "m", query: "q", documents: [a, b], returnDocuments: false, ...parsed };
    assertEquals<unknown>(parse(body), expected);
  });
}

const refused: Record<string, [body: JsonObject, param: string]> = {
  "no query": [{ query: undefined }, "query"],
  "an empty query": [{ query: "" }, "query"],
  "no documents": [{ documents: undefined }, "documents"],
  "an empty list of documents": [{ documents: [] }, "documents"],
  "10,001 documents": [{ documents: Array(10_001).fill("a") }, "documents"],
  "one text as its documents": [{ documents: "a" }, "documents"],
  "null as a document": [{ documents: ["a", null] }, "documents[1]"],
  "a number as a document": [{ documents: ["a", 1] }, "documents[1]"],
  "a picture as a document": [{ documents: ["a", { image: "https://host/a.png" }] }, "documents[1].text"],
  "a text that is none": [{ documents: [{ text: 1 }] }, "documents[0].text"],
  "a document with none of the fields": [{ documents: ["a", { x: 1 }], rank_fields: ["y"] }, "documents[1]"],
  "top_n 0": [{ top_n: 0 }, "top_n"],
  "a negative top_n": [{ top_n: -1 }, "top_n"],
  "half a top_n": [{ top_n: 1.5 }, "top_n"],
  "top_k 0": [{ top_k: 0 }, "top_k"],
};

for (const [name, [body, param]] of Object.entries(refused)) {
  Deno.test(`a rerank request with ${name} is refused, naming the field`, () => {
    const error = assertThrows(() => parse(body), GatewayError, `"${param}"`);
    assertEquals([error.code, error.details.param], ["invalid_request", param]);
  });
}
