/** How long a request waits for a store on a server in all, whatever it needs of it. */
import { assert, assertEquals } from "@std/assert";
import { createContinuity } from "../../../src/state/continuity.ts";
import { createSealing } from "../../../src/state/seal.ts";
import { createMemoryStore } from "../../../src/state/memory_store.ts";
import { within } from "../../support/wait.ts";

const hangs = () => new Promise<never>(() => {});
const store = { ...createMemoryStore({ now: () => 0, limitBytes: 1_000 }), add: hangs, ensure: hangs };
const LONG_MS = 600_000;

Deno.test("patience: what a request has waited already is not waited for again, neither to keep nor to seal its answer", async () => {
  const limits = { characters: 1, values: 1 };
  const times = { now: () => 0, patienceMs: LONG_MS };
  const continuity = createContinuity({ ...times, store, retentionMs: 1, writeMs: LONG_MS, limits });
  const answer = { id: "a", created: 0, completed: 0, model: "m", messages: [], keep: {} } as never as object;
  const kept = continuity.remember(
    { ...answer, response: { content: [] } } as never,
    "up/m",
    "owner",
    undefined,
    LONG_MS - 5,
  );
  assertEquals(
    await within(kept.then(() => "kept", (error) => error.message)),
    "The store did not answer within 5 ms",
  );
  const { failure } = await within(createSealing({ ...times, store })(LONG_MS - 5));
  assert(String(failure).includes("within 5 ms"), String(failure));
});
