import { assert, assertAlmostEquals, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { character } from "../../support/arbitraries.ts";
import fc from "fast-check";
import type { EmbedRequest } from "../../../src/canonical/embed.ts";
import { GatewayError } from "../../../src/errors.ts";
import { embed } from "../../../plugins/sandbox/embed.ts";
import { newContext } from "../../support/context.ts";
import { TARGET } from "./support.ts";

function ask(input: EmbedRequest["input"], more: Partial<EmbedRequest> = {}) {
  const context = newContext("embeddings");
  const response = embed({ model: "demo", input, encoding: "float", ...more }, TARGET, context);
  return { ...response, notes: context.notes };
}

function vectorOf(input: string | number[], dimensions?: number): number[] {
  return [...ask([input], { dimensions }).vectors[0]!];
}

function cosine(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, number, index) => sum + number * b[index]!, 0);
}

function nearness(a: string, b: string): number {
  return cosine(vectorOf(a), vectorOf(b));
}

Deno.test("a text is nearer to one about the same than to others, in any script", () => {
  const cases: [text: string, similar: string, others: string[]][] = [
    [
      "What is the capital of France?",
      "The capital of France is Paris.",
      ["What is the meaning of life?", "The cat sat on the mat.", "法国的首都是巴黎"],
    ],
    ["Wie storniere ich meine Bestellung?", "Bestellungen stornieren", ["Wie wird morgen das Wetter?", "Rückgabe"]],
    ["今天的天气很好", "明天的天气怎么样", ["我喜欢吃苹果", "The weather is fine"]],
    ["東京タワーへの行き方", "東京タワーはどこですか", ["猫が好きです", "タクシー"]],
    ["погода в Москве", "Какая погода сегодня в Москве?", ["рецепт борща", "погремушка"]],
    ["الطقس في القاهرة", "كيف الطقس اليوم في القاهرة", ["وصفة الكشري"]],
    ["สภาพอากาศวันนี้", "วันนี้อากาศเป็นอย่างไร", ["ฉันชอบแมว"]],
    ["🍕🍕 tonight", "🍕 party", ["🚲 party at noon"]],
  ];
  for (const [text, similar, others] of cases) {
    for (const other of others) {
      assert(nearness(text, similar) > nearness(text, other) + 0.1, `"${text}": "${similar}" against "${other}"`);
    }
  }
});

Deno.test("case, spacing, punctuation and Unicode's spellings of a letter change nothing", () => {
  const vector = vectorOf("Café — déjà vu!");
  for (const same of ["cafe\u0301 de\u0301ja\u0300 vu", " CAFÉ\nDÉJÀ  VU ", "ｃａｆé déjà vu"]) {
    assertEquals(vectorOf(same), vector);
  }
  assertEquals(vectorOf("猫、犬。「鳥」"), vectorOf("猫 犬 鳥"));
});

Deno.test("long texts of different words are far from each other", () => {
  const text = (letter: string) => Array.from({ length: 100 }, (_, index) => `${letter}${index}${letter}`).join(" ");
  assert(Math.abs(nearness(text("x"), text("y"))) < 0.2);
});

Deno.test("forms of a word are nearer than strangers", () => {
  assert(nearness("connection", "connections") > 0.3);
  assert(Math.abs(nearness("connection", "zebra")) < 0.1);
});

Deno.test("token ids count as words", () => {
  const vector = vectorOf([15496, 11, 995]);
  assertAlmostEquals(cosine(vector, vectorOf([995, 15496, 11])), 1, 1e-6);
  assert(cosine(vector, vectorOf([15496, 11, 7])) > cosine(vector, vectorOf([15496, 262, 7])));
});

Deno.test("the width is the one that was asked for, within reason", () => {
  assertEquals(vectorOf("Hello").length, 384);
  for (const dimensions of [1, 2, 64, 1024, 4096]) assertEquals(vectorOf("Hello", dimensions).length, dimensions);
  const error = assertThrows(() => vectorOf("Hello", 4097), GatewayError);
  assertEquals([error.code, error.details.param], ["invalid_request", "dimensions"]);
  assertEquals(error.message, "The sandbox returns vectors of at most 4096 numbers and cannot return 4097");
});

Deno.test("every input gets its own vector and is counted", () => {
  const { vectors, usage } = ask(["one", "two", [3, 4, 5]]);
  assertEquals(vectors.length, 3);
  assertEquals(vectors.map((vector) => [...vector]), [vectorOf("one"), vectorOf("two"), vectorOf([3, 4, 5])]);
  assertNotEquals(vectorOf("one"), vectorOf("two"));
  assertEquals(usage, { inputTokens: 1 + 1 + 3 });
});

Deno.test("what the sandbox leaves aside is noted", () => {
  const extra = { wire: "embeddings", fields: { user: "u", truncate: true } };
  assertEquals(ask(["x"], { extra }).notes, ["dropped user", "dropped truncate"]);
});

Deno.test("any input gets a finite vector of unit length, and the same one again", () => {
  const text = fc.string({ unit: character, minLength: 1 });
  const ids = fc.array(fc.nat(), { minLength: 1 });
  const width = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4096 }));
  fc.assert(
    fc.property(fc.oneof(text, fc.string({ minLength: 1 }), ids), width, (input, dimensions) => {
      const vector = vectorOf(input, dimensions);
      assertEquals(vector.length, dimensions);
      assert(vector.every(Number.isFinite));
      assertAlmostEquals(Math.hypot(...vector), 1, 1e-5);
      assertEquals(vectorOf(structuredClone(input), dimensions), vector);
      assert(ask([input]).usage.inputTokens > 0);
    }),
    { seed: 20261121, numRuns: 500 },
  );
});

Deno.test("texts of the same words are nearer than texts of different words", () => {
  const vocabulary = Array.from({ length: 200 }, (_, index) => (index + 1_000).toString(36).repeat(3));
  const words = fc.shuffledSubarray(vocabulary, { minLength: 15, maxLength: 15 });
  fc.assert(
    fc.property(words, (all) => {
      const [text, stranger, added] = [all.slice(0, 5), all.slice(5, 10), all.slice(10)];
      const similar = [...text.slice(1), added[0]!].toReversed().join(" ");
      assert(nearness(text.join(" "), similar) > nearness(text.join(" "), stranger.join(" ")));
    }),
    { seed: 20261121 },
  );
});
