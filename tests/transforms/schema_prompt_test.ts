import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import type { GenerateRequest, Message } from "../../src/canonical/generate.ts";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { correction, readForm, withFormInWords } from "../../src/transforms/schema_prompt.ts";
import { assertCheap } from "../support/cost.ts";

const SCHEMA = { type: "object", properties: { title: { type: "string" } }, required: ["title"] };
const FORM = { schema: SCHEMA };

function request(messages: Message[], more: Partial<GenerateRequest> = {}): GenerateRequest {
  return { model: "m", stream: false, messages, outputSchema: FORM, ...more };
}

const ASKED: Message = { role: "user", content: [{ type: "text", text: "Hello" }] };
const WORDS =
  "Answer with one JSON value that fits the JSON schema below, and with nothing else: no text before or after it, " +
  `and no code fence.\n${JSON.stringify(SCHEMA)}`;

Deno.test("form in words: at the end of the user's last turn, in no field, and the same each time", () => {
  const answered: Message = { role: "assistant", content: [{ type: "text", text: "Hi" }] };
  const before = request([{ role: "system", content: [] }, ASKED, answered, ASKED, answered]);
  const instructed = withFormInWords(before);
  assertEquals("outputSchema" in instructed, false);
  assertEquals(instructed.messages.with(3, ASKED), before.messages);
  assertEquals(instructed.messages[3]!.content, [{ type: "text", text: `Hello\n\n${WORDS}` }]);
  assertEquals(withFormInWords(structuredClone(before)), instructed);
});

Deno.test("form in words: a part of its own after what is no plain text, a turn of its own where there is none", () => {
  const cached = { type: "text", text: "Hello", extra: { wire: "messages", fields: { cache_control: {} } } } as const;
  const instructed = withFormInWords(request([{ role: "user", content: [cached] }]));
  assertEquals(instructed.messages, [{ role: "user", content: [cached, { type: "text", text: WORDS }] }]);
  const alone = withFormInWords(request([{ role: "system", content: [] }]));
  assertEquals(alone.messages[1], { role: "user", content: [{ type: "text", text: WORDS }] });
});

Deno.test("form in words: what is known of it is told, and that tools may be called before", () => {
  const tools = [{ type: "function", name: "look" }] as const;
  const outputSchema = { name: "summary", description: "What was said", schema: SCHEMA };
  const wordsOf = (more: Partial<GenerateRequest>) => {
    const [turn] = withFormInWords(request([{ role: "user", content: [] }], more)).messages;
    return (turn!.content[0] as { text: string }).text.split("\n");
  };
  assertEquals(wordsOf({ outputSchema })[1], "The answer is: summary: What was said");
  assertEquals(
    wordsOf({ outputSchema, tools: [...tools] })[0]!.slice(0, 40),
    "When you do not call a tool, answer with",
  );
  assertEquals(wordsOf({ outputSchema: {} }).length, 1);
  assert(wordsOf({ outputSchema: {} })[0]!.includes("one JSON object"));
});

Deno.test("form in words: what only the client's own wire says of the form goes too, and nothing else does", () => {
  const fields = { response_format: { type: "json_schema", more: 1 }, user: "u" };
  const instructed = withFormInWords(request([ASKED], { extra: { wire: "chat", fields } }));
  assertEquals(instructed.extra, { wire: "chat", fields: { user: "u" } });
});

Deno.test("correction: an answer of any length, or none, is told with what is wrong with it", () => {
  const [said, asked] = correction("x".repeat(10_000), "it is not JSON");
  assertEquals((said!.content[0] as { text: string }).text.length, 8_000);
  assert((asked!.content[0] as { text: string }).text.includes(": it is not JSON."));
  assertEquals(correction("", "it is empty")[0]!.content, [{ type: "text", text: "(nothing)" }]);
});

// Answers

const ANSWER = '{"title": "A {b} \\"c\\" ```"}';

const FOUND: [title: string, answer: string][] = [
  ["alone", ANSWER],
  ["with space around it", `\n ${ANSWER}\n`],
  ["in a fence", "```json\n" + ANSWER + "\n```"],
  ["in a fence that does not say of what", "```\n" + ANSWER + "\n```"],
  ["in a fence on one line", "```json " + ANSWER + "```"],
  ["in a fence of tildes", "~~~json\n" + ANSWER + "\n~~~"],
  ["after some words", `Here it is [1], as {you} asked: ${ANSWER}`],
  ["in a fence between words", "Sure!\n\n```json\n" + ANSWER + "\n```\n\nAnything else?"],
  ["beside JSON that does not fit", `Of {"name": 1} I made ${ANSWER} and [1, 2].`],
  ["twice, the same", `${ANSWER}\n\nThat is: ${ANSWER}`],
];

for (const [title, answer] of FOUND) {
  Deno.test(`form: an answer is taken ${title}`, () => {
    assertEquals(readForm(answer, FORM), { json: ANSWER, unread: [] });
  });
}

const REFUSED: [title: string, answer: string, problem: string, form?: { schema?: JsonObject }][] = [
  ["nothing", " \n", "it is empty"],
  ["prose", "I cannot say.", "it is not JSON"],
  ["JSON that is cut off", '{"title": "A', "it is not JSON"],
  ["a part of what is cut off", '{"items": [{"title": "A"}', "it is not JSON"],
  ["a part of what is no JSON", '{items: [{"title": "A"}]}', "it is not JSON"],
  ["JSON that does not fit", '{"title": 1}', "$.title must be of type string"],
  ["JSON inside words that does not fit", 'So: {"name": 1}', "$.title is missing"],
  ["several that fit", '{"title": "a"} or {"title": "b"}', "it holds several JSON values"],
  ["a fence of nothing", "```json\n```", "it is not JSON"],
  ["a list where any object was wanted", "[1]", "it is not a JSON object", {}],
  ["a text where any object was wanted", '"a"', "it is not a JSON object", {}],
];

for (const [title, answer, problem, form = FORM] of REFUSED) {
  Deno.test(`form: ${title} is no answer`, () => assertEquals(readForm(answer, form), { problem }));
}

Deno.test("form: a value that is no object, alone or in a fence", () => {
  const schema = { enum: ["yes", "no"] };
  for (const answer of ['"yes"', '```\n"yes"\n```']) {
    assertEquals(readForm(answer, { schema }), { json: '"yes"', unread: [] });
  }
});

Deno.test("form: what of the schema was not checked is said", () => {
  assertEquals(readForm('"a"', { schema: { type: "string", pattern: "b" } }), { json: '"a"', unread: ["pattern"] });
});

Deno.test("form: a long text full of braces is cheap to read", async () => {
  for (const text of ["{[".repeat(200_000), "```json\n".repeat(50_000)]) {
    await assertCheap(200, () => assertEquals(readForm(text, FORM), { problem: "it is not JSON" }));
  }
});

Deno.test("form: an answer of many values, or a schema that is long to check, holds nobody else up", async () => {
  const names = Array.from({ length: 5_000 }, (_, index) => ({ required: [`n${index}`] }));
  await assertCheap(200, () => {
    assertEquals(readForm("{}".repeat(10_000), { schema: { anyOf: names } }), {
      problem: "it holds several JSON values",
    });
  });
  await assertCheap(200, () => assertEquals(readForm("[}".repeat(1_000_000), FORM), { problem: "it is not JSON" }));
  await assertCheap(
    200,
    () => assertEquals(readForm(`${"~".repeat(400_000)}\nx`, FORM), { problem: "it is not JSON" }),
  );
});

/** Prose without anything that begins an object or a list, or a text in one. */
const prose = fc.stringMatching(/^[A-Za-z0-9 .,:!'`\n-]{0,40}$/);
const around = fc.oneof(
  fc.constant((json: string) => json),
  fc.constantFrom("", "json", "JSON5").map((mark) => (json: string) => `\`\`\`${mark}\n${json}\n\`\`\``),
  fc.tuple(prose, prose).map(([before, after]) => (json: string) => `${before}\n${json}\n${after}`),
  fc.tuple(prose, prose).map(([before, after]) => (json: string) => `${before}\n\`\`\`json\n${json}\n\`\`\`\n${after}`),
);

Deno.test("form: any object comes out of any fence and prose as it was written", () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(object, around, fc.constantFrom(undefined, 2, "\t"), (value, wrap, space) => {
      const json = JSON.stringify(value, null, space);
      assertEquals(readForm(wrap(json), {}), { json, unread: [] });
    }),
    { seed: 20_261_121, numRuns: 500 },
  );
});

Deno.test("form: whatever the text, what is taken from it is in it, is JSON, and fits", () => {
  const piece = fc.oneof(prose, fc.json(), fc.constantFrom("{", "}", '"', "```json\n", '{"title":"x"}', "["));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
      const text = pieces.join("");
      const read = readForm(text, FORM);
      if ("problem" in read) return assertNotEquals(read.problem, "");
      assert(text.includes(read.json));
      const value: JsonValue = JSON.parse(read.json);
      assertEquals(typeof (value as { title: string }).title, "string");
    }),
    { seed: 20_261_121, numRuns: 500 },
  );
});
