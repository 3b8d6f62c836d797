import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { z } from "zod";
import { protocols } from "../../plugins/mod.ts";
import { formatPath, validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { newContext } from "../support/context.ts";
import { assertCheap } from "../support/cost.ts";

const part = z.union([
  z.discriminatedUnion("type", [
    z.looseObject({ type: z.literal("text"), text: z.string() }),
    z.looseObject({ type: z.literal("image_url"), image_url: z.looseObject({ url: z.string() }) }),
  ]),
  z.looseObject({ type: z.string().refine((type) => !["text", "image_url"].includes(type), { abort: true }) }),
]);
const schema = z.looseObject({
  model: z.string(),
  temperature: z.number().nullish(),
  messages: z.array(z.looseObject({ content: z.union([z.string(), z.array(part)]) })).min(1),
});

const refuse = (value: unknown): GatewayError => assertThrows(() => validate(schema, value), GatewayError);
const user = (content: unknown) => ({ model: "m", messages: [{ content: "a" }, { content }] });

Deno.test("what fits comes back with all its fields", () => {
  const value = { ...user([{ type: "text", text: "a", more: 1 }, { type: "new", thing: 2 }]), other: [3] };
  assertEquals<unknown>(validate(schema, value), value);
});

Deno.test("the field that is wrong is named by its path", () => {
  const cases: [value: unknown, param: string][] = [
    [{ messages: [{ content: "a" }] }, "model"],
    [{ model: 1, messages: [{ content: "a" }] }, "model"],
    [{ model: "m" }, "messages"],
    [{ model: "m", messages: [] }, "messages"],
    [{ model: "m", messages: "a" }, "messages"],
    [{ ...user("b"), temperature: "hot" }, "temperature"],
    [user(7), "messages[1].content"],
    [user(undefined), "messages[1].content"],
    [user([{ type: "text" }]), "messages[1].content[0].text"],
    [
      user([{ type: "text", text: "a" }, { type: "image_url", image_url: "https://x" }]),
      "messages[1].content[1].image_url",
    ],
    [user([{ type: "image_url", image_url: {} }]), "messages[1].content[0].image_url.url"],
    [user([{ text: "a" }]), "messages[1].content[0].type"],
  ];
  for (const [value, param] of cases) {
    const error = refuse(value);
    assertEquals(error.code, "invalid_request");
    assertEquals(error.details.param, param, JSON.stringify(value));
    assertMatch(error.message, /^Invalid value at ".+": ./);
    assertEquals(error.message.includes(`"${param}"`), true);
  }
});

Deno.test("a value that is no object at all has no path", () => {
  for (const value of [undefined, null, "text", []]) {
    const error = refuse(value);
    assertEquals(error.details.param, undefined);
    assertMatch(error.message, /object/);
  }
});

Deno.test("paths are written as one would in code", () => {
  assertEquals(formatPath(["messages", 0, "content", 12, "image_url", "url"]), "messages[0].content[12].image_url.url");
  assertEquals(formatPath([]), "");
});

const FIELD = { chat: "messages", messages: "messages", responses: "input" } as const;
type Wire = keyof typeof FIELD;

/** A protocol's reader of request bodies. */
function readerOf(wire: Wire): (body: object) => unknown {
  const { parse } = protocols.find(({ name }) => name === wire)!;
  const rest = { headers: new Headers(), params: {}, query: new URLSearchParams() };
  return (body) => parse({ body: { model: "m", max_tokens: 9, ...body }, ...rest }, newContext(wire));
}

const TURN = { role: "user", content: "a" };
const TURNS_THAT_ARE_NONE = [{}, null, 1, { role: "user", content: 1 }];
const PARTS_THAT_ARE_NONE = [{}, { type: "text" }];
/** Tools, and parts that only one of the wires knows. */
const TOOLS_THAT_ARE_NONE: Record<Wire, object[]> = {
  chat: [{}, { name: "" }, { type: "function", name: "" }, { type: "custom", custom: { name: "" } }],
  messages: [{}, { name: "" }, { type: "custom" }],
  responses: [{}, { type: "function", name: "" }, { type: "custom", name: "" }],
};
const OWN_PARTS: Record<Wire, object[]> = {
  chat: [{ type: "image_url" }],
  messages: [{ type: "image" }, { type: "tool_result" }],
  responses: [{ type: "input_image" }, { type: "input_file" }],
};

for (const wire of Object.keys(FIELD) as Wire[]) {
  const read = readerOf(wire);
  const field = FIELD[wire];
  const many = (item: unknown) => Array.from({ length: 190_000 }, () => item);

  Deno.test(`${wire}: of a body of nothing but mistakes the first is told, and nobody looks for the others`, async () => {
    const bodies = [
      ...TURNS_THAT_ARE_NONE.map((turn) => ({ [field]: many(turn) })),
      ...[...PARTS_THAT_ARE_NONE, ...OWN_PARTS[wire]].map((part) => ({ [field]: [{ ...TURN, content: many(part) }] })),
      ...TOOLS_THAT_ARE_NONE[wire].map((tool) => ({ [field]: [TURN], tools: many(tool) })),
    ];
    for (const body of bodies) {
      const { message } = assertThrows(() => read(body), GatewayError);
      assertMatch(message, /^Invalid value at "\w+\[0\]/);
      await assertCheap(1, () => assertThrows(() => read(body)));
    }
  });
}
