/** Stores in a file that several processes use, and that processes die with. */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Store } from "../../src/state/store.ts";
import { FILE_STORES } from "./file_stores.ts";
import { put } from "./put.ts";
import { withFolder } from "./temp_folder.ts";
import { LATER, type WrittenValue, writtenValue } from "./written_value.ts";

/** Calls `use` with the path of a new database, and a store in it. */
function withStore(kind: string, use: (path: string, store: Store) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    const path = `${folder}/store.sqlite3`;
    const store = FILE_STORES[kind]!.open(path, { now: () => Date.now() });
    try {
      await use(path, store);
    } finally {
      store.close();
    }
  });
}

function spawnWriter(...args: string[]): Deno.ChildProcess {
  const script = new URL("writer.ts", import.meta.url).pathname;
  return new Deno.Command(Deno.execPath(), { args: ["run", "--allow-all", script, ...args], stdout: "piped" }).spawn();
}

/** The numbers of the writes that the process has reported, one by one. */
async function* reportsOf(process: Deno.ChildProcess): AsyncGenerator<number> {
  let rest = "";
  for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield Number(line);
  }
}

for (const [kind, { entriesFor, count }] of Object.entries(FILE_STORES)) {
  Deno.test(`${kind} store: several processes write to one file at once`, () =>
    withStore(kind, async (path, store) => {
      const [names, times] = [["ada", "bob", "cyd"], 20];
      const writers = names.map((name) => spawnWriter(kind, path, name, String(times)));
      const reported = await Promise.all(writers.map((writer) => Array.fromAsync(reportsOf(writer))));
      for (const writer of writers) assert((await writer.status).success);
      assertEquals(reported.map((numbers) => numbers.length), [times, times, times]);
      let entries = 0;
      const check = async (key: string[], expected?: WrittenValue) => {
        const value = await store.get(key) as WrittenValue;
        assertEquals(value, expected ?? writtenValue(value.writer, value.number));
        entries += entriesFor(JSON.stringify(value).length);
      };
      for (const name of names) {
        for (let number = 0; number < times; number++) await check([name, String(number)], writtenValue(name, number));
      }
      await check(["shared"]);
      assertEquals(await count(path), entries);
    }));

  Deno.test(`${kind} store: what a process has written is there after it is killed at any moment`, () =>
    withStore(kind, async (path, store) => {
      for (let round = 0; round < 8; round++) {
        const writer = spawnWriter(kind, path, `round ${round}`);
        const killAfter = Math.floor(Math.random() * 30);
        const reported: number[] = [];
        for await (const number of reportsOf(writer)) {
          reported.push(number);
          // The moment within the next write is left to chance.
          if (number === killAfter) setTimeout(() => writer.kill("SIGKILL"), Math.random() * 20);
        }
        assertEquals((await writer.status).signal, "SIGKILL");
        assert(reported.length > killAfter);
        for (const number of reported) {
          assertEquals(await store.get([`round ${round}`, String(number)]), writtenValue(`round ${round}`, number));
        }
        const shared = await store.get(["shared"]) as WrittenValue;
        assertEquals(shared, writtenValue(`round ${round}`, shared.number));
        // One of five values is too long to be changed by the writer.
        assert(shared.number >= reported.at(-1)! - 1);
      }
    }));
}

Deno.test("sqlite store: what has expired is removed by later writes", () =>
  withFolder(async (folder) => {
    let time = 0;
    const store = FILE_STORES.sqlite!.open(`${folder}/store.sqlite3`, { now: () => time });
    for (let index = 0; index < 500; index++) await put(store, [String(index)], index, 10);
    time = 10;
    for (let index = 0; index < 3; index++) await put(store, ["lasting", index], index, LATER);
    assertEquals(await FILE_STORES.sqlite!.count(`${folder}/store.sqlite3`), 3);
    store.close();
  }));

Deno.test("sqlite store: a full disk is named by the write that it fails, and what was there stays", () =>
  withFolder(async (folder) => {
    const { prototype } = DatabaseSync;
    const { prepare } = prototype;
    // Each connection has a limit of its own, and the store has no setting for it.
    prototype.prepare = function (sql) {
      this.exec("PRAGMA max_page_count = 20");
      return prepare.call(this, sql);
    };
    const store = FILE_STORES.sqlite!.open(`${folder}/store.sqlite3`, { now: () => 0 });
    try {
      await put(store, ["small"], 1, LATER);
      await assertRejects(() => put(store, ["large"], "x".repeat(1_000_000), LATER), Error, "database or disk is full");
      assertEquals([await store.get(["small"]), await store.get(["large"])], [1, undefined]);
    } finally {
      store.close();
      prototype.prepare = prepare;
    }
  }));

Deno.test("sqlite store: a time between two milliseconds renews as it adds", () =>
  withFolder(async (folder) => {
    let time = 0;
    const store = FILE_STORES.sqlite!.open(`${folder}/store.sqlite3`, { now: () => time });
    await store.add([[["old"], 1]], 10);
    await store.add([[["new"], 2]], 20.5, { keys: [["old"]], expiresAt: 20.5 });
    time = 20;
    assertEquals([await store.get(["old"]), await store.get(["new"])], [1, 2]);
    store.close();
  }));

Deno.test("sqlite store: a file of Deno's database or of anybody else is refused and stays as it is", () =>
  withFolder(async (folder) => {
    const now = () => 0;
    const deno = FILE_STORES.kv!.open(`${folder}/deno`, { now });
    await put(deno, ["a"], 1, LATER);
    await Deno.writeTextFile(`${folder}/notes`, "Somebody else's notes. ".repeat(100));
    for (const [name, words] of [["deno", "another program"], ["notes", "not a database"]] as const) {
      const store = FILE_STORES.sqlite!.open(`${folder}/${name}`, { now });
      await assertRejects(() => put(store, ["a"], 2, LATER), Error, words);
      store.close();
    }
    assertEquals(await deno.get(["a"]), 1);
    assertEquals((await Deno.readTextFile(`${folder}/notes`)).slice(0, 9), "Somebody ");
    deno.close();
  }));
