/** Patterns that a model writes, matched without going back. */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { LinearPattern, PatternError } from "../../src/hosted/linear_pattern.ts";
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

const occurs = (source: string, within: string) => new LinearPattern(source).occursIn(within, { steps: 1_000_000 });

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
    new LinearPattern(source).occursIn(`${long}!`, budget);
    assertEquals(budget.steps > 0, true, source);
  }
  assertThrows(() => new LinearPattern("(a{1,20}){1,15}b").occursIn(long, { steps: 1_000 }), PatternError, "steps");
});

law("linear patterns: any text is a pattern or an error of its own", fc.string({ maxLength: 40 }), (source) => {
  try {
    occurs(source, "get_weather");
  } catch (thrown) {
    if (!(thrown instanceof PatternError)) throw thrown;
  }
});
