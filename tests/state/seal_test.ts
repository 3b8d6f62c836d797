import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { character } from "../support/arbitraries.ts";
import fc from "fast-check";
import type { Thought } from "../../src/transforms/sealing.ts";
import { runUnsliced } from "../../src/util/sliced_work.ts";
import { openFileStore } from "./file_stores.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { createSealer, createSealing, type LoadedSealer, type Sealer } from "../../src/state/seal.ts";
import type { Store } from "../../src/state/store.ts";
import { until } from "../support/wait.ts";
import { withFolder } from "./temp_folder.ts";

const KEY = new Uint8Array(32).fill(7);
const THOUGHT: Thought = { text: "hm" };

/** A store that answers as `ensure` says; the other verbs are not asked. */
function storeThat(ensure: Store["ensure"]): Store {
  return { ...createMemoryStore({ now: () => 0, limitBytes: 1_000 }), ensure };
}

Deno.test("a long text is opened in pieces, whether or not it was sealed here", () => {
  const sealer = createSealer(KEY);
  const sealed = sealer.seal({ text: "x".repeat(10_000_000) }, "w", "o");
  for (const [text, isOurs] of [[sealed, true], [`lw1.${"A".repeat(sealed.length)}`, false]] as const) {
    let turns = 0;
    const work = sealer.open(text, "w", "o");
    let opened = work.next();
    for (; !opened.done; opened = work.next()) turns++;
    assertEquals(opened.value?.text.length, isOurs ? 10_000_000 : undefined);
    assert(turns >= 10, `${turns} turns`);
  }
});

Deno.test("what was sealed opens as it was, in one line of ASCII", () => {
  const sealer = createSealer(KEY);
  const thoughts = fc.record({ text: fc.string({ unit: character }) });
  fc.assert(
    fc.property(thoughts, fc.string(), fc.string(), (thought, wire, owner) => {
      const sealed = sealer.seal(thought, wire, owner);
      assert(/^lw1\.[\w-]+$/.test(sealed));
      assertEquals(runUnsliced(sealer.open(sealed, wire, owner)), thought);
    }),
    { seed: 1 },
  );
  const lone = { text: "\ud800 \0\n" };
  assertEquals(runUnsliced(sealer.open(sealer.seal(lone, "w", "o"), "w", "o")), lone);
});

Deno.test("what somebody else signed, another key, wire or owner, and any change open nothing and throw nothing", () => {
  const sealer = createSealer(KEY);
  const sealed = sealer.seal(THOUGHT, "messages", "ann");
  const foreign = ["", "lw1.", "lw1", "lw2." + sealed.slice(4), "EqQBCgIYAhIk+==", "lw1.AAAA", sealed + "AAAA"];
  for (const text of foreign) assertEquals(runUnsliced(sealer.open(text, "messages", "ann")), undefined, text);
  assertEquals(runUnsliced(sealer.open(sealed, "responses", "ann")), undefined);
  assertEquals(runUnsliced(sealer.open(sealed, "messages", "bob")), undefined);
  assertEquals(runUnsliced(createSealer(KEY.slice().fill(8)).open(sealed, "messages", "ann")), undefined);
  const bytes = Uint8Array.fromBase64(sealed.slice(4), { alphabet: "base64url" });
  for (const [at, byte] of bytes.entries()) {
    const changed = bytes.slice();
    changed[at] = byte ^ 1;
    const text = `lw1.${changed.toBase64({ alphabet: "base64url", omitPadding: true })}`;
    assertEquals(runUnsliced(sealer.open(text, "messages", "ann")), undefined, `byte ${at}`);
  }
  assertEquals(runUnsliced(sealer.open(sealed, "messages", "ann")), THOUGHT);
});

Deno.test("names of wires and owners do not run together", () => {
  const sealer = createSealer(KEY);
  assertEquals(runUnsliced(sealer.open(sealer.seal(THOUGHT, "a", "bc"), "ab", "c")), undefined);
});

Deno.test("the same thought sealed twice is two texts, so that nobody sees that it is the same", () => {
  const sealer = createSealer(KEY);
  assertNotEquals(sealer.seal(THOUGHT, "w", "o"), sealer.seal(THOUGHT, "w", "o"));
});

const NEVER = storeThat(() => Promise.reject(new Error("Nobody asks")));

function sealingOn(store: Store, { secret, patienceMs = 5_000 }: { secret?: string; patienceMs?: number } = {}) {
  const clock = { ms: 0 };
  return { clock, load: createSealing({ secret, store, patienceMs, now: () => clock.ms }) };
}

async function sealerOf(load: () => Promise<LoadedSealer>): Promise<Sealer> {
  const { sealer, failure } = await load();
  if (!sealer) throw failure;
  return sealer;
}

Deno.test("the configured secret is the key, and the store is not asked", async () => {
  const [one, same, other] = await Promise.all(
    ["s3cret", "s3cret", "another"].map((secret) => sealerOf(sealingOn(NEVER, { secret }).load)),
  );
  const sealed = one!.seal(THOUGHT, "w", "o");
  assertEquals([runUnsliced(same!.open(sealed, "w", "o")), runUnsliced(other!.open(sealed, "w", "o"))], [
    THOUGHT,
    undefined,
  ]);
});

Deno.test("two gateways on one file, at once and after a restart, have one key, which the file keeps", () =>
  withFolder(async (folder) => {
    const open = () => openFileStore(`${folder}/store.sqlite3`, () => 0);
    const [one, two] = [open(), open()];
    const [first, second] = await Promise.all([one, two].map((store) => sealerOf(sealingOn(store).load)));
    const sealed = first!.seal(THOUGHT, "w", "o");
    assertEquals(runUnsliced(second!.open(sealed, "w", "o")), THOUGHT);
    one.close();
    two.close();
    const three = open();
    const third = await sealerOf(sealingOn(three).load);
    assertEquals(runUnsliced(third.open(sealed, "w", "o")), THOUGHT);
    three.close();
  }));

Deno.test("the key is asked for once, at the first need", async () => {
  let asked = 0;
  const memory = createMemoryStore({ now: () => 0, limitBytes: 1_000 });
  const { load } = sealingOn(storeThat((key, value) => (asked++, memory.ensure(key, value))));
  assertEquals(asked, 0);
  const [one, two] = await Promise.all([load(), load()]);
  assertEquals([asked, one], [1, two]);
});

const REST_MS = 500;

for (
  const [what, ensure] of [
    ["fails", () => Promise.reject(new Error("The disk is full"))],
    ["does not answer", () => new Promise<unknown>(() => {})],
    ["holds something else", () => Promise.resolve({ not: "a key" })],
  ] as const
) {
  Deno.test(`where the store ${what}, there is no key; it is asked again after a while, and what it gives then is the key`, async () => {
    const memory = createMemoryStore({ now: () => 0, limitBytes: 1_000 });
    let asked = 0;
    let failsYet = true;
    const store = storeThat((key, value) => (asked++, failsYet ? ensure() : memory.ensure(key, value)));
    const { clock, load } = sealingOn(store, { patienceMs: 10 });
    for (let request = 0; request < 3; request++) {
      const { sealer, failure } = await load();
      assertEquals([sealer, failure instanceof Error, asked], [undefined, true, 1]);
    }
    clock.ms += REST_MS;
    assertEquals([(await load()).sealer, asked], [undefined, 2]);
    failsYet = false;
    clock.ms += REST_MS;
    const sealed = (await sealerOf(load)).seal(THOUGHT, "w", "o");
    assertEquals(runUnsliced((await sealerOf(sealingOn(memory).load)).open(sealed, "w", "o")), THOUGHT);
  });
}

Deno.test("a key that comes late is there for the next request", async () => {
  const memory = createMemoryStore({ now: () => 0, limitBytes: 1_000 });
  const answer = Promise.withResolvers<void>();
  const store = storeThat(async (key, value) => (await answer.promise, await memory.ensure(key, value)));
  const { load } = sealingOn(store, { patienceMs: 10 });
  assertEquals((await load()).sealer, undefined);
  answer.resolve();
  await until(async () => (await load()).sealer !== undefined);
});
