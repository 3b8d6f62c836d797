/** How much JSON is in a text, told without making anything of it. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { JsonValue } from "../../src/canonical/json.ts";
import { excessOf } from "../../src/canonical/json_limits.ts";
import { law } from "../support/law.ts";

interface Count {
  depth: number;
  values: number;
  numbers: number;
  names: Set<string>;
}

/** The same, counted in what was made of the text. */
function countIn(value: JsonValue | undefined, count: Count, depth = 0): Count {
  if (typeof value === "number") count.numbers++;
  else count.values++;
  if (typeof value !== "object" || value === null) return count;
  count.depth = Math.max(count.depth, depth + 1);
  if (Array.isArray(value)) {
    for (const item of value) countIn(item, count, depth + 1);
  } else {
    for (const [name, inner] of Object.entries(value)) {
      count.values++;
      count.names.add(name);
      countIn(inner, count, depth + 1);
    }
  }
  return count;
}

const values = fc.tuple(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1, "\t"));

law("json: a text is within exactly the limits that its value is within", values, ([value, space]) => {
  const text = JSON.stringify(value, undefined, space);
  const empty = { depth: 0, values: 0, numbers: 0, names: new Set<string>() };
  const { depth, values, numbers, names } = countIn(JSON.parse(text), empty);
  const limits = { depth, values, numbers, names: names.size };
  assertEquals(excessOf(text, limits), undefined);
  if (depth > 0) assertEquals(excessOf(text, { ...limits, depth: depth - 1 }), "depth");
  if (values > 0) assertEquals(excessOf(text, { ...limits, values: values - 1 }), "values");
  if (numbers > 0) assertEquals(excessOf(text, { ...limits, numbers: numbers - 1 }), "numbers");
  if (names.size > 0) assertEquals(excessOf(text, { ...limits, names: names.size - 1 }), "names");
});
