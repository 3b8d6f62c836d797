/** Compiled schemas read values as zod does without its compiler, and refuse the others for the same reasons. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { z } from "zod";
import { answerSchema as chatAnswer, requestSchema as chat } from "../../plugins/chat/wire.ts";
import { requestSchema as messages, responseSchema as messagesAnswer } from "../../plugins/messages/wire.ts";
import { requestSchema as responses, responseSchema as responsesAnswer } from "../../plugins/responses/wire.ts";
import { isJsonObject } from "../../src/canonical/json.ts";
import { excessOf, JSON_LIMITS } from "../../src/canonical/json_limits.ts";
import { parseExactly } from "../../src/canonical/raw_number.ts";
import { checkerOf, compileSchemas } from "../../src/contract/compiled.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { isOk, loadFixtures } from "../support/fixtures.ts";
import { HOSTILE_BODIES } from "../support/hostile_requests.ts";

const SCHEMAS = { chat, messages, responses };
const ANSWERS = { chat: chatAnswer, messages: messagesAnswer, responses: responsesAnswer };
/** As `validate` asks for it. */
const ABORT_EARLY = { abortEarly: true } as z.core.ParseContext<z.core.$ZodIssue>;
const OTHERS = [null, 0, -1.5, "", "function", true, [], {}, { type: "text" }, [null]];

const atOnce = () => Promise.resolve();
const compiled = new Map<z.ZodType, z.ZodType>();

for (const schema of [...Object.values(SCHEMAS), ...Object.values(ANSWERS)]) {
  // If the compiler could not model a schema, it would throw here.
  compiled.set(schema, z.compile(schema, { strict: true }));
}

function compare(schema: z.ZodType, value: unknown): void {
  const before = JSON.stringify(value);
  const actual = compiled.get(schema)!.safeParse(freeze(value), ABORT_EARLY);
  const expected = schema.safeParse(value, ABORT_EARLY);
  assertEquals(JSON.stringify(value), before);
  // As text, because the order of the keys matters.
  assertEquals(JSON.stringify(actual.data), JSON.stringify(expected.data));
  assertEquals(actual.error?.issues, expected.error?.issues);
}

function freeze(value: unknown): unknown {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
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
        for (const one of Object.values(SCHEMAS)) compare(one, value);
      }),
      { seed: 1, numRuns: 400 },
    );
  });
}

for (const [wire, schema] of Object.entries(ANSWERS)) {
  const answers = loadFixtures(wire).filter(isOk).flatMap(({ response: { json } }) => isJsonObject(json) ? [json] : []);

  Deno.test(`${wire}: every recorded answer is read as zod reads it`, () => {
    assert(answers.length > 3);
    for (const answer of answers) compare(schema, answer);
  });

  Deno.test(`${wire}: an answer with one value in the place of another is read as zod reads it`, () => {
    for (const answer of answers.slice(0, 40)) {
      for (const other of OTHERS) for (const changed of changedOnce(answer, other)) compare(schema, changed);
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

for (const [wire, schema] of Object.entries(SCHEMAS)) {
  const valid = loadFixtures(wire).map(({ request }) => request.body).find(isJsonObject)!;

  Deno.test(`${wire}: unusual objects are read as zod reads them`, () => {
    compare(
      schema,
      JSON.parse(`{"__proto__":{"model":"x"},"model":${JSON.stringify(valid.model)},"messages":[],"input":"a"}`),
    );
    compare(schema, JSON.parse('{"model":"a","model":"m","constructor":1,"hasOwnProperty":null,"toString":{}}'));
    compare(schema, { ...valid, ...Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at])) });
    compare(schema, { ...valid, metadata: JSON.parse("[".repeat(1_000) + "]".repeat(1_000)) });
    compare(schema, Object.assign(Object.create({ model: "inherited" }), valid));
    compare(schema, Object.create(valid));
    assertEquals(({} as { model?: unknown }).model, undefined);
  });

  Deno.test(`${wire}: a field that is read by a function is read as zod reads it`, () => {
    const getter = () => Object.defineProperty({ ...valid }, "model", { enumerable: true, get: () => "m" });
    assertEquals(compiled.get(schema)!.safeParse(getter()).data, schema.safeParse(getter()).data);
  });
}

Deno.test("a schema is compiled once nobody asks, after its first use; others wait their turn", async () => {
  const [a, b] = [z.looseObject({ a: z.string() }), z.looseObject({ b: z.string() })];
  const turns: (() => void)[] = [];
  const compiler = compileSchemas(() => new Promise((resolve) => turns.push(() => resolve(undefined))));
  const isCompiled = (schema: z.ZodType) => checkerOf(schema) !== schema;
  try {
    for (let times = 0; times < 2; times++) {
      assertEquals(validate(a, { a: "x" }), { a: "x" });
      assertEquals(validate(b, { b: "x" }), { b: "x" });
    }
    await Promise.resolve();
    assertEquals([turns.length, isCompiled(a), isCompiled(b)], [1, false, false]);
    turns[0]!();
    while (turns.length < 2) await Promise.resolve();
    assertEquals([isCompiled(a), isCompiled(b)], [true, false]);
    turns[1]!();
    await compiler.done;
    assertEquals([turns.length, isCompiled(a), isCompiled(b)], [2, true, true]);
    assertEquals(validate(a, { a: "x", more: [1] }), { a: "x", more: [1] });
    const refused = assertThrows(() => validate(a, { a: 1 }), GatewayError);
    assertEquals(refused.message, 'Invalid value at "a": expected string, received 1');
  } finally {
    compileSchemas(atOnce);
  }
});

Deno.test("schemas that are made without end are not all compiled", async () => {
  const compiler = compileSchemas(atOnce);
  const schemas = Array.from({ length: 300 }, () => z.looseObject({ a: z.string() }));
  for (const schema of schemas) validate(schema, { a: "x" });
  await compiler.done;
  assertEquals(schemas.filter((schema) => checkerOf(schema) !== schema).length, 200);
  assertEquals(validate(schemas.at(-1)!, { a: "x", b: 1 }), { a: "x", b: 1 });
});

Deno.test("where no code may be made from text, zod interprets", async () => {
  const url = (path: string) => JSON.stringify(new URL(`../../src/contract/${path}`, import.meta.url).href);
  const code = `
    import { z } from "zod";
    import { checkerOf, compileSchemas } from ${url("compiled.ts")};
    import { validate } from ${url("validate.ts")};
    const schema = z.looseObject({ a: z.string() });
    const compiler = compileSchemas(() => Promise.resolve());
    validate(schema, { a: "x" });
    await compiler.done;
    console.log(checkerOf(schema) === schema, JSON.stringify(validate(schema, { b: 1, a: "x" })));
  `;
  const config = new URL("../deno.json", import.meta.url).pathname;
  const args = ["eval", "--config", config, "--v8-flags=--disallow-code-generation-from-strings", code];
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, stdin: "null" }).output();
  const [said, complaint] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes).trim());
  assertEquals(said, 'true {"a":"x","b":1}', complaint);
});
