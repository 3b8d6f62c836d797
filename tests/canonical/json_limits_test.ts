import { assert } from "@std/assert";
import { JSON_LIMITS, scan } from "../../src/canonical/json_limits.ts";

Deno.test("others have a turn within a long number and a long blank", () => {
  for (
    const text of [`[1${" ".repeat(10_000_000)}]`, `[1${"\n\t".repeat(5_000_000)}]`, `[${"1".repeat(10_000_000)}]`]
  ) {
    let turns = 0;
    for (const work = scan(text, JSON_LIMITS); !work.next().done;) turns++;
    assert(turns >= 10, `${turns} turns`);
  }
});
