import { assert, assertEquals, assertRejects } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { GatewayError } from "../../src/errors.ts";
import { openKvFile } from "../../src/state/kv_file.ts";
import { createKvStore } from "../../src/state/kv_store.ts";
import type { Store } from "../../src/state/store.ts";
import { withFolder } from "./temp_folder.ts";
import { LATER } from "./written_value.ts";
import { put } from "./put.ts";

const now = () => Date.now();

/** Calls `use` with the path of a new database, a store in it and the open database itself. */
function withDatabase(use: (path: string, store: Store, kv: Deno.Kv) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    const path = `${folder}/store.sqlite3`;
    using kv = await openKvFile(path);
    const store = createKvStore({ open: () => openKvFile(path), now });
    try {
      await use(path, store, kv);
    } finally {
      store.close();
    }
  });
}

async function entriesIn(kv: Deno.Kv): Promise<number> {
  return (await Array.fromAsync(kv.list({ prefix: [] }))).length;
}

function lengthOf(value: unknown): number | undefined {
  return typeof value === "string" ? value.length : undefined;
}

const SIZES = [5, 70_000, 3_000_000, 100_000];

Deno.test("kv store: nothing is left of a value that was replaced or deleted", () =>
  withDatabase(async (_path, store, kv) => {
    for (const size of [...SIZES, 5]) {
      await put(store, ["a"], "x".repeat(size), LATER);
      assertEquals(await entriesIn(kv), 1 + (size > 64_000 ? Math.ceil((size + 2) / 65_536) : 0));
    }
    for (const size of SIZES) {
      await put(store, ["a"], "x".repeat(size), LATER);
      assertEquals(await store.delete(["a"]), true);
      assertEquals(await entriesIn(kv), 0);
    }
    await put(store, ["a"], "x".repeat(100_000), 0);
    assertEquals(await store.delete(["a"]), false);
    assertEquals(await entriesIn(kv), 0);
  }));

Deno.test("kv store: the largest value replaces itself, and a larger one is refused", () =>
  withDatabase(async (_path, store, kv) => {
    const largest = 900 * 65_536;
    for (const character of "ab") await put(store, ["a"], character.repeat(largest - 2), LATER);
    assertEquals(await entriesIn(kv), 901);
    const refused = () => put(store, ["a"], "c".repeat(largest - 1), LATER);
    await assertRejects(refused, Error, "Cannot store 58982401 bytes: the limit is 58982400");
    assertEquals(await store.get(["a"]) === "b".repeat(largest - 2), true);
  }));

Deno.test("kv store: everything in the database expires by itself", () =>
  withFolder(async (folder) => {
    const path = `${folder}/store.sqlite3`;
    const store = createKvStore({ open: () => openKvFile(path), now: () => 1_000 });
    const before = Date.now();
    for (const size of SIZES) await put(store, [String(size)], "x".repeat(size), 1_000 + 500_000.5);
    store.close();
    using database = new DatabaseSync(path);
    const rows = database.prepare("select expiration_ms as at from kv").all() as { at: number }[];
    assertEquals(rows.length, 4 + 2 + 46 + 2);
    for (const { at } of rows) assert(at >= before + 500_000 && at <= Date.now() + 500_001);
  }));

Deno.test("kv store: calls at once on one key each see a whole value, and one value stays", () =>
  withDatabase(async (_path, store, kv) => {
    await put(store, ["a"], "x".repeat(SIZES[0]!), LATER);
    const writes = Array.from(
      { length: 40 },
      (_, index) => put(store, ["a"], "x".repeat(SIZES[index % SIZES.length]!), LATER),
    );
    const reads = Array.from({ length: 40 }, () => store.get(["a"]));
    for (const value of await Promise.all(reads)) assert(SIZES.includes(lengthOf(value)!));
    await Promise.all(writes);
    const size = lengthOf(await store.get(["a"]))!;
    assert(SIZES.includes(size));
    assertEquals(await entriesIn(kv), 1 + (size > 64_000 ? Math.ceil((size + 2) / 65_536) : 0));

    const removals = await Promise.all(Array.from({ length: 10 }, () => store.delete(["a"])));
    assertEquals(removals.filter((removed) => removed).length, 1);
    assertEquals(await entriesIn(kv), 0);
  }));

/** The database, of which everything fails from the commit of this number on, as if its process had died. */
function dyingAt(kv: Deno.Kv, commits: number): Deno.Kv {
  const atomic = kv.atomic.bind(kv);
  kv.atomic = () => {
    const operation = atomic();
    const commit = operation.commit.bind(operation);
    operation.commit = () => commits-- > 0 ? commit() : Promise.reject(new Error("Died"));
    return operation;
  };
  return kv;
}

/** Does `write` with a process that dies at ever later moments, until one lives long enough. */
async function dieAtEachCommit(
  path: string,
  write: (dying: Store) => Promise<unknown>,
  check: (done: boolean) => Promise<void>,
): Promise<void> {
  let done = false;
  for (let commits = 0; !done; commits++) {
    const dying = createKvStore({ open: async () => dyingAt(await openKvFile(path), commits), now });
    done = await write(dying).then(() => true, () => false);
    dying.close();
    await check(done);
  }
}

for (const [from, to] of [[5, 600_000], [600_000, 5], [600_000, 70_000]] as const) {
  Deno.test(`kv store: a change of ${from} to ${to} that ends early leaves the one or the other`, () =>
    withDatabase(async (path, store) => {
      await store.update(["a"], () => "x".repeat(from));
      await dieAtEachCommit(
        path,
        (dying) => dying.update(["a"], () => "x".repeat(to)),
        async (done) => assertEquals(lengthOf(await store.get(["a"])), done ? to : from),
      );
    }));
}

for (const sizes of [[5, 6], [5, 3_000_000, 70_000], [63_000, 63_000, 700_000]]) {
  Deno.test(`kv store: an addition of ${sizes.join(" and ")} that ends early leaves all of them or none`, () =>
    withDatabase(async (path, store) => {
      const keys = sizes.map((size, index) => ["a", String(size), index]);
      await dieAtEachCommit(
        path,
        (dying) => dying.add(sizes.map((size, index) => [keys[index]!, "x".repeat(size)] as const), LATER),
        async (done) => {
          const lengths = (await Promise.all(keys.map((key) => store.get(key)))).map(lengthOf);
          assertEquals(lengths, sizes.map((size) => done ? size : undefined));
        },
      );
    }));
}

Deno.test("kv store: what is not added because something is there leaves nothing", () =>
  withDatabase(async (_path, store, kv) => {
    await store.add([[["a"], 1]], LATER);
    assertEquals(await store.add([[["b"], "x".repeat(3_000_000)], [["a"], 2]], LATER), false);
    assertEquals([await store.get(["a"]), await store.get(["b"]), await entriesIn(kv)], [1, undefined, 1]);
  }));

Deno.test("kv store: a value whose chunks are lost is no value", () =>
  withDatabase(async (_path, store, kv) => {
    await put(store, ["a"], "x".repeat(200_000), LATER);
    for await (const { key } of kv.list({ prefix: ["laneway", "chunk"] })) await kv.delete(key);
    assertEquals(await store.get(["a"]), undefined);
  }));

Deno.test("kv store: opens at the first need, once for all who ask, and again where that failed", () =>
  withFolder(async (folder) => {
    let opened = 0;
    let fail = true;
    const store = createKvStore({
      open: () => {
        opened++;
        return fail ? Promise.reject(new Error("No disk")) : openKvFile(`${folder}/store.sqlite3`);
      },
      now,
    });
    assertEquals(opened, 0);
    await Promise.all([1, 2].map(() => assertRejects(() => store.get(["a"]), Error, "No disk")));
    assertEquals(opened, 1);
    fail = false;
    await Promise.all([put(store, ["a"], 1, LATER), put(store, ["b"], 2, LATER)]);
    assertEquals([await store.get(["a"]), await store.get(["b"])], [1, 2]);
    assertEquals(opened, 2);
    store.close();
    await assertRejects(() => store.get(["a"]), Error, "Cannot use the store: it is closed");
  }));

Deno.test("kv store: can be closed before it is open", () =>
  withFolder(async (folder) => {
    createKvStore({ open: () => Promise.reject(new Error("Nobody asked")), now }).close();

    const opening = Promise.withResolvers<Deno.Kv>();
    const begun = Promise.withResolvers<void>();
    const open = () => {
      begun.resolve();
      return opening.promise;
    };
    const store = createKvStore({ open, now });
    const refused = assertRejects(() => store.get(["a"]), Error, "Cannot use the store: it is closed");
    await begun.promise;
    store.close();
    store.close();
    const kv = await openKvFile(`${folder}/store.sqlite3`);
    opening.resolve(kv);
    await refused;
    await assertRejects(() => kv.get(["a"]), Deno.errors.BadResource);
  }));

Deno.test("kv store: is not opened again if it is closed while its file is looked for", () =>
  withFolder(async (folder) => {
    const looked = Promise.withResolvers<boolean>();
    let opened = 0;
    const open = () => {
      opened++;
      return openKvFile(`${folder}/store.sqlite3`);
    };
    const store = createKvStore({ open, isGone: () => looked.promise, now });
    const isStored = put(store, ["a"], 1, LATER);
    looked.resolve(false);
    await isStored;
    const refused = assertRejects(() => store.get(["a"]), Error, "Cannot use the store: it is closed");
    store.close();
    await refused;
    assertEquals(opened, 1);
  }));

Deno.test("kv store: a value that is too long to be changed in one step is refused as one for which there is no room", () =>
  withDatabase(async (_path, store) => {
    await store.update(["a"], () => "kept");
    const refused = await assertRejects(() => store.update(["a"], () => "x".repeat(800_000)), GatewayError);
    assertEquals([refused.code, refused.details.reason, refused.details.retryable], [
      "unavailable",
      "storage_quota_exceeded",
      false,
    ]);
    assertEquals(await store.get(["a"]), "kept");
  }));
