import { ConcurrencyLimit } from "../../src/routing/concurrency.ts";
import { testConcurrency } from "./concurrency_contract.ts";

testConcurrency("in a process", (use) => use((limits) => Promise.resolve(new ConcurrencyLimit("up", limits))));

const NEVER = new AbortController().signal;

Deno.test("concurrency in a process: who has got a place makes room in the line", async () => {
  const concurrency = new ConcurrencyLimit("up", { running: 1, waiting: 1, waitMs: 10_000 });
  const first = await concurrency.acquire("a", NEVER);
  const second = concurrency.acquire("a", NEVER);
  first();
  const third = concurrency.acquire("a", NEVER);
  (await second)();
  (await third)();
});
