import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { GatewayError } from "../../src/errors.ts";
import {
  cutText,
  DirectSeam,
  overlapOf,
  QuotedSeam,
  quoteOf,
  RepeatedSeam,
  type Seam,
} from "../../src/transforms/seam.ts";
import { law } from "../support/law.ts";

/** Everything that a seam lets through of these pieces. */
function passed(seam: Seam, ...pieces: string[]): string {
  return pieces.map((piece) => seam.take(piece)).join("") + seam.end();
}

const each = (text: string) => [...text].flatMap((character) => character.split(""));

Deno.test("seam: blank space at the end, and half a character, are left for the model to write again", () => {
  for (
    const [shown, sent, again] of [
      ["word", "word", ""],
      ["word \n", "word", " \n"],
      ["word \ud83d", "word", " \ud83d"],
      ["word\ud83d", "word", "\ud83d"],
      ["😀", "😀", ""],
      [" \n", "", " \n"],
    ] as const
  ) assertEquals(cutText(shown), { sent, again });
});

Deno.test("seam: whatever blank space a template makes of it, there is that which was shown", () => {
  for (
    const [again, rest, expected] of [
      ["", " next", " next"],
      [" ", " next", "next"],
      [" ", "next", "next"],
      [" ", "\nnext", "next"],
      ["\n", "\n\nnext", "\nnext"],
      ["\n\n", "\nnext", "next"],
      [" \ud83d", " 😀!", "\ude00!"],
      ["\ud83d", "😀", "\ude00"],
      [" ", " ", ""],
      [" ", "", ""],
    ] as const
  ) {
    assertEquals(passed(new DirectSeam(again), rest), expected, JSON.stringify([again, rest]));
    assertEquals(passed(new DirectSeam(again), ...each(rest)), expected, JSON.stringify([again, rest]));
  }
});

Deno.test("seam: another character in place of the half one does not fit", () => {
  assertThrows(() => passed(new DirectSeam("\ud83d"), "x"), GatewayError, "does not fit");
  assertThrows(() => passed(new DirectSeam("\ud83d"), "x"[0]!, ""), GatewayError);
});

Deno.test("seam: a turn that is repeated is left out, once, and only all of it", () => {
  const cut = cutText("One answer, whatever ");
  for (const isUnsure of [false, true]) {
    assertEquals(passed(new RepeatedSeam(cut, isUnsure), ...each("One answer, whatever breaks")), "breaks");
    assertEquals(passed(new RepeatedSeam(cut, isUnsure), ...each(" breaks")), "breaks");
    assertEquals(passed(new RepeatedSeam(cut, isUnsure), "One more"), "One more");
    assertThrows(
      () => passed(new RepeatedSeam(cut, isUnsure), "One answer, whatever".slice(0, 18) + "?"),
      GatewayError,
    );
  }
  assertEquals(passed(new RepeatedSeam(cutText("ha"), true), "hab"), "hab");
  assertEquals(passed(new RepeatedSeam(cutText("ha"), false), "hab"), "b");
});

Deno.test("seam: the last words that a model is asked to repeat begin with a word, and are no more than it can copy", () => {
  assertEquals(quoteOf("Short"), "Short");
  const quote = quoteOf(`${"word ".repeat(50)}and the end`);
  assertEquals([quote.length <= 40, quote.startsWith("word "), quote.endsWith("and the end")], [true, true, true]);
  assertEquals(quoteOf("x".repeat(100)).length, 40);
  assertEquals(quoteOf("😀".repeat(50)).isWellFormed(), true);
});

Deno.test("seam: the repeated words are found in quotation marks, other spaces and pieces; else the longest overlap counts", () => {
  const shown = "He said “it’s done” and the code\nis in main.ts";
  for (
    const rest of [
      `${quoteOf(shown)} now.`,
      `"${quoteOf(shown).replaceAll("\n", " ")} now.`,
      `\n\n${quoteOf(shown).replaceAll("’", "'").replaceAll("“", '"').replaceAll("”", '"')} now.`,
      "is in main.ts now.",
    ]
  ) {
    assertEquals(passed(new QuotedSeam(shown), rest), " now.", rest);
    assertEquals(passed(new QuotedSeam(shown), ...each(rest)), " now.", rest);
  }
  assertThrows(() => passed(new QuotedSeam(shown), "Something else altogether"), GatewayError);
});

Deno.test("seam: a paragraph that a model begins amid a sentence is a space, but not in code", () => {
  assertEquals(passed(new QuotedSeam("It goes on and"), "It goes on and\n\nends."), " ends.");
  const code = "Here:\n```ts\nconst one = 1";
  assertEquals(passed(new QuotedSeam(code), `${quoteOf(code)}\n\nconst two`), "\n\nconst two");
});

Deno.test("seam: a model that writes the same for ever costs no more than its length", () => {
  // Quadratic time would be minutes.
  const long = 500_000;
  const inPieces = (text: string) => text.match(/.{1,50}/gs)!;
  const [newlines, spaces, words] = ["\n".repeat(long), " ".repeat(long), "ha ".repeat(long)];
  assertEquals(passed(new QuotedSeam("It goes on and"), `It goes on and${newlines}`), newlines);
  assertEquals(passed(new QuotedSeam(`A${newlines}It goes on and`), "It goes on and\n\nends."), " ends.");
  assertThrows(() => passed(new QuotedSeam("\n\nHi"), spaces), GatewayError);
  assertEquals(overlapOf(`${words}b`, words), 0);
  assertEquals(overlapOf(`b${words}`, `${words}b`), words.length);
  assertEquals(passed(new DirectSeam("\n"), ...inPieces(spaces)), "");
  assertEquals(passed(new RepeatedSeam(cutText(words), true), ...inPieces(`${words}and ends.`)), "and ends.");
});

law(
  "seam: the overlap is the longest one",
  fc.record({ shown: fc.stringMatching(/^[ab ]{0,12}$/), text: fc.stringMatching(/^[ab ]{0,12}$/) }),
  ({ shown, text }) => {
    const length = overlapOf(shown, text);
    assertEquals(shown.endsWith(text.slice(0, length)), true);
    for (let longer = length + 1; longer <= Math.min(shown.length, text.length); longer++) {
      assertEquals(shown.endsWith(text.slice(0, longer)), false);
    }
  },
);

law(
  "seam: a model that repeats its last words as it was asked to loses no character, wherever it was cut",
  fc.record({
    text: fc.array(fc.constantFrom("word", " ", "\n", "it’s", "😀", "a", ", ", "```\n"), {
      minLength: 3,
      maxLength: 40,
    })
      .map((words) => `A${words.join("")}z`),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  ({ text, at }) => {
    const cut = Math.max(1, Math.floor(at * (text.length - 1)));
    const shown = text.slice(0, cut);
    const quote = quoteOf(shown);
    if (!shown.isWellFormed() || /^[\s"'`]/.test(quote)) return;
    const { sent } = cutText(shown);
    const rest = quote + text.slice(sent.length);
    const whole = shown + passed(new QuotedSeam(shown), ...each(rest));
    // A paragraph amid a sentence becomes a space, which this model does not mean.
    assertEquals(whole.replaceAll(/\s+/g, " "), text.replaceAll(/\s+/g, " "));
  },
);
