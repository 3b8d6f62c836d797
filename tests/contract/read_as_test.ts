/** Values that are right are read without zod: as zod reads them, and only those. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { z } from "zod";
import { answerSchema as chatAnswer, requestSchema as chat } from "../../plugins/chat/wire.ts";
import { requestSchema as messages, responseSchema as messagesAnswer } from "../../plugins/messages/wire.ts";
import { requestSchema as responses, responseSchema as responsesAnswer } from "../../plugins/responses/wire.ts";
import { isJsonObject } from "../../src/canonical/json.ts";
import { excessOf, JSON_LIMITS } from "../../src/canonical/json_limits.ts";
import { isRawNumber, parseExactly } from "../../src/canonical/raw_number.ts";
import { readAs, REFUSED } from "../../src/contract/read_as.ts";
import { isOk, loadFixtures } from "../support/fixtures.ts";
import { HOSTILE_BODIES } from "../support/hostile_requests.ts";

const SCHEMAS = { chat, messages, responses };
const ANSWERS = { chat: chatAnswer, messages: messagesAnswer, responses: responsesAnswer };
const OTHERS = [null, 0, -1.5, "", "function", true, [], {}, { type: "text" }, [null]];

/** `left`: that zod is asked although it takes the value is right. */
function compare(schema: z.ZodType, value: unknown, left = false): void {
  const before = JSON.stringify(value);
  const read = readAs(schema, freeze(value));
  const { success, data } = schema.safeParse(value);
  assertEquals(JSON.stringify(value), before);
  if (read === REFUSED) return assert(left || !success, `Left to zod: ${before}`);
  assert(success, `Taken: ${before}`);
  assertEquals(sorted(read), sorted(data));
}

function freeze(value: unknown): unknown {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}

/** Numbers that are kept as text are compared as such. */
function sorted(value: unknown): unknown {
  if (isRawNumber(value)) return `number ${value.rawJSON}`;
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.keys(value).toSorted().map((key) => [key, sorted(value[key])]));
}

/** Whether zod must be asked: it drops such a field, and makes an object of such a number. */
function isLeft(text: string): boolean {
  return /__proto__|\\u/.test(text) || /\d{16}|[eE][-+]?\d{3}/.test(text);
}

for (const [wire, schema] of Object.entries(SCHEMAS)) {
  Deno.test(`${wire}: every recorded request is read as zod reads it`, () => {
    for (const { request } of loadFixtures(wire)) compare(schema, request.body);
  });

  Deno.test(`${wire}: a request with one value in the place of another is read as zod reads it`, () => {
    for (const { request } of loadFixtures(wire).slice(0, 60)) {
      for (const other of OTHERS) {
        for (const changed of changedOnce(request.body, other)) compare(schema, changed);
      }
    }
  });

  const { bodies } = HOSTILE_BODIES.find((one) => one.wire === wire)!;
  Deno.test(`${wire}: hostile requests are read as zod reads them`, () => {
    fc.assert(
      fc.property(bodies, (body) => {
        if (excessOf(body, JSON_LIMITS)) return;
        let value: unknown;
        try {
          value = parseExactly(body);
        } catch {
          return;
        }
        for (const one of Object.values(SCHEMAS)) compare(one, value, isLeft(body));
      }),
      { seed: 1, numRuns: 400 },
    );
  });
}

for (const [wire, schema] of Object.entries(ANSWERS)) {
  const answers = loadFixtures(wire).filter(isOk).flatMap(({ response: { json } }) => isJsonObject(json) ? [json] : []);

  Deno.test(`${wire}: every recorded answer is read as zod reads it, without zod`, () => {
    assert(answers.length > 3);
    for (const answer of answers) compare(schema, answer);
  });

  Deno.test(`${wire}: an answer with one value in the place of another is read as zod reads it`, () => {
    for (const answer of answers.slice(0, 40)) {
      // What a schema catches is left to zod.
      for (const other of OTHERS) for (const changed of changedOnce(answer, other)) compare(schema, changed, true);
    }
  });
}

/** The value with `other` in each of its places, one at a time, and without each of its fields. */
function* changedOnce(value: unknown, other: unknown): Generator<unknown> {
  yield other;
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) for (const one of changedOnce(item, other)) yield value.with(at, one);
  } else if (isJsonObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      const { [key]: _, ...rest } = value;
      yield rest;
      for (const one of changedOnce(item, other)) yield { ...value, [key]: one };
    }
  }
}

Deno.test("What is not known is left to zod", () => {
  const value = { a: "x" };
  for (const schema of [z.object({ a: z.string() }), z.looseObject({ a: z.email() }), z.looseObject({ a: z.date() })]) {
    assertEquals(readAs(schema, value), REFUSED);
  }
  assertEquals(readAs(z.looseObject({ a: z.string() }), JSON.parse('{"a":"x","__proto__":{}}')), REFUSED);
});

Deno.test("A value that is right is not copied", () => {
  const body = { model: "m", messages: [{ role: "user", content: [{ type: "text", text: "a" }] }], unknown: { b: [] } };
  assertEquals(readAs(chat, body) === body, true);
});

Deno.test("Of a value that is prepared, only what is on the way to it is copied", () => {
  const call = { id: "1", function: { name: "f", arguments: "{}" } };
  const user = { role: "user", content: "a" };
  const body = { model: "m", messages: [user, { role: "assistant", tool_calls: [call] }] };
  const read = readAs(chat, body) as typeof body;
  assertEquals(read.messages[0] === user, true);
  assertEquals(read.messages[1], { role: "assistant", tool_calls: [{ ...call, type: "function" } as typeof call] });
  assertEquals("type" in call, false);
});
