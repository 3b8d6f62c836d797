import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { GenerateRequest, Tool } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { parseExactly } from "../../src/canonical/raw_number.ts";
import type { Target } from "../../src/contract/driver.ts";
import { runUnsliced } from "../../src/util/sliced_work.ts";
import { parseAnswer, readAnswer } from "../../plugins/chat/parse_response.ts";
import { readPlainAnswer } from "../../plugins/chat/plain_answer.ts";
import type { ChatAnswer } from "../../plugins/chat/wire.ts";
import { character, name, object, overTheWire, text, tokens, unknownFields } from "../support/arbitraries.ts";
import { newContext } from "../support/context.ts";
import { isOk, isStream, loadFixtures } from "../support/fixtures.ts";
import { law } from "../support/law.ts";
import { CHAT, TARGET } from "../support/wires.ts";

/** An ordinary answer is read without the reader of streams, and must be what that makes of it, with the same notes. */

const STOPS = ["END", "\n\n"];
/** Refused by servers, so that the upstream knows the tool by another name. */
const LONG_NAME = "a.name.with.dots";

const tool: Tool = { type: "function", name: "look_up" };
const INPUTS: GenerateRequest[] = [
  { model: "m", messages: [], stream: false },
  { model: "m", messages: [], stream: false, stopSequences: STOPS, tools: [tool, { ...tool, name: LONG_NAME }] },
  { model: "m", messages: [], stream: false, tools: [tool, { type: "custom", name: "write" }] },
];
const TARGETS: Target[] = [TARGET, { ...TARGET, textForms: "parse" }];

const orOdd = (usual: fc.Arbitrary<unknown>, ...odd: fc.Arbitrary<unknown>[]) =>
  fc.oneof({ weight: 12, arbitrary: usual }, ...odd);
const absent = fc.constantFrom(null, undefined);
const odd = fc.constantFrom<unknown>(0, true, "", [], {}, "odd", [{ type: "text", text: "t" }]);
/** Names that mean something where they are put together, or to the language. */
const oddFields = fc.oneof(
  unknownFields,
  fc.constantFrom<JsonObject>(
    { choice: 1 },
    { message: { a: 1 } },
    { usage: { c: 1 } },
    { system_fingerprint: "f", service_tier: null },
    { provider_specific_fields: { stop_reason: "END", more: "x" } },
    { stop_reason: "END" },
    { stop_reason: 128009 },
    { native_finish_reason: "STOP", token_ids: [1] },
    { logprobs: null },
    { reasoning_details: [{ type: "reasoning.text", text: "t", signature: "s" }] },
    JSON.parse('{"__proto__":{"a":1}}'),
  ),
);
/** The object, in most cases with no field beside those that are known. */
const extended = (usual: fc.Arbitrary<JsonObject>) =>
  fc.tuple(usual, fc.oneof({ weight: 6, arbitrary: fc.constant({}) }, oddFields))
    .map(([fields, more]): JsonObject => ({ ...more, ...fields }));
const fields = (known: Record<string, fc.Arbitrary<unknown>>, needed: Record<string, fc.Arbitrary<unknown>> = {}) =>
  object(needed, known, { nulls: true, unknown: false });

const args = orOdd(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom<unknown>("", " ", "{", '{"a":1}', ' {"a":"b"} ', '"{\\"a\\":1}"', "{}{}", null, { a: 1 }),
);
const call = extended(fields({
  index: orOdd(fc.nat({ max: 3 }), absent),
  id: orOdd(fc.string({ minLength: 1, maxLength: 6 }), fc.constantFrom("", "call_1")),
  type: orOdd(fc.constant("function"), fc.constantFrom("custom", "", "odd")),
  function: orOdd(
    extended(object({ name: fc.constantFrom("look_up", "write", "a_name_with_dots", "") }, { arguments: args }, {
      unknown: false,
    })),
    absent,
  ),
  custom: orOdd(absent, fc.constant({ name: "write", input: "i" })),
}));
const wholeCall = fc.record({
  id: fc.string({ minLength: 3, maxLength: 8 }),
  type: fc.constant("function"),
  function: fc.record({
    name: fc.oneof(name, fc.constantFrom("look_up", "write")),
    arguments: fc.dictionary(name, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 }).map((value) => JSON.stringify(value)),
  }),
});
const calls = fc.oneof(fc.array(wholeCall, { maxLength: 3 }), fc.array(call, { maxLength: 3 }));

const message = extended(fields({
  role: orOdd(fc.constant("assistant"), odd),
  content: orOdd(text, absent, fc.string({ unit: character }).map((word) => `<think>${word}</think>b`), odd),
  refusal: orOdd(absent, text, odd),
  reasoning_content: orOdd(absent, text, odd),
  reasoning: orOdd(absent, text),
  reasoning_text: orOdd(absent, text),
  annotations: orOdd(fc.constantFrom([], null), fc.constant([{ type: "url_citation", url_citation: { url: "u" } }])),
  tool_calls: orOdd(fc.oneof(absent, calls), odd),
  function_call: orOdd(absent, fc.constant({ name: "look_up", arguments: "{}" })),
}));
const usage = extended(fields({
  prompt_tokens: orOdd(tokens, odd),
  completion_tokens: orOdd(tokens, odd),
  total_tokens: orOdd(tokens, odd),
  prompt_tokens_details: orOdd(absent, extended(fields({ cached_tokens: tokens, cache_write_tokens: tokens })), odd),
  completion_tokens_details: orOdd(absent, extended(fields({ reasoning_tokens: tokens })), odd),
  prompt_cache_hit_tokens: orOdd(absent, tokens),
  cost: orOdd(absent, fc.constantFrom<unknown>(0, 0.25, "1", { total_cost: 0.5 })),
}));
const choice = extended(fields({
  index: orOdd(fc.constant(0), fc.nat({ max: 2 }), odd),
  delta: orOdd(absent, message),
  usage: orOdd(absent, usage),
}, {
  message: orOdd(message, absent, odd),
  finish_reason: orOdd(
    fc.constantFrom("stop", "length", "tool_calls", "content_filter", "EOS", "function_call"),
    fc.constantFrom("error", "odd", "", null),
  ),
}));
const answer = extended(fields({
  id: text,
  object: fc.constant("chat.completion"),
  created: tokens,
  model: orOdd(name, absent, fc.constant("")),
  usage: orOdd(usage, absent, odd),
}, { choices: orOdd(choice.map((one) => [one]), fc.array(choice, { maxLength: 2 })) }));

const inputs = fc.record({
  answer: answer.map((body) => overTheWire(body)),
  input: fc.constantFrom(...INPUTS),
  target: orOdd(fc.constant(TARGET), fc.constantFrom(...TARGETS)) as fc.Arbitrary<Target>,
  clientWire: fc.constantFrom("chat", "messages"),
});

/** The answer and the notes as the reader of streams makes them, or what it throws. */
function readLike(answer: ChatAnswer, input: GenerateRequest, target: Target, clientWire: string) {
  const context = newContext(clientWire);
  try {
    const response = runUnsliced(readAnswer(answer, input, target, context));
    return { response: toText(response), notes: context.notes };
  } catch (error) {
    return { thrown: String(error), notes: context.notes };
  }
}

/** In their order, with those that mean something to the language. */
function toText(value: unknown): string {
  return JSON.stringify(value);
}

/** Whether the answer was read without the reader. */
function check(body: unknown, input: GenerateRequest, target: Target, clientWire: string): boolean {
  let answer: ChatAnswer;
  try {
    answer = parseAnswer(body);
  } catch {
    return false;
  }
  if (!answer.choices) return false;
  const before = toText(answer);
  const context = newContext(clientWire);
  const plain = readPlainAnswer(answer, input, target, context);
  assertEquals(toText(answer), before, "changed");
  if (!plain) {
    assertEquals(context.notes, []);
    return false;
  }
  assertEquals({ response: toText(plain), notes: context.notes }, readLike(answer, input, target, clientWire));
  return true;
}

law("chat: an ordinary answer means what the reader of streams makes of it", inputs, (one) => {
  check(one.answer, one.input, one.target, one.clientWire);
});

Deno.test("chat: many of the generated answers are read without the reader of streams", () => {
  const sample = fc.sample(inputs, { seed: 1, numRuns: 400 });
  const plain = sample.filter((one) => check(one.answer, one.input, one.target, one.clientWire));
  assert(plain.length > 100, `${plain.length} of 400`);
});

for (const fixture of loadFixtures("chat").filter(isOk)) {
  if (isStream(fixture) || fixture.response.json === undefined) continue;
  Deno.test(`chat: read without the reader of streams, ${fixture.name} means the same`, () => {
    const body = parseExactly(JSON.stringify(fixture.response.json));
    for (const input of [CHAT.inputOf(fixture), ...INPUTS]) {
      for (const clientWire of ["chat", "messages"]) {
        for (const target of TARGETS) check(body, input, target, clientWire);
      }
    }
  });
}
