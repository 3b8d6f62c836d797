/** What stored conversations are, on every engine, whatever their depth. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { GatewayError } from "../../../src/errors.ts";
import type { Store } from "../../../src/state/store.ts";
import { ENGINES } from "../engines.ts";
import { assistant, Client, RETENTION_MS, talkOf, user, writeOld } from "./client.ts";

/** The store, and the names of the calls that pass it. */
function watched(store: Store) {
  const calls: string[] = [];
  const watching: Store = {
    get: (key) => (calls.push("get"), store.get(key)),
    getRange: (...range) => (calls.push("getRange"), store.getRange(...range)),
    add: (...args) => (calls.push("add"), store.add(...args)),
    ensure: (...args) => store.ensure(...args),
    update: (...args) => store.update(...args),
    delete: (...keys) => (calls.push("delete"), store.delete(...keys)),
    close: () => store.close(),
  };
  return { calls, store: watching };
}

for (const [kind, { isMissing, run }] of Object.entries(ENGINES)) {
  const test = (name: string, use: (store: Store, clock: { time: number }) => Promise<void>) =>
    Deno.test({
      name: `conversations, ${kind}: ${name}`,
      ignore: isMissing,
      fn: () => run((open, clock) => use(open(), clock)),
    });

  for (const depth of [1, 20, 200, 1_000]) {
    test(`a turn after ${depth} others takes one read and one write where the same gateway gave the last answer, and two reads elsewhere`, async (inner) => {
      const { calls, store } = watched(inner);
      const client = new Client(store);
      const texts = Array.from({ length: depth }, (_, index) => `turn ${index}`);
      const ids = await (depth > 200 ? client.talkBlindly(texts) : client.talk(texts));
      calls.length = 0;
      const next = await client.turn("next", ids.at(-1), "next");
      assertEquals(calls, ["getRange", "add"]);
      calls.length = 0;
      await new Client(store).turn("one more", next, "one more");
      assertEquals(calls, ["get", "getRange", "add"]);
      assertEquals(await client.before(ids.at(-1)!), talkOf(...texts));
    });
  }

  test("a turn keeps no more for being late", async (inner) => {
    let bytes = 0;
    const store: Store = Object.assign(Object.create(inner), {
      add(entries: [unknown, unknown][], expiresAt: number) {
        bytes = JSON.stringify(entries).length;
        return inner.add(entries as never, expiresAt);
      },
      get: (key: string[]) => inner.get(key),
      getRange: (list: string[], from: number, to: number) => inner.getRange(list, from, to),
    });
    const client = new Client(store);
    let previous = await client.turn("text", undefined, "id-000");
    const first = bytes;
    for (let turn = 1; turn < 300; turn++) {
      previous = await client.turn("text", previous, `id-${String(turn).padStart(3, "0")}`);
    }
    // The digits of a few numbers, and the id of the turn before.
    assert(bytes < first + 60, `The first turn kept ${first} bytes, the last ${bytes}`);
  });

  test("conversations fork anywhere, at once too, and know nothing of each other", async (store) => {
    const client = new Client(store);
    const root = await client.talk(["a", "b", "c"]);
    const forks = ["x", "y", "z"];
    const ends = await Promise.all(forks.map(async (name) => {
      const own = new Client(store, { owner: "ada" });
      const first = await own.turn(`${name}1`, root[1], `${name}-1`);
      return await own.turn(`${name}2`, first, `${name}-2`);
    }));
    for (const [index, name] of forks.entries()) {
      assertEquals(await client.before(ends[index]!), talkOf("a", "b", `${name}1`, `${name}2`));
    }
    assertEquals(await client.before(root[2]!), talkOf("a", "b", "c"));
    // One that ends leaves the others.
    await client.forget("x-1");
    await client.assertLacks("x-2", "x-1");
    assertEquals(await client.before("y-2"), talkOf("a", "b", "y1", "y2"));
  });

  test("a conversation that forks at every turn goes on", async (inner) => {
    const { calls, store } = watched(inner);
    const client = new Client(store);
    const texts: string[] = [];
    let previous: string | undefined;
    for (let turn = 0; turn < 100; turn++) {
      await client.turn(`not taken ${turn}`, previous);
      texts.push(`taken ${turn}`);
      previous = await client.turn(texts.at(-1)!, previous);
    }
    calls.length = 0;
    assertEquals(await client.before(previous!), talkOf(...texts));
    assert(calls.length <= 100 + 100 / 32 + 1, `${calls.length} reads`);
  });

  test("a turn that was deleted is missing to those after it, and to none before it", async (store) => {
    const client = new Client(store);
    const ids = await client.talk(["a", "b", "c", "d"]);
    assertEquals([await client.forget(ids[1]!), await client.forget(ids[1]!)], [true, false]);
    await client.assertLacks(ids[1]!);
    await client.assertLacks(ids[2]!, ids[1]);
    await client.assertLacks(ids[3]!, ids[1]);
    assertEquals(await client.find(ids[1]!), undefined);
    assertEquals((await client.find(ids[3]!))?.previous, ids[2]);
    // Another turn takes its place, for itself only.
    const other = await client.turn("e", ids[0]);
    assertEquals(await client.before(other), talkOf("a", "e"));
    await client.assertLacks(ids[3]!, ids[1]);
    assertEquals(await client.forget(ids[1]!), false);
    assertEquals(await client.before(other), talkOf("a", "e"));
  });

  test("a turn that another gateway deleted is missing to the one that wrote it", async (store) => {
    const [writer, other] = [new Client(store), new Client(store)];
    const ids = await writer.talk(["a", "b"]);
    assertEquals(await other.forget(ids[1]!), true);
    await writer.assertLacks(ids[1]!);
    assertEquals([await writer.find(ids[1]!), await writer.forget(ids[1]!)], [undefined, false]);
    // What lies in its place since then is not it.
    await other.turn("c", ids[0], "later");
    await writer.assertLacks(ids[1]!);
    assertEquals(await writer.before("later"), talkOf("a", "c"));
  });

  test("every turn is kept as long as the last one that follows it", async (store, clock) => {
    const client = new Client(store, { now: () => clock.time });
    const ids: string[] = [];
    for (const text of ["a", "b", "c"]) {
      ids.push(await client.turn(text, ids.at(-1)));
      clock.time += 300_000;
    }
    clock.time = RETENTION_MS - 1;
    assertEquals(await client.before(ids[2]!), talkOf("a", "b", "c"));
    const alone = await client.turn("alone");
    clock.time = RETENTION_MS + 599_999;
    assertEquals(await client.before(ids[2]!), talkOf("a", "b", "c"));
    for (const [index, id] of ids.entries()) assertEquals((await client.find(id))?.previous, ids[index - 1]);
    clock.time = RETENTION_MS + 600_000;
    await client.assertLacks(ids[2]!);
    // What was renewed stays a thirtieth longer.
    clock.time = Math.ceil(RETENTION_MS + 600_000 + RETENTION_MS / 30);
    await client.assertLacks(ids[0]!);
    await client.assertLacks(ids[1]!);
    assertEquals((await client.find(alone))?.id, alone);
  });

  test(
    "a conversation that goes on for long is kept from its first turn on, with large turns, too",
    async (store, clock) => {
      const limits = { characters: 10_000_000, values: 10_000 };
      const client = new Client(store, { now: () => clock.time, limits });
      const ids: string[] = [];
      const texts = Array.from({ length: 40 }, (_, index) => index % 7 === 0 ? `${index}`.repeat(100_000) : `${index}`);
      for (const text of texts) {
        ids.push(await client.turn(text, ids.at(-1)));
        clock.time += RETENTION_MS / 4;
      }
      assertEquals(await client.before(ids.at(-1)!), talkOf(...texts));
      const fork = await client.turn("x", ids[0]);
      assertEquals(await client.before(fork), talkOf(texts[0]!, "x"));
      clock.time += RETENTION_MS * 0.75 - 1;
      assertEquals(await client.before(ids.at(-1)!), talkOf(...texts));
    },
  );

  test(
    "the turns of a long conversation are renewed once in a while, and the last one each time",
    async (inner, clock) => {
      const renewed: number[] = [];
      const store: Store = {
        ...watched(inner).store,
        add(entries, expiresAt, renewal) {
          renewed.push(renewal?.keys.length ?? 0);
          return inner.add(entries, expiresAt, renewal);
        },
      };
      const client = new Client(store, { now: () => clock.time });
      let previous: string | undefined;
      for (let turn = 0; turn < 60; turn++) {
        previous = await client.turn(`${turn}`, previous);
        clock.time += RETENTION_MS / 1_000;
      }
      const whole = renewed.flatMap((keys, turn) => keys > 3 ? [turn] : []);
      assertEquals(whole, [35], "after a thirtieth of the time");
      assertEquals(
        renewed.every((keys, turn) => keys === (turn === 0 ? 0 : turn === 35 ? 105 : 3)),
        true,
        `${renewed}`,
      );
    },
  );

  test("nobody sees or deletes another's turns, of the same ids too", async (store) => {
    const [ada, bob] = [new Client(store, { owner: "ada" }), new Client(store, { owner: "bob" })];
    await ada.turn("a", undefined, "one");
    await ada.turn("b", "one", "two");
    await bob.assertLacks("two");
    assertEquals([await bob.find("two"), await bob.forget("two")], [undefined, false]);
    await bob.turn("x", undefined, "one");
    await bob.turn("y", "one", "two");
    assertEquals(await bob.before("two"), talkOf("x", "y"));
    assertEquals(await ada.before("two"), talkOf("a", "b"));
    assertEquals(await bob.forget("one"), true);
    assertEquals(await ada.before("two"), talkOf("a", "b"));
  });

  test("conversations of the version before go on", async (inner) => {
    const { calls, store } = watched(inner);
    const client = new Client(store);
    await writeOld(store, "old-1", "a");
    await writeOld(store, "old-2", "b", "old-1");
    assertEquals(await client.before("old-2"), talkOf("a", "b"));
    const ids = await client.talk(["c", "d"], "old-2");
    const fork = await client.turn("x", "old-2");
    assertEquals(await client.before(ids[1]!), talkOf("a", "b", "c", "d"));
    assertEquals(await client.before(fork), talkOf("a", "b", "x"));
    assertEquals((await client.find("old-2"))?.messages, [user("b")]);
    assertEquals(await client.forget("old-1"), true);
    await client.assertLacks(ids[1]!, "old-1");
    assertEquals(await client.find("old-1"), undefined);
    calls.length = 0;
    assertEquals([await client.forget("old-2"), calls], [true, ["get", "delete"]]);
  });

  test("what a later version writes beside is left aside", async (inner) => {
    const store: Store = Object.assign(Object.create(inner), {
      add: (entries: [string[], object][], expiresAt: number) =>
        inner.add(entries.map(([key, value]) => [key, { ...value, version: 99, later: { x: 1 } }]), expiresAt),
      get: (key: string[]) => inner.get(key),
      getRange: (list: string[], from: number, to: number) => inner.getRange(list, from, to),
    });
    const ids = await new Client(store).talk(["a", "b"]);
    const client = new Client(inner);
    assertEquals(await client.before(ids[1]!), talkOf("a", "b"));
    assertEquals((await client.find(ids[1]!))?.response.content, assistant("Re: b").content);
    assertEquals(await client.forget(ids[1]!), true);
  });

  test("a conversation that is too long is refused before it is read", async (inner) => {
    const { calls, store } = watched(inner);
    const ids = await new Client(store).talk(["a".repeat(400), "b".repeat(400), "c".repeat(400)]);
    const client = new Client(store, { limits: { characters: 1_800, values: 10_000 } });
    assertEquals((await client.before(ids[1]!)).length, 4);
    calls.length = 0;
    const error = await assertRejects(() => client.before(ids[2]!), GatewayError, "longer than one request may be");
    assertEquals([error.code, calls], ["invalid_request", ["get"]]);
    await writeOld(store, "old-1", "a".repeat(600));
    await writeOld(store, "old-2", "b".repeat(600), "old-1");
    await assertRejects(() => client.before("old-2"), GatewayError, "longer than one request may be");
  });

  for (const call of ["get", "getRange", "add"] as const) {
    test(`a store that fails at ${call} in the middle of a turn costs that turn only`, async (inner) => {
      let isBroken = false;
      const store: Store = Object.assign(watched(inner).store, {
        [call]: (...args: never[]) =>
          isBroken ? Promise.reject(new Error("No disk")) : (inner[call] as (...args: never[]) => unknown)(...args),
      });
      const ids = await new Client(store).talk(["a", "b"]);
      const client = new Client(store);
      isBroken = true;
      await assertRejects(() => client.turn("lost", ids[1], "lost"));
      isBroken = false;
      await client.assertLacks("lost");
      const next = await client.turn("c", ids[1], "next");
      assertEquals(await client.before(next), talkOf("a", "b", "c"));
    });
  }
}

for (const kind of ["kv", "redis"].filter((kind) => kind in ENGINES)) {
  const { isMissing, run } = ENGINES[kind]!;
  Deno.test({
    name: `conversations, ${kind}: two processes go on from each other's turns, at once too`,
    ignore: isMissing,
    fn: () =>
      run(async (open) => {
        const stores = [open(), open()];
        const [one, two] = stores.map((store) => new Client(store)) as [Client, Client];
        let previous: string | undefined;
        const texts = Array.from({ length: 20 }, (_, index) => `turn ${index}`);
        for (const [index, text] of texts.entries()) {
          previous = await (index % 2 === 0 ? one : two).turn(text, previous, `id-${index}`);
        }
        assertEquals(await one.before(previous!), talkOf(...texts));
        // Both go on from the same turn at the same time: neither takes the other's place.
        const forks = await Promise.all(
          Array.from(
            { length: 10 },
            (_, index) => (index % 2 === 0 ? one : two).turn(`fork ${index}`, previous, `fork-${index}`),
          ),
        );
        for (const [index, id] of forks.entries()) {
          assertEquals(await two.before(id), talkOf(...texts, `fork ${index}`));
        }
      }),
  });
}
