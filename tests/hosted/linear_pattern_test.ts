/** Patterns that a model writes, matched without going back. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { LinearPattern } from "../../src/hosted/linear_pattern.ts";
import { PatternError } from "../../src/hosted/pattern_syntax.ts";
import { runUnsliced } from "../../src/util/sliced_work.ts";
import { law } from "../support/law.ts";

const ATOMS = ["a", "b", ".", "[ab]", "[^a]", "[a-c]", "\\d", "\\w", "\\s", "(?:ab)", "(a|b)", "(?:|a)", "(b*)"];
const PLACES = ["^", "$", "\\b", "\\B"];
const QUANTIFIERS = ["", "*", "+", "?", "{2}", "{1,3}", "{0,}", "*?"];
const piece = fc.oneof(
  fc.tuple(fc.constantFrom(...ATOMS), fc.constantFrom(...QUANTIFIERS)).map((both) => both.join("")),
  fc.constantFrom(...PLACES, "|"),
);
const pattern = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
const text = fc.string({ unit: fc.constantFrom("a", "b", "C", "1", " "), maxLength: 10 });

const occurs = (source: string, within: string, budget = { steps: 1_000_000 }) =>
  runUnsliced(new LinearPattern(source).occursIn(within, budget));

law(
  "linear patterns find what the engine's own expressions find",
  fc.tuple(pattern, text, fc.boolean()),
  ([source, within, ignoresCase]) => {
    const wanted = new RegExp(source, ignoresCase ? "i" : "").test(within);
    assertEquals(occurs((ignoresCase ? "(?i)" : "") + source, within), wanted);
  },
);

Deno.test("linear patterns: names and escapes as in Python", () => {
  assertEquals(occurs("(?P<what>weather)_\\w+", "get_weather_now"), true);
  assertEquals(occurs("\\Aget\\.\\x41\\Z", "get.A"), true);
  assertEquals(occurs("a{x", "a{x"), true);
});

Deno.test("linear patterns: what cannot be matched so is refused, whatever it is", () => {
  for (
    const source of ["(", ")", "a)", "[a", "*", "a**", "(?=a)", "(?<!a)", "(a)\\1", "(?P=a)", "[b-a]", "\\", "a{3,2}"]
  ) {
    assertThrows(() => new LinearPattern(source), PatternError, undefined, source);
  }
  assertThrows(() => new LinearPattern("((a{99}){99}){99}"), PatternError, "repeats too much");
  assertThrows(() => new LinearPattern("a".repeat(201)), PatternError, "longer than");
});

Deno.test("linear patterns: none takes more steps than it may, and the usual traps take few", () => {
  const long = "a".repeat(4_000);
  for (const source of ["(a+)+$", "(a|a)*b", "(a*)*b", "(.*)*x", "^(a?){50}a{50}b", "(\\w+\\s?)*$"]) {
    const budget = { steps: 4_000_000 };
    occurs(source, `${long}!`, budget);
    assertEquals(budget.steps > 0, true, source);
  }
  assertThrows(() => occurs("(a{1,20}){1,15}b", long, { steps: 1_000 }), PatternError, "steps");
});

Deno.test("linear patterns: others may run after a bounded number of steps, however the pattern repeats", () => {
  const traps = ["((a?){14}){15}b", "(((a?){6}){6}){6}b", `(${"a|".repeat(9)}a){49}b`, `(${"|".repeat(180)}){900}b`];
  for (const source of traps) {
    const budget = { steps: 20_000_000 };
    const work = new LinearPattern(source).occursIn("a".repeat(500), budget);
    for (let before = budget.steps, isDone: boolean | undefined = false; !isDone; before = budget.steps) {
      isDone = work.next().done;
      assert(before - budget.steps <= 64 * 3_000, source);
    }
  }
  // These repeat nothing at all, more often than there are milliseconds in a year.
  assertEquals(occurs("(((){9999}){9999}){9999}a", "a"), true);
  assertThrows(() => new LinearPattern("(((^){9999}){9999}){9999}"), PatternError, "repeats too much");
});

Deno.test("linear patterns: all repetitions of a set ask it about a character once", () => {
  const real = String.prototype.toLowerCase;
  let folded = 0;
  String.prototype.toLowerCase = function () {
    folded++;
    return real.call(this);
  };
  try {
    occurs("(?i)[a-z]{0,400}!", "A".repeat(100));
  } finally {
    String.prototype.toLowerCase = real;
  }
  assert(folded < 1_000, String(folded));
});

law("linear patterns: any text is a pattern or an error of its own", fc.string({ maxLength: 40 }), (source) => {
  try {
    occurs(source, "get_weather");
  } catch (thrown) {
    if (!(thrown instanceof PatternError)) throw thrown;
  }
});
