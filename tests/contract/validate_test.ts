import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { z } from "zod";
import { formatPath, validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";

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
  assertEquals(validate(schema, value), value);
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
