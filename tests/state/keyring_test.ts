/** Keys in every store that they can be kept in. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createKeyring, type Keyring } from "../../src/state/keyring.ts";
import type { Store } from "../../src/state/store.ts";
import { digestOf } from "../../src/util/digest.ts";
import { ENGINES } from "./engines.ts";

const CREATED = "2026-11-21T00:00:00.000Z";
const ALL = { limit: 1_000 };
/** As a version of this program kept them that had one value for all. */
const OLD = ["ada", "bob"].map((name) => ({
  name,
  lanes: ["oss"],
  digest: digestOf(`old ${name}`),
  created: "2026-10-01T00:00:00.000Z",
}));

interface Setting {
  keyring: Keyring;
  /** Of another process on the same store. */
  other: Keyring;
  store: Store;
}

function test(name: string, use: (setting: Setting) => Promise<void>): void {
  for (const [kind, { isMissing, run }] of Object.entries(ENGINES)) {
    Deno.test({
      name: `keyring: ${name} · ${kind}`,
      ignore: isMissing,
      fn: () =>
        run(async (open, clock) => {
          clock.time = Date.parse(CREATED);
          const store = open();
          const another = kind === "memory" ? store : open();
          const now = () => clock.time;
          await use({ store, keyring: createKeyring(store, now), other: createKeyring(another, now) });
        }),
    });
  }
}

const namesOf = async (keyring: Keyring, page = ALL) => (await keyring.list(page)).map(({ name }) => name);

test("a key is shown once, and only its hash is kept", async ({ keyring, other, store }) => {
  const secret = (await keyring.create({ name: "team", lanes: ["oss"] }))!;
  assertMatch(secret, /^laneway_[\w-]{43}$/);
  const key = { name: "team", lanes: ["oss"], digest: digestOf(secret), created: CREATED };
  assertEquals([await other.list(ALL), await other.find(key.digest)], [[key], key]);
  assertEquals(await other.find(digestOf("another")), undefined);
  const kept = await store.get(["keyring", "all", "digest", key.digest]);
  assert(kept !== undefined && !JSON.stringify(kept).includes(secret.slice(8)));
});

test("no two keys share a name, whoever makes them; a revoked one's is free again", async ({ keyring, other }) => {
  const both = await Promise.all([keyring, other].map((one) => one.create({ name: "team" })));
  assertEquals(both.filter((secret) => secret !== undefined).length, 1);
  assertEquals([await other.revoke("team"), await keyring.revoke("team")], [true, false]);
  assertEquals(await keyring.find(digestOf(both.find((secret) => secret !== undefined)!)), undefined);
  assert(await keyring.create({ name: "team" }));
});

test("one is limited anew by any process, keeps its secret and its place, and is not brought back where it is gone", async ({ keyring, other, store }) => {
  await store.update(["keys"], () => OLD);
  const secret = (await keyring.create({ name: "team", lanes: ["oss"], operator: true }))!;
  await keyring.create({ name: "last" });
  const version = await keyring.version();
  assertEquals(await other.limit({ name: "team", models: ["m"] }), true);
  assert(await keyring.version() !== version, "Whoever knows the key reads it again");
  const limited = { name: "team", models: ["m"], digest: digestOf(secret), created: CREATED };
  assertEquals(await keyring.find(limited.digest), limited);
  assertEquals(await other.limit({ name: "ada", team: "blue" }), true);
  const { digest, created } = OLD[0]!;
  assertEquals(await keyring.find(digest), { name: "ada", team: "blue", digest, created });
  assertEquals(await namesOf(keyring), ["ada", "bob", "team", "last"]);
  await Promise.all([
    keyring.revoke("team"),
    other.limit({ name: "team" }),
    other.limit({ name: "team", lanes: ["x"] }),
  ]);
  assertEquals([await keyring.find(limited.digest), await keyring.limit({ name: "team" })], [undefined, false]);
});

test("twenty made at once are all there, in pages too; the version changes when one is revoked", async ({ keyring, other }) => {
  const wanted = Array.from({ length: 20 }, (_, index) => `key ${index}`);
  await Promise.all(wanted.map((name, index) => (index % 2 ? keyring : other).create({ name })));
  const names = await namesOf(keyring);
  assertEquals(names.toSorted(), wanted.toSorted());
  const version = await keyring.version();
  await other.revoke(names[7]!);
  assert(await keyring.version() !== version);
  const left = names.filter((_, index) => index !== 7);
  const pages: string[][] = [];
  for (let after: string | undefined;; after = pages.at(-1)!.at(-1)) {
    const page = (await keyring.list({ limit: 8, after })).map(({ name }) => name);
    if (page.length === 0) break;
    pages.push(page);
  }
  assertEquals([pages.flat(), pages.map(({ length }) => length)], [left, [8, 8, 3]]);
});

test("keys that an earlier version made are keys, come first, and can be revoked, by that version too", async ({ keyring, other, store }) => {
  await store.update(["keys"], () => OLD);
  assertEquals(await keyring.find(OLD[1]!.digest), OLD[1]);
  assertEquals(await keyring.create({ name: "bob" }), undefined);
  await keyring.create({ name: "cyd" });
  assertEquals(await namesOf(other), ["ada", "bob", "cyd"]);
  assertEquals((await other.list({ limit: 2, after: "ada" })).map(({ name }) => name), ["bob", "cyd"]);
  const [first, last] = [await other.listFrom({ limit: 1 }), await keyring.listFrom({ limit: 3 })];
  assertEquals([first, last].map(({ keys }) => keys.map(({ name }) => name)), [["ada", "bob"], ["ada", "bob", "cyd"]]);
  assertEquals((await other.listFrom({ limit: 1, from: first.next })).keys.map(({ name }) => name), ["cyd"]);
  assertEquals(last.next, undefined);
  const versions = [await keyring.version()];
  assertEquals([await other.revoke("bob"), await other.revoke("bob")], [true, false]);
  versions.push(await keyring.version());
  await store.update(["keys"], () => []);
  versions.push(await keyring.version());
  assertEquals([await keyring.find(OLD[0]!.digest), await namesOf(keyring)], [undefined, ["cyd"]]);
  assertEquals(new Set(versions).size, 3);
});

test("a rotated key has another secret, and the former one until its time, whatever happens to the key", async ({ keyring, other, store }) => {
  await store.update(["keys"], () => OLD);
  const first = (await keyring.create({ name: "team", lanes: ["oss"], expires: "2027-01-01T00:00:00.000Z" }))!;
  const until = Date.parse("2026-11-23T00:00:00.000Z");
  const version = await keyring.version();
  const second = (await other.rotate("team", until))!;
  assert(second !== first && await keyring.version() !== version, "Whoever knows the key reads it again");
  const ends = async (secret: string) => (await keyring.find(digestOf(secret)))?.expires;
  assertEquals([await ends(first), await ends(second)], ["2026-11-23T00:00:00.000Z", "2027-01-01T00:00:00.000Z"]);
  assertEquals(await namesOf(keyring), ["ada", "bob", "team"]);
  assertEquals(await keyring.limit({ name: "team", models: ["m"] }), true);
  for (const secret of [first, second]) assertEquals((await other.find(digestOf(secret)))?.models, ["m"]);
  assertEquals([await ends(first), await ends(second)], ["2026-11-23T00:00:00.000Z", undefined]);
  const third = (await keyring.rotate("team", until))!;
  assertEquals(await keyring.find(digestOf(first)), undefined);
  assertEquals([await keyring.rotate("nobody", until), await keyring.rotate("ada", until)], [undefined, undefined]);
  assertEquals(await keyring.revoke("team"), true);
  for (const secret of [second, third]) assertEquals(await other.find(digestOf(secret)), undefined);
});

test("of many who rotate, limit and revoke at once, none leaves a secret that nobody can revoke", async ({ keyring, other }) => {
  const secrets = [(await keyring.create({ name: "team" }))!];
  const rotate = async (one: Keyring) => {
    const secret = await one.rotate("team", Date.parse("2027-01-01")).catch(() => undefined);
    if (secret !== undefined) secrets.push(secret);
  };
  await Promise.all([rotate(keyring), rotate(other), keyring.limit({ name: "team", lanes: ["oss"] }), rotate(keyring)]);
  assert(secrets.length > 1);
  const known = await Promise.all(secrets.map((secret) => keyring.find(digestOf(secret))));
  assertEquals(known.filter((key) => key !== undefined && key.expires === undefined).length, 1);
  assertEquals(await keyring.revoke("team"), true);
  for (const secret of secrets) assertEquals(await other.find(digestOf(secret)), undefined);
});
