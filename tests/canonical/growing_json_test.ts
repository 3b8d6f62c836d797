/** A text that comes in pieces: when it is JSON, told without reading it again. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { OpenCalls } from "../../plugins/chat/open_calls.ts";
import type { GenerateEvent } from "../../src/canonical/generate.ts";
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

Deno.test("growing json: what is blank in JSON is blank, and nothing else", () => {
  for (const blank of [" ", "\n", "\r", "\t", "\v", "\u00a0", "\ufeff"]) {
    for (const text of [`${blank}{}`, `{${blank}}`, `{}${blank}`, `[1${blank}]`, `${blank}"a"${blank}`]) {
      assertEquals(GrowingJson.of(text).isComplete(text), isJsonText(text), JSON.stringify(text));
    }
  }
});

const PIECES = 500;

Deno.test("growing json: a text is parsed once, whatever is added to it and however often it is asked about", () => {
  const cases = [["{}", " "], ["{]", "}"], ["{]", " "], ["[1,]", " "], ['{"a":', "1"], ["", "[]"]] as const;
  for (const [first, more] of cases) {
    const growing = GrowingJson.of(first);
    let text: string = first;
    const count = parsed(() => {
      for (let at = 0; at < PIECES; at++) {
        growing.isComplete(text);
        growing.add(more);
        text += more;
      }
    });
    assert(count <= 1, `${count} times: ${text.slice(0, 20)}`);
  }
  const digits = GrowingJson.of("1");
  const count = parsed(() => {
    for (let length = 1; length < 2 * PIECES; length++) {
      digits.isComplete("1".repeat(length));
      digits.add("1");
    }
  });
  assert(count < PIECES, `${count} times a number`);
});

Deno.test("growing json: a call is known to be over when its last piece comes, though it was asked about before", () => {
  const writer = new PartWriter({ messages: [] });
  writer.toolCall("0", { name: "f", input: '{"a":{}' });
  assertEquals(writer.text("x"), []);
  writer.toolCall("0", { name: "f", input: "}" });
  assertEquals(textsOf(writer.text("y")), ["x", "y"]);
  writer.toolCall("1", { name: "f", input: `{}${" ".repeat(50)}` });
  assertEquals(textsOf(writer.text("z")), ["z"]);
  const custom = new PartWriter({ messages: [], tools: [{ type: "custom", name: "f" }] });
  assertEquals(custom.toolCall("0", { name: "f", input: '{"input":"a\\"}' }), []);
  assertEquals(textsOf(custom.toolCall("0", { name: "f", input: '"}' })), ['a"}']);
});

function textsOf(events: readonly GenerateEvent[]): string[] {
  return events.flatMap((event) => event.type === "part-delta" ? event.delta.text : []);
}

Deno.test("growing json: of a call that has all its arguments, its name alone begins no other one, and another name does", () => {
  const calls = new OpenCalls();
  const keyOf = (name: string, args: string) => calls.read({ index: 0, function: { name, arguments: args } })!.key;
  const key = keyOf("f", "{}");
  assertEquals(keyOf("f", ""), key);
  assert(keyOf("g", "") !== key);
});

Deno.test("growing json: an upstream cannot make the gateway read a call's arguments once for each of its pieces", () => {
  const name = "f";
  const fragments = ['{"a":"', ...Array<string>(PIECES).fill('\\"}'), '"}'];
  let named = 0;
  const read = charactersRead(() => {
    named = parsed(() => {
      const calls = new OpenCalls();
      const keys = fragments.map((args) => calls.read({ index: 0, function: { name, arguments: args } })?.key);
      assertEquals(new Set(keys).size, 1);
      const other = calls.read({ index: 0, function: { name, arguments: "{" } });
      assert(other?.key !== keys[0], "the next one is another call");
    });
  });
  assert(named <= 2, `${named} times in a call that is named with each piece`);
  assert(read <= 2 * fragments.join("").length, `${read} characters of a call that is named with each piece`);
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

/** How many characters are looked at for the end of JSON. */
function charactersRead(run: () => void): number {
  const { add } = GrowingJson.prototype;
  let count = 0;
  GrowingJson.prototype.add = function (piece) {
    count += piece.length;
    add.call(this, piece);
  };
  try {
    run();
  } finally {
    GrowingJson.prototype.add = add;
  }
  return count;
}

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
