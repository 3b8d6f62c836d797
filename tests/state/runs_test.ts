import { assertEquals } from "@std/assert";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { createRuns } from "../../src/state/runs.ts";

const ROOM = {
  limits: { backgroundResponses: 5, backgroundMs: 60_000, backgroundEvents: 1_000 },
  hasSeveralCallers: true,
};
const FACTS = { id: "resp_1", created: 1, model: "m", messages: [], keep: {} };

Deno.test("runs: one that is cancelled before its model works on it stays cancelled", async () => {
  const store = createMemoryStore({ now: () => 0, limitBytes: 1_000_000 });
  const runs = createRuns({ store, now: () => 0, retentionMs: 60_000, patienceMs: 5_000 });
  const run = await runs.begin(FACTS, "ada", false, ROOM);
  const cancelling = runs.cancel("resp_1", "ada");
  run.start();
  assertEquals((await runs.find("resp_1", "ada"))?.run?.status, "cancelled");
  await run.end({ code: "client_closed", message: "The response was cancelled" });
  await cancelling;
  assertEquals((await runs.find("resp_1", "ada"))?.run?.status, "cancelled");
});
