/** What callers keep: none of them fills the store, and each one's own oldest makes room for its newest. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Message } from "../../src/canonical/generate.ts";
import { GatewayError } from "../../src/errors.ts";
import { type Continuity, createContinuity } from "../../src/state/continuity.ts";
import { createConversations } from "../../src/state/conversations.ts";
import { createStorageQuota } from "../../src/state/storage_quota.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store, StoreKey } from "../../src/state/store.ts";
import { until } from "../support/wait.ts";
import { ENGINES } from "./engines.ts";

const BYTES_PER_KEY = 1_048_576;
const RETENTION_MS = 1_000_000;
const LIMITS = { characters: 100_000_000, values: 1_000_000 };

/** A store that knows how many bytes are kept in it. */
function measured(inner: Store) {
  const sizes = new Map<string, number>();
  const nameOf = (key: StoreKey) => JSON.stringify(key);
  const store: Store = {
    get: (key) => inner.get(key),
    getRange: (...range) => inner.getRange(...range),
    async add(entries, ...rest) {
      const isNew = await inner.add(entries, ...rest);
      if (isNew) { for (const [key, value] of entries) sizes.set(nameOf(key), JSON.stringify(value).length); }
      return isNew;
    },
    ensure: (...args) => inner.ensure(...args),
    update: (...args) => inner.update(...args),
    async delete(...keys) {
      const wasThere = await inner.delete(...keys);
      if (wasThere) { for (const key of keys) sizes.delete(nameOf(key)); }
      return wasThere;
    },
    close: () => inner.close(),
  };
  const bytesOf = (owner: string) =>
    [...sizes].reduce((sum, [name, size]) => JSON.parse(name)[1] === owner ? sum + size : sum, 0);
  return { store, bytesOf };
}

function gatewayOn(store: Store) {
  const now = () => 1;
  const storageQuota = createStorageQuota({ store, now, bytesPerKey: BYTES_PER_KEY });
  const times = { retentionMs: RETENTION_MS, patienceMs: 30_000, writeMs: 30_000 };
  return {
    continuity: createContinuity({ store, storageQuota, now, ...times, limits: LIMITS }),
    conversations: createConversations({ store, storageQuota, now, ...times, longest: 100_000_000 }),
  };
}

const text = (length: number, letter = "x"): Message => ({
  role: "user",
  content: [{ type: "text", text: letter.repeat(length) }],
});

let ids = 0;

/** One turn of `length` characters after `previous`. */
async function turn(continuity: Continuity, owner: string, length: number, previous?: string): Promise<string> {
  const id = `resp_${++ids}`;
  const messages = [text(length)];
  const input = { model: "m", messages, stream: false, recall: { at: 0, previous, keep: {} } };
  const { added } = await continuity.recall(input, owner);
  const response = { model: "m", content: [], finish: { reason: "stop" as const }, usage: NO_USAGE };
  const answer = { id, previous, created: 1, completed: 2, model: "m", messages, response, keep: {} };
  await continuity.remember(answer, "t", owner, added.follows);
  return id;
}

const NO_USAGE = { inputTokens: 1, outputTokens: 1 };

for (const [kind, { isMissing, run }] of Object.entries(ENGINES)) {
  const test = (name: string, use: (store: Store, open: () => Store) => Promise<void>) =>
    Deno.test({
      name: `storage quota, ${kind}: ${name}`,
      ignore: isMissing,
      // Room is made beside what is asked for, and may not be finished.
      sanitizeOps: false,
      sanitizeResources: false,
      fn: () => run((open) => use(open(), open)),
    });

  for (const keys of [1, 2, 20]) {
    test(`a key that stores all it can keeps no more than its bytes, beside ${keys - 1} others`, async (inner) => {
      const { store, bytesOf } = measured(inner);
      const { continuity } = gatewayOn(store);
      const others = new Map<string, string>();
      for (let key = 1; key < keys; key++) others.set(`key:${key}`, await turn(continuity, `key:${key}`, 1_000));
      const own: string[] = [];
      let most = 0;
      for (let count = 0; count < 120; count++) {
        own.push(await turn(continuity, "key:greedy", 50_000));
        most = Math.max(most, bytesOf("key:greedy"));
      }
      assert(most <= BYTES_PER_KEY, `${most} bytes`);
      assert(most > BYTES_PER_KEY / 2, `${most} bytes are less than it may keep`);
      const kept = await Promise.all(own.map(async (id) => await continuity.find(id, "key:greedy") !== undefined));
      const first = kept.indexOf(true);
      assert(first > 60, "it stored more than it may keep");
      assertEquals(kept.slice(first).includes(false), false, "its oldest made room");
      for (const [owner, id] of others) assertEquals((await continuity.find(id, owner))?.id, id);
    });
  }

  test("answers that come while room is made find room as well", async (inner) => {
    const { store, bytesOf } = measured(inner);
    const { continuity } = gatewayOn(store);
    let most = 0;
    for (let round = 0; round < 12; round++) {
      // Each of them comes when more is on its way than what is made room for.
      await Promise.all(Array.from({ length: 5 }, async (_, index) => {
        for (let tick = 0; tick < index * 3; tick++) await new Promise((resolve) => setTimeout(resolve));
        await turn(continuity, "key:a", 150_000);
        most = Math.max(most, bytesOf("key:a"));
      }));
    }
    assert(most <= BYTES_PER_KEY, `${most} bytes`);
  });

  test("a conversation that is used stays whole, while those that are not used make room", async (store) => {
    const { continuity } = gatewayOn(store);
    const first = await turn(continuity, "key:a", 1_000);
    let last = first;
    const idle = await turn(continuity, "key:a", 1_000);
    for (let count = 0; count < 60; count++) {
      await turn(continuity, "key:a", 30_000);
      last = await turn(continuity, "key:a", 1_000, last);
    }
    const fork = await turn(continuity, "key:a", 1_000, first);
    for (let count = 0; count < 5; count++) await turn(continuity, "key:a", 30_000);
    const input = { model: "m", messages: [text(1)], stream: false, recall: { at: 0, previous: fork, keep: {} } };
    assertEquals((await continuity.recall(input, "key:a")).input.messages.length, 3);
    assertEquals((await continuity.find(last, "key:a"))?.id, last);
    assertEquals(await continuity.find(idle, "key:a"), undefined);
  });

  test("a conversation that is alone too large is refused, and stays as it was", async (store) => {
    const { continuity } = gatewayOn(store);
    let last = await turn(continuity, "key:a", 100_000);
    const error = await assertRejects(async () => {
      for (let count = 0; count < 20; count++) last = await turn(continuity, "key:a", 100_000, last);
    }, GatewayError);
    assertEquals(error.code, "rate_limit");
    const input = { model: "m", messages: [text(1)], stream: false, recall: { at: 0, previous: last, keep: {} } };
    assert((await continuity.recall(input, "key:a")).input.messages.length > 8);
  });

  test("what is deleted is free again", async (store) => {
    const { continuity } = gatewayOn(store);
    const stays = await turn(continuity, "key:a", 1_000);
    for (let count = 0; count < 60; count++) {
      await continuity.forget(await turn(continuity, "key:a", 50_000), "key:a");
    }
    assertEquals((await continuity.find(stays, "key:a"))?.id, stays);
  });

  test("conversations do not go by themselves: beyond the bytes, one is refused until another is deleted", async (store) => {
    let time = 1;
    const now = () => time;
    const storageQuota = createStorageQuota({ store, now, bytesPerKey: BYTES_PER_KEY });
    const options = { store, storageQuota, now, retentionMs: RETENTION_MS, patienceMs: 30_000, longest: 100_000_000 };
    const conversations = createConversations(options);
    const made: string[] = [];
    const error = await assertRejects(async () => {
      for (let count = 0; count < 20; count++) {
        await conversations.create(`conv_${count}`, {}, [text(100_000)], "key:a");
        made.push(`conv_${count}`);
      }
    }, GatewayError);
    assertEquals([error.code, error.details.retryAfter], ["rate_limit", "60"]);
    assert(made.length >= 9 && made.length <= 10, `${made.length} conversations`);
    await conversations.create("conv_other", {}, [text(100_000)], "key:b");
    for (const id of made.slice(0, 5)) await conversations.delete(id, "key:a");
    time += 60_000;
    await conversations.create("conv_new", {}, [text(100_000)], "key:a");
    for (const id of made.slice(5)) assertEquals((await conversations.get(id, "key:a")).id, id);
  });

  if (kind === "memory") continue;
  test("two gateways on one store count together", async (inner, open) => {
    const { store, bytesOf } = measured(inner);
    const gateways = [gatewayOn(store), gatewayOn({ ...store, ...measuredBeside(open(), store) })];
    const own: string[] = [];
    for (let count = 0; count < 120; count++) own.push(await turn(gateways[count % 2]!.continuity, "key:a", 50_000));
    // Each reports what it has added from time to time.
    assert(bytesOf("key:a") <= BYTES_PER_KEY * 1.1, `${bytesOf("key:a")} bytes`);
    assertEquals((await gateways[0]!.continuity.find(own.at(-1)!, "key:a"))?.id, own.at(-1));
  });

  test("what one gateway is storing while another one counts is counted once it is there", async (inner, open) => {
    const { store, bytesOf } = measured(inner);
    const [began, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow: Store["add"] = async (...args) => {
      began.resolve();
      await go.promise;
      return await store.add(...args);
    };
    const one = gatewayOn(store).continuity;
    const other = gatewayOn({ ...store, ...measuredBeside(open(), store), add: slow }).continuity;
    const storing = turn(other, "key:a", 500_000);
    await began.promise;
    // The second does not fit, so all that is there is counted.
    for (let count = 0; count < 2; count++) await turn(one, "key:a", 400_000);
    go.resolve();
    await storing;
    for (const gateway of [other, one]) await turn(gateway, "key:a", 20_000);
    assert(bytesOf("key:a") <= BYTES_PER_KEY, `${bytesOf("key:a")} bytes`);
  });

  test("a gateway that begins anew goes on counting", async (inner, open) => {
    const { store, bytesOf } = measured(inner);
    for (let count = 0; count < 60; count++) {
      await turn(gatewayOn({ ...store, ...measuredBeside(open(), store) }).continuity, "key:a", 50_000);
    }
    assert(bytesOf("key:a") <= BYTES_PER_KEY * 1.1, `${bytesOf("key:a")} bytes`);
  });
}

Deno.test("storage quota: an owner who stored nothing for long is forgotten, and nothing of it in the account", async () => {
  let time = 1;
  const now = () => time;
  const inner = createMemoryStore({ now, limitBytes: 1e8 });
  const changed: string[] = [];
  const store: Store = {
    ...inner,
    update(key, change) {
      changed.push(String(key[1]));
      return inner.update(key, change);
    },
  };
  const storageQuota = createStorageQuota({ store, now, bytesPerKey: BYTES_PER_KEY });
  const add = async (owner: string) => (await storageQuota.reserve(owner, "a value")).settle(true);
  const changesOf = (owner: string) => changed.filter((one) => one === owner).length;
  const bytesOf = async (owner: string) => (await inner.get(["held", owner]) as { bytes: number }).bytes;
  await add("key:a");
  const bytes = await bytesOf("key:a");
  await add("key:a");
  assertEquals([changesOf("key:a"), await bytesOf("key:a")], [1, bytes], "the second is not reported yet");
  time += 600_000;
  for (let owner = 0; owner < 1_000; owner++) await add(`key:${owner}`);
  await until(() => changesOf("key:a") === 2);
  assertEquals(await bytesOf("key:a"), 2 * bytes);
  await add("key:a");
  assertEquals([changesOf("key:a"), changesOf("key:0")], [3, 1], "the first begins anew, the others are known");
});

/** Another one's calls, which the first one's measure sees. */
function measuredBeside(inner: Store, { add, delete: remove }: Store): Partial<Store> {
  return {
    get: (key) => inner.get(key),
    getRange: (...range) => inner.getRange(...range),
    update: (...args) => inner.update(...args),
    add,
    delete: remove,
  };
}
