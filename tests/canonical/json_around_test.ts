import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { JsonValue } from "../../src/canonical/json.ts";
import { jsonAround } from "../../src/canonical/json_around.ts";
import { law } from "../support/law.ts";

const PLACES: Record<string, (text: string, rest: JsonValue) => JsonValue> = {
  "at the top": (text) => text,
  "as the last field": (text, rest) => ({ type: "delta", rest, delta: { text } }),
  "amid others": (text, rest) => ({ choices: [{ index: 0, delta: { content: text }, finish_reason: null }], rest }),
  "twice": (text, rest) => ({ reasoning: text, rest, list: [text] }),
  "nowhere": (_, rest) => ({ rest }),
};

for (const [name, make] of Object.entries(PLACES)) {
  law(
    `json: a text ${name} is written as all of it would be`,
    fc.tuple(fc.string({ unit: "binary" }), fc.jsonValue(), fc.string()),
    ([text, rest, other]) => {
      const around = jsonAround((hole) => make(hole, rest as JsonValue));
      // The same function writes every text.
      for (const one of [text, other]) assertEquals(around(one), JSON.stringify(make(one, rest as JsonValue)));
    },
  );
}
