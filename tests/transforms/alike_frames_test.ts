import { assertEquals } from "@std/assert";
import { AlikeFrames } from "../../src/transforms/alike_frames.ts";

/** What is found in the last frame, once the others were read with their texts. */
function found(learned: readonly [json: string, text: string | undefined][], json: string): string | undefined {
  const alike = new AlikeFrames();
  for (const [json, text] of learned) alike.learn(json, text);
  return alike.textIn(json);
}

const CASES: Record<string, [learned: [string, string | undefined][], json: string, found: string | undefined]> = {
  "two alike, and a third": [[['{"t":"a"}', "a"], ['{"t":"b"}', "b"]], '{"t":"c\\"\\u00e9\\n"}', 'c"é\n'],
  "one is not enough": [[['{"t":"a"}', "a"]], '{"t":"b"}', undefined],
  "another shape": [[['{"t":"a"}', "a"], ['{"t":"b"}', "b"]], '{"t":"c","u":1}', undefined],
  "one that brings more in between": [
    [['{"t":"a"}', "a"], ['{"t":"b"}', "b"], ['{"end":1}', undefined]],
    '{"t":"c"}',
    undefined,
  ],
  "no text in its place": [[['{"t":"a"}', "a"], ['{"t":"b"}', "b"]], '{"t":1}', undefined],
  "more than a text in its place": [[['{"t":"a"}', "a"], ['{"t":"b"}', "b"]], '{"t":"c","t":"d"}', undefined],
  "a text that is cut off": [[['{"t":"a"}', "a"], ['{"t":"b"}', "b"]], '{"t":"c}', undefined],
  "less than what stands around": [[['{"t":"a"}', "a"], ['{"t":"b"}', "b"]], '{"t":"}', undefined],
  "the text stands twice": [[['{"u":"a","t":"a"}', "a"], ['{"u":"a","t":"a"}', "a"]], '{"u":"b","t":"a"}', undefined],
  "the text is spelled in another way": [
    [['{"u":"a","t":"\\u0061"}', "a"], ['{"u":"a","t":"\\u0061"}', "a"]],
    '{"u":"b","t":"\\u0061"}',
    undefined,
  ],
};

for (const [what, [learned, json, expected]] of Object.entries(CASES)) {
  Deno.test(`alike frames: ${what}`, () => assertEquals(found(learned, json), expected));
}

Deno.test("alike frames: a stream whose frames all differ is not learned for ever, one that has alike frames is", () => {
  const [differing, alike] = [new AlikeFrames(), new AlikeFrames()];
  for (let at = 0; at < 30; at++) {
    differing.learn(`{"n":${at},"t":"a"}`, "a");
    for (const text of ["a", "b"]) alike.learn(`{"n":${at},"t":"${text}"}`, text);
    assertEquals(alike.textIn(`{"n":${at},"t":"c"}`), "c");
  }
  for (const text of ["a", "b"]) differing.learn(`{"n":30,"t":"${text}"}`, text);
  assertEquals(differing.textIn('{"n":30,"t":"c"}'), undefined);
});
