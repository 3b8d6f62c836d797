import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Finder, Found } from "../../src/contract/catalog.ts";
import type { Reply } from "../../src/contract/call.ts";
import { GatewayError } from "../../src/errors.ts";
import { createModelFinder, type FinderPace } from "../../src/lanes/finder.ts";
import { within } from "../support/wait.ts";

const PACE: FinderPace = {
  freshMs: 600_000,
  unknownMs: 60_000,
  retryAfterMs: 15_000,
  timeoutMs: 5_000,
  mostModels: 3,
};

/** A hub whose names end in a policy, `model:policy`, and whose answers are a status and the model's task. */
const finder: Finder = {
  lookup: (name) => ({ path: `models/${name.split(":")[0]}` }),
  parse({ status, body }): Found | undefined {
    if (status === 404) return undefined;
    if (status !== 200) throw new GatewayError("upstream_error", `The hub answered ${status}`);
    return { tasks: ["embedding"], targets: [], ...body as object };
  },
  choose: (_found, name, task) => [{ provider: `chosen ${name}`, task, driver: "d", path: "p", model: "m" }],
  guess: (name, task) => [{ provider: `guessed ${name}`, task, driver: "d", path: "p", model: "m" }],
};

interface Lookup {
  path: string | undefined;
  signal: AbortSignal;
  answer(status: number): Promise<void>;
  fail(): Promise<void>;
}

/** A finder whose hub answers what the test tells it to, and whose clock the test moves. */
function newFinder(pace: Partial<FinderPace> = {}) {
  const lookups: Lookup[] = [];
  const stop = new AbortController();
  const clock = { now: 1_800_000_000_000 };
  const found = createModelFinder({
    finder,
    ask({ path }, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<Reply>();
      lookups.push({
        path,
        signal,
        answer: (status) => (resolve({ status, headers: new Headers(), body: {} }), turn()),
        fail: () => (reject(new TypeError("no network")), turn()),
      });
      return promise;
    },
    signal: stop.signal,
    now: () => clock.now,
    pace: { ...PACE, ...pace },
  });
  return { finder: found, lookups, stop, clock };
}

/** Lets what is settled be told. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

const KNOWN: Found = { tasks: ["embedding"], targets: [] };

/** Asks for a model that the hub answers with `status`. */
async function find({ finder, lookups }: ReturnType<typeof newFinder>, name: string, status: number) {
  const finding = finder.find(name);
  await turn();
  await lookups.at(-1)!.answer(status);
  return await finding;
}

Deno.test("finder: nothing is asked before somebody asks, and all who ask at once share one call", async () => {
  const { finder, lookups } = newFinder();
  assertEquals(lookups.length, 0);
  const finding = Array.from({ length: 24 }, (_, at) => finder.find(at % 2 ? "m" : "m:fastest"));
  await turn();
  assertEquals(lookups.map(({ path }) => path), ["models/m"]);
  await lookups[0]!.answer(200);
  for (const found of await Promise.all(finding)) assertEquals(found, KNOWN);
});

Deno.test("finder: an answer is kept for ten minutes, then given once more while the next one is on its way", async () => {
  const world = newFinder();
  const { finder, lookups, clock } = world;
  assertEquals(await find(world, "m", 200), KNOWN);
  clock.now += 599_999;
  assertEquals(await finder.find("m:novita"), KNOWN);
  assertEquals(lookups.length, 1);
  clock.now += 1;
  assertEquals(await within(finder.find("m")), KNOWN);
  assertEquals(await finder.find("m"), KNOWN);
  assertEquals(lookups.length, 2);
  await lookups[1]!.answer(404);
  assertEquals(await finder.find("m"), "unknown");
});

Deno.test("finder: a model that is not there is asked for again after a minute", async () => {
  const world = newFinder();
  const { finder, lookups, clock } = world;
  assertEquals(await find(world, "m", 404), "unknown");
  clock.now += 59_999;
  assertEquals(await finder.find("m"), "unknown");
  assertEquals(lookups.length, 1);
  clock.now += 1;
  // Who asks then waits for the answer: the model may be there by now.
  assertEquals(await find(world, "m", 200), KNOWN);
});

Deno.test("finder: an old answer outlives failures, which are tried again after fifteen seconds", async () => {
  const world = newFinder();
  const { finder, lookups, clock } = world;
  await find(world, "m", 200);
  clock.now += 600_000;
  await finder.find("m");
  await lookups[1]!.fail();
  clock.now += 14_999;
  assertEquals(await finder.find("m"), KNOWN);
  assertEquals(lookups.length, 2);
  clock.now += 1;
  assertEquals(await finder.find("m"), KNOWN);
  assertEquals(lookups.length, 3);
  await lookups[2]!.answer(500);
  assertEquals(await finder.find("m"), KNOWN);
});

Deno.test("finder: where there never was an answer nobody can say, and nobody waits for a hub that failed", async () => {
  const world = newFinder();
  const { finder, lookups, clock } = world;
  assertEquals(await find(world, "m", 500), "unreachable");
  assertEquals(await within(finder.find("m")), "unreachable");
  assertEquals(lookups.length, 1);
  clock.now += 15_000;
  // It is asked again, and who asks meanwhile is not kept waiting.
  assertEquals(await within(finder.find("m")), "unreachable");
  await lookups[1]!.answer(200);
  assertEquals(await finder.find("m"), KNOWN);
});

Deno.test("finder: the failure of one model says nothing of another", async () => {
  const world = newFinder();
  assertEquals(await find(world, "a", 500), "unreachable");
  assertEquals(await find(world, "b", 200), KNOWN);
});

Deno.test("finder: a hub that takes too long is given up", async () => {
  const { finder, lookups } = newFinder({ timeoutMs: 20 });
  assertEquals(await within(finder.find("m")), "unreachable");
  assert(lookups[0]!.signal.aborted);
});

Deno.test("finder: when the gateway stops nobody waits any more, and nothing more is asked", async () => {
  const { finder, lookups, stop } = newFinder();
  const finding = finder.find("m");
  await turn();
  stop.abort(new GatewayError("unavailable", "The gateway is shutting down"));
  assertEquals(await within(finding), "unreachable");
  assert(lookups[0]!.signal.aborted);
  assertEquals(await within(finder.find("other")), "unreachable");
  assertEquals(lookups.length, 1);
});

Deno.test("finder: the model that was asked for longest ago is forgotten first", async () => {
  const world = newFinder();
  const { finder, lookups } = world;
  for (const name of ["a", "b", "c"]) await find(world, name, 200);
  await finder.find("a");
  await find(world, "d", 200);
  assertEquals(lookups.length, 4);
  for (const name of ["a", "c", "d"]) assertEquals(await finder.find(name), KNOWN);
  assertEquals(lookups.length, 4);
  assertEquals(await find(world, "b", 404), "unknown");
});

Deno.test("finder: a model that is forgotten while it is looked up is still told", async () => {
  const { finder, lookups } = newFinder();
  const finding = ["a", "b", "c", "d", "e"].map((name) => finder.find(name));
  await turn();
  for (const lookup of lookups) await lookup.answer(200);
  for (const found of await Promise.all(finding)) assertEquals(found, KNOWN);
});

Deno.test("finder: a name that cannot be looked up is refused as the finder says", async () => {
  const refusing: Finder = {
    ...finder,
    lookup: () => {
      throw new GatewayError("model_not_found", "No model has such a name");
    },
  };
  const { signal } = new AbortController();
  const ask = () => Promise.reject(new Error("No call was expected"));
  const found = createModelFinder({ finder: refusing, ask, signal, now: () => 0 });
  assertEquals((await assertRejects(() => found.find("no model"), GatewayError)).code, "model_not_found");
});

Deno.test("finder: what it is told of places passes through", () => {
  const { finder } = newFinder();
  assertEquals(finder.choose(KNOWN, "m:x", "speech").map(({ provider }) => provider), ["chosen m:x"]);
  assertEquals(finder.guess("m:x", "speech").map(({ provider }) => provider), ["guessed m:x"]);
});
