/** Every answer of every fixture, on every wire, whole and streamed, is one that the vendors' own schemas take. */
import { assertEquals } from "@std/assert";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { type EmittedAnswer, emittedAnswers } from "../support/emitted_answers.ts";
import { streamSchema, WHOLE_SCHEMAS } from "../support/vendor_schemas.ts";
import { CLIENT_WIRES } from "../support/wires.ts";

/** What no schema has, by the fixture, on its own wire alone: what an upstream of a wire says rides through to its clients. */
const RIDES_THROUGH: Readonly<Record<string, RegExp>> = {
  "an-answer-with-a-block-of-an-unknown-kind": /content/,
  "streamed-block-of-an-unknown-kind": /content/,
  "an-item-of-an-unknown-kind-in-the-answer": /output|item/,
  "streamed-item-of-an-unknown-kind": /output|item/,
  // A word of a beta.
  "ended-by-compaction": /stop_reason/,
};

/** The vendor streams calls of custom tools, which its types of a chunk leave out; only who offers such a tool gets them. */
const CUSTOM_CALLS = /^choices\.0\.delta\.tool_calls\.\d+\.type$/;

function valuesOf({ frames }: EmittedAnswer): JsonObject[] {
  return frames.flatMap(({ data }) => {
    if (data === undefined || data === "[DONE]") return [];
    const value: unknown = JSON.parse(data);
    // In place of a chunk, a failure.
    return isJsonObject(value) && !(value.object === undefined && value.type === undefined) ? [value] : [];
  });
}

function faultsOf(answer: EmittedAnswer): string[] {
  const { fixture, from, to, whole } = answer;
  const read = [
    ...(whole ? WHOLE_SCHEMAS[to]!.safeParse(whole).error?.issues ?? [] : []),
    ...valuesOf(answer).flatMap((value) => streamSchema(to, value).safeParse(value).error?.issues ?? []),
  ];
  return read.map(({ path, message }) => ({ place: path.join("."), message }))
    .filter(({ place }) => !(from === to && RIDES_THROUGH[fixture]?.test(place)))
    .filter(({ place }) => !CUSTOM_CALLS.test(place))
    .map(({ place, message }) => `${from} to ${to}, ${fixture}: ${place}: ${message}`);
}

const answers = await Array.fromAsync(emittedAnswers());

for (const { name } of CLIENT_WIRES.filter(({ name }) => name in WHOLE_SCHEMAS)) {
  Deno.test(`${name}: every answer is one that the vendor's own schema takes`, () => {
    const emitted = answers.filter(({ to }) => to === name);
    assertEquals(emitted.length > 500, true, "There are answers");
    assertEquals(emitted.flatMap(faultsOf), []);
  });
}

Deno.test("schemas: what a schema does not take is found", () => {
  const chat = answers.find(({ to, whole }) => to === "chat" && whole)!.whole!;
  const spoilt = structuredClone(chat) as { choices: JsonObject[] };
  spoilt.choices[0]!.finish_reason = "pause_turn";
  assertEquals(WHOLE_SCHEMAS.chat!.safeParse(spoilt).success, false);
});
