/** A text that comes in pieces: when it is JSON, told without reading it again. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { OpenCalls } from "../../plugins/chat/open_calls.ts";
import { GrowingJson } from "../../src/canonical/growing_json.ts";
import { isJsonText } from "../../src/canonical/json.ts";
import { PartWriter } from "../../src/transforms/part_writer.ts";
import { law } from "../support/law.ts";

const json = fc.tuple(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, 1, "\t"))
  .map(([value, space]) => JSON.stringify(value, undefined, space));
const junk = fc.string({ unit: fc.constantFrom(...'{}[]"\\:,1-e. \n\ttrunl\u00a0\ufeff'), maxLength: 12 });
const texts = fc.array(fc.oneof(json, junk), { minLength: 1, maxLength: 3 }).map((parts) => parts.join(""));
const cuts = fc.array(fc.nat(), { maxLength: 8 });

law("growing json: after each piece it says what parsing all of it says", fc.tuple(texts, cuts), ([text, at]) => {
  const growing = new GrowingJson();
  let whole = "";
  for (const piece of piecesOf(text, at)) {
    growing.add(piece);
    whole += piece;
    assertEquals(growing.isComplete(whole), isJsonText(whole), JSON.stringify(whole));
  }
});

law("growing json: it need not be asked after each piece", fc.tuple(texts, cuts), ([text, at]) => {
  const growing = new GrowingJson();
  for (const piece of piecesOf(text, at)) growing.add(piece);
  assertEquals(growing.isComplete(text), isJsonText(text), JSON.stringify(text));
});

function piecesOf(text: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).toSorted((one, other) => one - other), text.length];
  return places.slice(1).map((place, at) => text.slice(places[at], place));
}

const PIECES = 500;

Deno.test("growing json: an upstream cannot make the gateway read a call's arguments once for each of its pieces", () => {
  const name = "f";
  const fragments = ['{"a":"', ...Array<string>(PIECES).fill('\\"}'), '"}'];
  const named = parsed(() => {
    const calls = new OpenCalls();
    const keys = fragments.map((args) => calls.read({ index: 0, function: { name, arguments: args } })?.key);
    assertEquals(new Set(keys).size, 1);
    assert(
      calls.read({ index: 0, function: { name, arguments: "{" } })?.key !== keys[0],
      "the next one is another call",
    );
  });
  assert(named <= 2, `${named} times in a call that is named with each piece`);
  const custom = parsed(() => {
    const writer = new PartWriter({ messages: [], tools: [{ type: "custom", name }] });
    for (const input of fragments) writer.toolCall("0", { id: "call_0", name, input });
  });
  assert(custom <= 4, `${custom} times in a custom tool's call`);
  const interrupted = parsed(() => {
    const writer = new PartWriter({ messages: [] });
    for (const input of fragments) {
      writer.toolCall("0", { id: "call_0", name, input });
      writer.text("x");
    }
  });
  assert(interrupted <= 2, `${interrupted} times in a call with text between its pieces`);
});

/** How often JSON is parsed. */
function parsed(run: () => void): number {
  const { parse } = JSON;
  let count = 0;
  JSON.parse = (...args: Parameters<typeof parse>) => {
    count++;
    return parse(...args);
  };
  try {
    run();
  } finally {
    JSON.parse = parse;
  }
  return count;
}
