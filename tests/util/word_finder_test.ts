/** Words are found in one pass wherever they stand in a text, however they overlap, and wherever it is cut into slices. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { runUnsliced } from "../../src/util/sliced_work.ts";
import { NOTHING_READ, WordFinder } from "../../src/util/word_finder.ts";
import { law } from "../support/law.ts";

const finderOf = (words: readonly string[]) => runUnsliced(WordFinder.of(words));

function placesIn(text: string, words: readonly string[], length = text.length || 1): number[] {
  const finder = finderOf(words);
  const places: number[] = [];
  let state = NOTHING_READ;
  for (let at = 0; at < text.length; at += length) {
    state = finder.find(text, at, Math.min(at + length, text.length), state, places);
  }
  const begun = words.flatMap((word) => word.split("").map((_, at) => word.slice(0, at + 1)))
    .filter((one) => text.endsWith(one)).map((one) => one.length);
  assertEquals(finder.lengthOf(state), Math.max(0, ...begun));
  return places;
}

/** Each word at each place, one by one; those that overlap are one place. */
function expectedIn(text: string, words: readonly string[]): number[] {
  const found: [number, number][] = [];
  for (let at = 0; at < text.length; at++) {
    for (const word of words) if (text.startsWith(word, at)) found.push([at, at + word.length]);
  }
  const places: [number, number][] = [];
  for (const [begin, end] of found.sort(([a], [b]) => a - b)) {
    const last = places.at(-1);
    if (last && begin < last[1]) last[1] = Math.max(last[1], end);
    else places.push([begin, end]);
  }
  return places.flat();
}

const letters = fc.constantFrom("a", "b", "c", "和", "…");
const word = fc.oneof(
  fc.array(letters, { minLength: 1, maxLength: 6 }).map((one) => one.join("")),
  fc.string({ minLength: 1, maxLength: 5 }),
  fc.constantFrom("abcabcabd", "bcabd", "aaaaaaaaaa", "aaaab"),
);
const input = fc.tuple(
  fc.array(word, { maxLength: 8 }),
  fc.array(fc.oneof(word, letters), { maxLength: 40 }),
  fc.nat(9),
);
law("words are found as if each was looked for at each place", input, ([words, pieces, length]) => {
  const text = pieces.join("");
  const expected = expectedIn(text, words);
  assertEquals(placesIn(text, words), expected);
  assertEquals(placesIn(text, words, length + 1), expected);
});

const long = fc.integer({ min: 8, max: 60 }).chain((length) => fc.string({ minLength: length, maxLength: length }));
const planted = fc.tuple(fc.array(long, { minLength: 1, maxLength: 20 }), fc.array(fc.nat(), { maxLength: 30 }));
law("long words are found between what is no word", planted, ([words, picks]) => {
  const text = picks.map((pick) => pick % 3 === 0 ? words[pick % words.length]! : "text ".repeat(pick % 20)).join("-");
  assertEquals(placesIn(text, words, 50), expectedIn(text, words));
});

Deno.test("a finder of very many words is made in slices", () => {
  const words = Array.from({ length: 2_000 }, (_, index) => `secret-${index * 7919}-with-a-tail`);
  let turns = 0;
  for (const work = WordFinder.of(words); !work.next().done;) turns++;
  assert(turns >= 10, `${turns} turns`);
});
