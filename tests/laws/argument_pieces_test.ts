import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { GenerateEvent } from "../../src/canonical/generate.ts";
import { PartWriter } from "../../src/transforms/part_writer.ts";
import { law } from "../support/law.ts";

/** Objects that resemble themselves: few names, which look like JSON, and much nesting. */
const { object } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(1, 11, true, null, "", "{", '{"', '{"a":', '"', "\\", "a"),
    tie("object"),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
  object: fc.dictionary(fc.constantFrom("", "a", "{", '{"a', '{"', '":{', "\\"), tie("value"), { maxKeys: 3 }),
}));

/** The text of an object, and where it is cut: at most everywhere. */
const cuts = fc.tuple(
  fc.oneof(object.map((value) => JSON.stringify(value)), fc.object().map((value) => JSON.stringify(value))),
  fc.infiniteStream(fc.boolean()),
);

function piecesOf(text: string, isCut: Iterator<boolean>): string[] {
  const pieces = [""];
  for (const character of text) {
    if (pieces.at(-1) !== "" && isCut.next().value) pieces.push("");
    pieces[pieces.length - 1] += character;
  }
  return pieces;
}

/** What goes out of a call whose arguments come in these pieces. */
function deltasOf(pieces: readonly string[]): string[] {
  const writer = new PartWriter({ messages: [] });
  const events: GenerateEvent[] = [
    ...pieces.flatMap((input) => writer.toolCall("0", { id: "call_1", name: "look", input })),
    ...writer.finish({ reason: "tool-calls" }, { inputTokens: 1, outputTokens: 1 }),
  ];
  return events.flatMap((event) => event.type === "part-delta" ? [event.delta.text] : []);
}

law("arguments that come in pieces come out as they are, wherever they are cut", cuts, ([text, isCut]) => {
  assertEquals(deltasOf(piecesOf(text, isCut)).join(""), text);
});

law("arguments that come as all so far come out once, wherever they are cut", cuts, ([text, isCut]) => {
  const pieces = piecesOf(text, isCut);
  const grown = pieces.map((_, index) => pieces.slice(0, index + 1).join(""));
  assertEquals(deltasOf(grown).join(""), text);
});
