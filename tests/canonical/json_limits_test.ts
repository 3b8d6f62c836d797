import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  excessOf,
  JSON_LIMITS,
  type JsonLimits,
  type Scan,
  scan,
  scanShort,
  SHORT_TEXT,
} from "../../src/canonical/json_limits.ts";
import { law } from "../support/law.ts";

Deno.test("others have a turn within a long number, a long blank and a long text", () => {
  for (
    const text of [
      `[1${" ".repeat(10_000_000)}]`,
      `[1${"\n\t".repeat(5_000_000)}]`,
      `[${"1".repeat(10_000_000)}]`,
      `["${'\\"'.repeat(5_000_000)}"]`,
      `["${"\\".repeat(10_000_000)}"]`,
    ]
  ) {
    let turns = 0;
    for (const work = scan(text, JSON_LIMITS); !work.next().done;) turns++;
    assert(turns >= 10, `${turns} turns`);
  }
});

Deno.test("others have a turn while the names of many fields are compared", () => {
  const text = `[${`{"name":"${"x".repeat(300)}"},`.repeat(30_000)}0]`;
  let [turns, step] = [0, undefined as IteratorResult<void, Scan> | undefined];
  for (const work = scan(text, JSON_LIMITS); !step?.done; step = work.next()) turns++;
  assertEquals(step.value.excess, undefined);
  // Each character is read twice: to count, and to compare.
  assert(turns >= 2 * Math.floor(text.length / 1_000_000), `${turns} turns`);
});

Deno.test("what comes after a long text is counted, wherever in its escapes a slice of a million characters ends", () => {
  for (let shift = 0; shift < 6; shift++) {
    const text = `["${"x".repeat(shift)}${'\\\\\\"'.repeat(500_000)}",[${"null,".repeat(9)}null],"[[["]`;
    // A list with a text, a list of ten, and a text.
    assertEquals(excessOf(text, { ...JSON_LIMITS, values: 14 }), undefined);
    assertEquals(excessOf(text, { ...JSON_LIMITS, values: 13 }), "values");
    assertEquals(excessOf(text, { ...JSON_LIMITS, depth: 2 }), undefined);
    assertEquals(excessOf(text, { ...JSON_LIMITS, depth: 1 }), "depth");
  }
});

Deno.test("a number that a double would change is noticed, wherever in it a slice of a million characters ends", () => {
  for (const number of ["12345678901234567890", "0.1234567890123456789", "10e400", "1234567890123e400"]) {
    for (let before = 1_000_000 - number.length - 1; before < 1_000_003; before++) {
      const work = scan(`[${" ".repeat(before - 1)}${number},1]`, JSON_LIMITS);
      let step = work.next();
      while (!step.done) step = work.next();
      assert(step.value.hasLongNumbers, `${number} after ${before} characters`);
    }
  }
});

const TEXTS = fc.array(
  fc.oneof(
    fc.constantFrom(...'[]{}":,\\n', " ", '\\"', "true", "null", "1e9", "12345678901234567", "-0.5", '"a":', '"b" :'),
    fc.string({ maxLength: 4 }),
  ),
  { maxLength: 40 },
).map((parts) => parts.join(""));

const LIMITS = fc.record({
  depth: fc.integer({ min: 1, max: 4 }),
  values: fc.integer({ min: 1, max: 12 }),
  numbers: fc.integer({ min: 1, max: 4 }),
  names: fc.integer({ min: 1, max: 3 }),
});

function scanned(text: string, limits: JsonLimits): Scan {
  for (const work = scan(text, limits);;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

law("a short text is scanned at once as a long one is in slices", fc.tuple(TEXTS, LIMITS), ([text, limits]) => {
  // White space counts for nothing, and makes a text long.
  assertEquals(scanShort(text, limits), scanned(" ".repeat(SHORT_TEXT) + text, limits));
});
