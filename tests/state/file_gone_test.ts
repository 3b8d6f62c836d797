/** A store whose file is removed while it is open: nothing is written to where nobody finds it. */
import { assert, assertEquals } from "@std/assert";
import { configSchema } from "../../src/config/schema.ts";
import { createApp, type Warning } from "../../src/app.ts";
import type { Store } from "../../src/state/store.ts";
import { CONFIG, ENV } from "../support/app.ts";
import { ANSWER } from "../support/chat.ts";
import { runLaunched, withLaunched } from "../support/process.ts";
import { FILE_STORES } from "./file_stores.ts";
import { withFolder } from "./temp_folder.ts";

const LATER = 1_000_000;
const isUnix = Deno.build.os !== "windows";

/** What somebody does to the files of a store that is open. */
const WAYS: Record<string, (path: string, openStore: OpenStore) => Promise<void>> = {
  "is removed": (path) => Deno.remove(path),
  "is removed with all that belongs to it": async (path) => {
    for (const name of [path, `${path}-wal`, `${path}-shm`]) await Deno.remove(name);
  },
  "is moved away": (path) => Deno.rename(path, `${path}.old`),
  "is replaced by another one": async (path, openStore) => {
    (await openStore(`${path}.new`).put("other", 1)).close();
    await Deno.rename(`${path}.new`, path);
  },
  "is removed with its folder": (path) => Deno.remove(path.slice(0, path.lastIndexOf("/")), { recursive: true }),
};

type OpenStore = ReturnType<typeof openerOf>;

function openerOf(kind: string) {
  const openStore = (path: string, onLost = () => {}) => {
    const store = FILE_STORES[kind]!.open(path, { onLost, now: () => 0 });
    const put = async (key: string, value: unknown): Promise<Store> => {
      assertEquals(await store.add([[[key], value]], LATER), true);
      return store;
    };
    return { store, put };
  };
  return openStore;
}

const valuesIn = async (store: Store) => [await store.get(["before"]), await store.get(["after"])];

for (const kind of Object.keys(FILE_STORES)) {
  const openStore = openerOf(kind);

  for (const [way, change] of Object.entries(WAYS)) {
    Deno.test({
      name: `${kind} store: where the file ${way}, that is noticed, and what is written then is there after a restart`,
      ignore: !isUnix, // elsewhere an open file cannot be removed
      fn: () =>
        withFolder(async (folder) => {
          const path = `${folder}/data/store.sqlite3`;
          let lost = 0;
          const { store, put } = openStore(path, () => lost++);
          await put("before", 1);
          await change(path, openStore);
          await put("after", 2);
          assertEquals([await valuesIn(store), lost], [[undefined, 2], 1]);
          await put("more", 3);
          assertEquals(lost, 1);
          // As after a crash, too: another process sees it while this one is open.
          const { store: other } = openStore(path);
          assertEquals(await valuesIn(other), [undefined, 2]);
          other.close();
          store.close();
          const { store: next } = openStore(path);
          assertEquals([await valuesIn(next), await next.get(["more"])], [[undefined, 2], 3]);
          next.close();
        }),
    });
  }

  Deno.test({
    name: `${kind} store: processes that share a file all go on with the one that took its place`,
    ignore: !isUnix,
    fn: () =>
      withFolder(async (folder) => {
        const path = `${folder}/store.sqlite3`;
        const [one, two] = [openStore(path), openStore(path)];
        await one.put("before", 1);
        await two.put("before too", 1);
        await Deno.remove(path);
        await one.put("of one", 1);
        await two.put("of two", 2);
        await one.put("more", 3);
        for (const { store } of [one, two]) {
          assertEquals(await Promise.all(["of one", "of two", "more"].map((key) => store.get([key]))), [1, 2, 3]);
          store.close();
        }
        const { store } = openStore(path);
        assertEquals(await Promise.all(["of one", "of two", "more"].map((key) => store.get([key]))), [1, 2, 3]);
        store.close();
      }),
  });

  Deno.test({
    name: `${kind} store: a file that cannot be made again refuses, and takes over once it can`,
    ignore: !isUnix,
    fn: () =>
      withFolder(async (folder) => {
        const path = `${folder}/data/store.sqlite3`;
        const { store, put } = openStore(path);
        await put("before", 1);
        await Deno.remove(`${folder}/data`, { recursive: true });
        await Deno.writeTextFile(`${folder}/data`, "a file in the folder's place");
        let failure: unknown;
        await put("after", 2).catch((error) => failure = error);
        assert(failure, "it is refused");
        await Deno.remove(`${folder}/data`);
        await put("after", 2);
        assertEquals(await valuesIn(store), [undefined, 2]);
        store.close();
      }),
  });
}

Deno.test({
  name: "a gateway whose store's file is removed logs it, says so with its readiness, and keeps what comes next",
  ignore: !isUnix,
  fn: () =>
    withFolder(async (folder) => {
      const path = `${folder}/store.sqlite3`;
      const warnings: unknown[] = [];
      const app = createApp({
        config: configSchema.parse({ ...CONFIG, store: { path } }),
        env: (name) => ENV[name],
        fetch: () => Promise.resolve(Response.json(ANSWER)),
        log: () => {},
        warn: (warning: Warning) => void warnings.push(warning),
      });
      const send = async (path: string, body?: object) => {
        const method = body ? "POST" : "GET";
        const headers = { "content-type": "application/json" };
        const url = `http://gateway${path}`;
        return await (await app.fetch(new Request(url, { method, headers, body: body && JSON.stringify(body) })))
          .json();
      };
      const ask = (previous_response_id?: string) =>
        send("/oss/v1/responses", { model: "model", input: "Hello", previous_response_id });
      const before = await ask();
      assertEquals(await send("/readyz"), { status: "ready" });
      await Deno.remove(path);
      assertEquals((await ask(before.id)).error.code, "previous_response_not_found");
      const after = await ask();
      assertEquals((await ask(after.id)).status, "completed");
      assertEquals(await send("/readyz"), { status: "ready", warning: "store-file-removed" });
      const [{ warning, message }] = warnings as [{ warning: string; message: string }];
      assertEquals([warnings.length, warning, message.includes(path)], [1, "store", true]);
      await app.close();
    }),
});

Deno.test({
  name: "the doctor finds that the gateway which runs has lost its store's file",
  ignore: !isUnix,
  fn: () =>
    withFolder(async (cwd) => {
      await Deno.writeTextFile(
        `${cwd}/gateway.json`,
        JSON.stringify({ extends: "default", store: { path: "kept.db" } }),
      );
      await withLaunched([], { cwd }, async ({ url }) => {
        const ask = async () => {
          const headers = { "content-type": "application/json" };
          const body = JSON.stringify({ model: "sandbox", input: "Hello" });
          const response = await fetch(`${url}/oss/v1/responses`, { method: "POST", headers, body });
          assertEquals([response.status, (await response.json()).store], [200, true]);
        };
        await ask();
        await Deno.remove(`${cwd}/kept.db`);
        await ask();
        const { port } = new URL(url);
        const { stdout, stderr } = await runLaunched(["--port", port, "doctor", "--lane", "oss"], { cwd });
        assert(stdout.includes(`warning  port ${port}: The gateway that runs there`), stdout + stderr);
      });
    }),
});
