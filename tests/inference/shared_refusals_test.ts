/** What one gateway found that an upstream refuses serves all gateways on the same store. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";
import { CHAT, chatBody, CONFIG, ENV, newApp, NOW, type TestApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { until } from "../support/wait.ts";
import { withFolder } from "../state/temp_folder.ts";

const KEYS = [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }, {
  name: "ops",
  secret: { env: "OPS_KEY" },
  operator: true,
}];
const KEYS_ENV = { ...ENV, OPS_KEY: "ops-key-0a1b2c" };

interface Host {
  /** The bodies that it got. */
  bodies: Record<string, unknown>[];
  fetch: typeof globalThis.fetch;
}

/** A host that refuses these fields, one at a time, and names the one that it refuses. */
function hostWithout(...fields: string[]): Host {
  const bodies: Record<string, unknown>[] = [];
  return {
    bodies,
    async fetch(input, init) {
      const body = await new Request(input, init).json();
      bodies.push(body);
      const refused = fields.find((field) => field in body);
      if (refused === undefined) return answerWhole();
      return Response.json({ error: { message: `Unrecognized request argument supplied: ${refused}` } }, {
        status: 400,
      });
    },
  };
}

const inMemory = (now = () => NOW) => createMemoryStore({ now, limitBytes: 2 ** 20 });
const gatewayOn = (store: Store, { fetch }: Host, now = () => NOW) =>
  newApp({ config: { ...CONFIG, keys: KEYS }, env: KEYS_ENV, store, fetch, now });

const UNUSUAL = { top_k: 3, min_p: 0.1, repetition_penalty: 1.1 };

/** How many calls one request takes, and its notes. */
async function asked(app: TestApp, host: Host, key = ENV.TEAM_KEY!) {
  const before = host.bodies.length;
  const response = await app.post(CHAT, chatBody(UNUSUAL), { "x-api-key": key });
  await response.text();
  assertEquals(response.status, 200);
  return { calls: host.bodies.length - before, notes: response.headers.get("x-laneway-notes") };
}

Deno.test("shared refusals: a gateway that is restarted learns with one refusal all that it knew", async () => {
  const store = inMemory();
  const host = hostWithout("top_k", "min_p", "repetition_penalty");
  const first = await asked(gatewayOn(store, host), host);
  const app = gatewayOn(store, host);
  const again = await asked(app, host);
  const next = await asked(app, host);
  assertEquals([first.calls, again.calls, next.calls], [4, 2, 1]);
  assertEquals(again.notes, first.notes);
});

Deno.test("shared refusals: the local store's file has them after a restart", async () => {
  await withFolder(async (folder) => {
    const host = hostWithout("top_k", "min_p", "repetition_penalty");
    const config = { ...CONFIG, keys: KEYS, store: { kind: "kv" as const, path: `${folder}/store.sqlite3` } };
    const start = () => newApp({ config, env: KEYS_ENV, store: undefined, fetch: host.fetch });
    const first = start();
    assertEquals((await asked(first, host)).calls, 4);
    await until(async () => {
      const other = start();
      const { upstreams } = await (await other.get("/status", { "x-api-key": KEYS_ENV.OPS_KEY })).json();
      await other.close();
      return upstreams[0].refused?.length === 3;
    });
    await first.close();
    const restarted = start();
    assertEquals([(await asked(restarted, host)).calls, (await asked(restarted, host)).calls], [2, 1]);
    await restarted.close();
  });
});

Deno.test("shared refusals: what one key's request taught one gateway changes no other key's, until two gateways have learnt it from two keys", async () => {
  const store = inMemory();
  const host = hostWithout("top_k", "min_p", "repetition_penalty");
  const [one, other] = [gatewayOn(store, host), gatewayOn(store, host)];
  await asked(one, host);
  assertEquals((await asked(other, host, ENV.GUEST_KEY)).calls, 4);
  const third = gatewayOn(store, host);
  assertEquals((await asked(third, host, KEYS_ENV.OPS_KEY)).calls, 2);
  assertEquals((await asked(third, host, ENV.TEAM_KEY)).calls, 1);
});

Deno.test("shared refusals: a store that fails, or never answers, changes nothing for requests", async () => {
  const fails = () => Promise.reject(new Error("The store is down"));
  const hangs = () => new Promise<never>(() => {});
  for (const way of [fails, hangs]) {
    const store = { ...inMemory(), get: way, update: way };
    const host = hostWithout("top_k");
    const app = gatewayOn(store, host);
    assertEquals([(await asked(app, host)).calls, (await asked(app, host)).calls], [2, 1]);
  }
});

Deno.test("shared refusals: a strict request is refused before a call without what others have found", async () => {
  const store = inMemory();
  const host = hostWithout("top_k");
  await asked(gatewayOn(store, host), host);
  const before = host.bodies.length;
  const headers = { "x-api-key": ENV.TEAM_KEY!, "x-laneway-strict": "true" };
  const response = await gatewayOn(store, host).post(CHAT, chatBody(UNUSUAL), headers);
  const { error } = await response.json();
  assertEquals([response.status, host.bodies.length - before], [400, 1]);
  assertStringIncludes(error.message, "top_k");
});

Deno.test("shared refusals: what another gateway finds in the middle of a search leads it to no wrong part", async () => {
  const clock = { ms: NOW };
  const store = inMemory(() => clock.ms);
  let isNamed = false;
  const host = hostWithout("top_k");
  const silent: Host = {
    ...host,
    async fetch(...call) {
      const response = await host.fetch(...call);
      if (response.ok || isNamed) return response;
      return Response.json({ error: { message: "Bad request" } }, { status: 400 });
    },
  };
  const [one, other] = [gatewayOn(store, silent, () => clock.ms), gatewayOn(store, silent, () => clock.ms)];
  await asked(one, host);
  isNamed = true;
  await asked(other, host);
  clock.ms += 10_000;
  for (let request = 0; request < 8; request++) await asked(one, host);
  const { upstreams } = await (await one.get("/status", { "x-api-key": KEYS_ENV.OPS_KEY })).json();
  assertEquals(upstreams[0].refused.map(({ part }: { part: string }) => part), ["top_k"]);
});

Deno.test("shared refusals: a request that is not refused asks the store for nothing", async () => {
  let reads = 0;
  const store = inMemory();
  const counted = { ...store, get: (...call: Parameters<Store["get"]>) => (reads++, store.get(...call)) };
  const host = hostWithout();
  await asked(gatewayOn(counted, host), host);
  assertEquals(reads, 0);
});

Deno.test("shared refusals: neither the keys nor their secrets are in the store's records beyond their names", async () => {
  const written: string[] = [];
  const store = inMemory();
  const noting: Store = {
    ...store,
    update: (key, change) =>
      store.update(key, (value) => {
        const changed = change(value);
        written.push(JSON.stringify([key, changed]));
        return changed;
      }),
  };
  const host = hostWithout("top_k");
  await asked(gatewayOn(noting, host), host);
  const records = written.filter((text) => text.includes("top_k"));
  assertEquals(records.length > 0, true);
  assertEquals(records.filter((text) => Object.values(KEYS_ENV).some((secret) => text.includes(secret))), []);
});
