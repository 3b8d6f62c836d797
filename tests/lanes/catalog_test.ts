import { assert, assertEquals, assertRejects } from "@std/assert";
import type { ModelInfo } from "../../src/canonical/models.ts";
import { GatewayError } from "../../src/errors.ts";
import { type CatalogCache, type CatalogPace, createCatalogCache } from "../../src/lanes/catalog.ts";
import { withFakeClock } from "../support/fake_clock.ts";

const PACE: CatalogPace = { freshMs: 600_000, retryAfterMs: 30_000, patienceMs: 2_000, timeoutMs: 10_000 };

/** A cache whose source answers what the test tells it to, and whose clock the test moves. */
function newCache(pace: Partial<CatalogPace> = {}) {
  const loads: { resolve(ids: string[]): void; reject(reason: unknown): void; signal: AbortSignal }[] = [];
  const stop = new AbortController();
  const clock = { now: 1_800_000_000_000 };
  const cache = createCatalogCache({
    load(signal) {
      const { promise, resolve, reject } = Promise.withResolvers<ModelInfo[]>();
      loads.push({ resolve: (ids) => resolve(ids.map(newModel)), reject, signal });
      return promise;
    },
    signal: stop.signal,
    now: () => clock.now,
    pace: { ...PACE, ...pace },
  });
  return { cache, loads, stop, clock };
}

function newModel(id: string): ModelInfo {
  return { id, task: "chat", created: 0, ownedBy: "org" };
}

async function idsOf(cache: CatalogCache): Promise<string[]> {
  return [...(await cache.models()).keys()];
}

/** Lets what is settled be told. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("catalog: nothing is asked for before somebody asks, and all who ask at once share one call", async () => {
  const { cache, loads } = newCache();
  assertEquals(loads.length, 0);
  const asked = Array.from({ length: 24 }, () => idsOf(cache));
  assertEquals(loads.length, 1);
  loads[0]!.resolve(["a", "b"]);
  for (const ids of await Promise.all(asked)) assertEquals(ids, ["a", "b"]);
});

Deno.test("catalog: a list is kept for ten minutes, then given once more while the next one is on its way", async () => {
  const { cache, loads, clock } = newCache();
  const first = idsOf(cache);
  loads[0]!.resolve(["old"]);
  await first;

  clock.now += 599_999;
  assertEquals(await idsOf(cache), ["old"]);
  assertEquals(loads.length, 1);

  clock.now += 1;
  assertEquals(await idsOf(cache), ["old"]);
  assertEquals(await idsOf(cache), ["old"]);
  assertEquals(loads.length, 2);
  loads[1]!.resolve(["new"]);
  await turn();
  assertEquals(await idsOf(cache), ["new"]);
  assertEquals(loads.length, 2);
});

Deno.test("catalog: an old list outlives a failure, which is tried again after 30 seconds", async () => {
  const { cache, loads, clock } = newCache();
  const first = idsOf(cache);
  loads[0]!.resolve(["old"]);
  await first;

  clock.now += 600_000;
  await idsOf(cache);
  loads[1]!.reject(new TypeError("no network"));
  await turn();
  assertEquals(await idsOf(cache), ["old"]);
  clock.now += 29_999;
  assertEquals(await idsOf(cache), ["old"]);
  assertEquals(loads.length, 2);
  clock.now += 1;
  assertEquals(await idsOf(cache), ["old"]);
  assertEquals(loads.length, 3);
  loads[2]!.resolve(["new"]);
  await turn();
  assertEquals(await idsOf(cache), ["new"]);
});

Deno.test("catalog: a first failure is told at once for 30 seconds, and then it comes back to life", async () => {
  const { cache, loads, clock } = newCache();
  const first = assertRejects(() => cache.models(), GatewayError, "It answered 401");
  loads[0]!.reject(new GatewayError("unavailable", "It answered 401"));
  await first;
  clock.now += 29_999;
  await assertRejects(() => cache.models(), GatewayError, "It answered 401");
  assertEquals(loads.length, 1);

  clock.now += 1;
  const second = idsOf(cache);
  loads[1]!.resolve(["a"]);
  assertEquals(await second, ["a"]);
});

Deno.test("catalog: a stranger's failure tells nothing of itself", async () => {
  const { cache, loads } = newCache();
  const failed = assertRejects(() => cache.models(), GatewayError, "The catalog cannot be read");
  loads[0]!.reject(new TypeError("secret-1f2e3d"));
  assert(!(await failed).message.includes("secret"));
});

Deno.test("catalog: a silent source is waited for once, and what it says late still counts", async () => {
  const { cache, loads } = newCache({ patienceMs: 30 });
  await withFakeClock(async (clock) => {
    const refused = assertRejects(() => cache.models(), GatewayError, "has not answered yet");
    await clock.advance(30);
    await refused;
    // No time passes, so those who ask later do not wait anew for the same call.
    const refusedToo = assertRejects(() => cache.models(), GatewayError);
    await clock.advance(0);
    await refusedToo;
  });
  assertEquals(loads.length, 1);
  loads[0]!.resolve(["late"]);
  await turn();
  assertEquals(await idsOf(cache), ["late"]);
});

Deno.test("catalog: a source that never answers is given up, and its call is ended", async () => {
  const { cache, loads } = newCache({ timeoutMs: 20 });
  await assertRejects(() => cache.models(), GatewayError, "The catalog did not answer within 20 ms");
  assert(loads[0]!.signal.aborted);
});

Deno.test("catalog: when the gateway stops, the call ends and no other begins", async () => {
  const { cache, loads, stop, clock } = newCache();
  const asked = assertRejects(() => cache.models(), GatewayError, "The gateway is shutting down");
  stop.abort(new GatewayError("unavailable", "The gateway is shutting down"));
  await asked;
  assert(loads[0]!.signal.aborted);
  clock.now += 30_000;
  await assertRejects(() => cache.models(), GatewayError, "The gateway is shutting down");
  assertEquals(loads.length, 1);
});

Deno.test("catalog: a list that is too long is a failure, and the old one stays", async () => {
  const { cache, loads, clock } = newCache();
  const first = idsOf(cache);
  loads[0]!.resolve(["old"]);
  await first;
  clock.now += 600_000;
  await idsOf(cache);
  loads[1]!.resolve(Array.from({ length: 20_001 }, (_, index) => `model-${index}`));
  await turn();
  assertEquals(await idsOf(cache), ["old"]);
});
