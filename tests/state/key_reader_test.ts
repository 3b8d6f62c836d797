import { assertEquals, assertRejects } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { createKeyReader } from "../../src/state/key_reader.ts";
import { createKeyring, type Keyring } from "../../src/state/keyring.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { digestOf } from "../../src/util/digest.ts";
import { delay, within } from "../support/wait.ts";

const SOON_MS = 5_000;

/** A reader of a ring that fails or falls silent as the test wishes, and what it was asked. */
async function fixture(patienceMs = SOON_MS) {
  const clock = { ms: 0 };
  const now = () => clock.ms;
  const keyring = createKeyring(createMemoryStore({ now, limitBytes: 1_000_000 }), now);
  const state = { mode: "works" as "works" | "fails" | "silent", looks: 0, reads: 0 };
  const answers = Promise.withResolvers<void>();
  const answer = <T>(work: () => Promise<T>): Promise<T> => {
    if (state.mode === "fails") return Promise.reject(new Error("broken"));
    return state.mode === "silent" ? answers.promise.then(work) : work();
  };
  const ring: Pick<Keyring, "find" | "version"> = {
    find: (digest) => (state.reads++, answer(() => keyring.find(digest))),
    version: () => (state.looks++, answer(() => keyring.version())),
  };
  const digest = digestOf((await keyring.create({ name: "team" }))!);
  const newReader = () => {
    const find = createKeyReader(ring, { now, patienceMs });
    return async (of = digest) => (await within(find(of)))?.name;
  };
  return { clock, keyring, state, answers, digest, newReader, nameOf: newReader() };
}

Deno.test("key reader: a key is read once, and revocations are looked for a few times a second while requests come", async () => {
  const { clock, state, nameOf } = await fixture();
  for (let ms = 0; ms < 10_000; ms += 10) {
    assertEquals(await nameOf(), "team");
    clock.ms += 10;
  }
  assertEquals([state.reads, state.looks], [1, 25]);
  clock.ms += 3_600_000;
  assertEquals([await nameOf(), state.looks], ["team", 26]);
});

for (const pauseMs of [10, 300, 900, 60_000]) {
  Deno.test(`key reader: a revoked key is refused within a second, where a request comes every ${pauseMs} ms`, async () => {
    const { clock, keyring, nameOf } = await fixture();
    const others = [];
    for (const name of ["one", "two"]) others.push(digestOf((await keyring.create({ name }))!));
    for (const digest of others) await nameOf(digest);
    await nameOf();
    await keyring.revoke("team");
    const revokedAt = clock.ms;
    do {
      clock.ms += pauseMs;
      await delay(0); // what began with the request before is over
    } while (await nameOf() !== undefined && clock.ms < revokedAt + 120_000);
    assertEquals([clock.ms - revokedAt <= Math.max(1_000, pauseMs)], [true], `${clock.ms - revokedAt} ms`);
    for (const [index, digest] of others.entries()) assertEquals(await nameOf(digest), ["one", "two"][index]);
  });
}

Deno.test("key reader: what is no key is asked for a few times a second at most, and a new key counts at once", async () => {
  const { clock, keyring, state, nameOf } = await fixture();
  const wrong = digestOf("wrong");
  for (let ms = 0; ms < 2_000; ms += 10) {
    assertEquals(await nameOf(wrong), undefined);
    clock.ms += 10;
  }
  assertEquals(state.reads, 5);
  assertEquals(await nameOf(digestOf((await keyring.create({ name: "new" }))!)), "new");
});

for (const mode of ["fails", "silent"] as const) {
  Deno.test(`key reader: while the store ${mode}, a known key is one, nobody waits, and no other is known`, async () => {
    const { clock, keyring, state, digest, nameOf, newReader } = await fixture(10);
    await nameOf();
    state.mode = mode;
    for (let ms = 0; ms < 60_000; ms += 50) {
      clock.ms += 50;
      assertEquals(await nameOf(), "team");
    }
    const { code, details } = await assertRejects(() => newReader()(digest), GatewayError);
    assertEquals([code, details.retryAfter], ["unavailable", "1"]);
    // What was revoked meanwhile is refused as soon as the store works again, though nobody came for a while.
    await keyring.revoke("team");
    state.mode = "works";
    clock.ms += 60_000;
    assertEquals(await nameOf(), undefined);
  });
}

Deno.test("key reader: a store that falls silent holds up the first who comes after a pause, and not for long", async () => {
  const { clock, state, answers, nameOf } = await fixture(60_000);
  await nameOf();
  state.mode = "silent";
  clock.ms += 60_000;
  assertEquals(await Promise.all([nameOf(), nameOf()]), ["team", "team"]);
  answers.resolve();
  await delay(0);
});

Deno.test("key reader: a key whose revocation nobody was notified of is read again after half a minute", async () => {
  const { clock, keyring, nameOf, digest } = await fixture();
  await nameOf();
  const version = await keyring.version();
  const reader = createKeyReader({ find: keyring.find.bind(keyring), version: () => Promise.resolve(version) }, {
    now: () => clock.ms,
    patienceMs: SOON_MS,
  });
  assertEquals((await reader(digest))?.name, "team");
  await keyring.revoke("team");
  clock.ms += 30_000;
  assertEquals(await reader(digest), undefined);
});
