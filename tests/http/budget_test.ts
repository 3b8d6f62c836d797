import { assertEquals, assertThrows } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { createBudget } from "../../src/http/budget.ts";

Deno.test("budget: what is left can be taken to the last byte, and what is given back again", () => {
  const budget = createBudget(10);
  budget.take(4);
  budget.take(6);
  const error = assertThrows(() => budget.take(1), GatewayError, "busy with other uploads");
  assertEquals([error.code, error.status, error.details.retryAfter], ["unavailable", 503, "5"]);
  budget.giveBack(4);
  budget.take(4);
  assertThrows(() => budget.take(1), GatewayError);
});

Deno.test("budget: what was refused takes nothing", () => {
  const budget = createBudget(10);
  assertThrows(() => budget.take(11), GatewayError);
  budget.take(10);
});

Deno.test("budget: what can never fit is too large, and not to be tried again", () => {
  const error = assertThrows(() => createBudget(10).take(11), GatewayError);
  assertEquals([error.code, error.details.retryAfter], ["request_too_large", undefined]);
});
