import { assertEquals } from "@std/assert";
import { formatDollars, picoDollars } from "../../src/util/dollars.ts";

Deno.test("dollars: what is written comes back, whatever its form", () => {
  for (
    const [text, same] of [
      ["0.1", "0.1"],
      ["2", "2"],
      ["0.000000000001", "0.000000000001"],
      ["1e-7", "0.0000001"],
      ["1.50", "1.5"],
      ["12345678901234567890.5", "12345678901234567890.5"],
      ["2.5E3", "2500"],
      ["0", "0"],
    ]
  ) {
    assertEquals(formatDollars(picoDollars(text!)!), same);
  }
});

Deno.test("dollars: what is no amount is none", () => {
  for (const text of ["", "-1", "1,5", "NaN", "Infinity", "0x10", "1e", "9".repeat(41), "1e999", " 1"]) {
    assertEquals(picoDollars(text), undefined, text);
  }
});

Deno.test("dollars: sums have no drift", () => {
  let sum = 0n;
  for (let index = 0; index < 1_000; index++) sum += picoDollars(0.1)! + picoDollars("0.000001")!;
  assertEquals(formatDollars(sum), "100.001");
});
