import { assertEquals } from "@std/assert";
import { HedgeBudget } from "../../src/routing/hedging.ts";

Deno.test("hedge: what quiet hours save up is spent in ten requests", () => {
  const budget = new HedgeBudget();
  for (let request = 0; request < 1_000; request++) budget.earn();
  const spent = Array.from({ length: 20 }, () => budget.spend()).filter(Boolean);
  assertEquals(spent.length, 10);
});

Deno.test("hedge: then each ten requests earn one", () => {
  const budget = new HedgeBudget();
  while (budget.spend());
  for (let request = 0; request < 9; request++) budget.earn();
  assertEquals(budget.spend(), false);
  for (let request = 0; request < 2; request++) budget.earn();
  assertEquals([budget.spend(), budget.spend()], [true, false]);
});
