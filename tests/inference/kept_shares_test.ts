/** What one key keeps costs no other key anything: with one, two and twenty keys. */
import { assert, assertEquals } from "@std/assert";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { openFileStore } from "../state/file_stores.ts";
import { withFolder } from "../state/temp_folder.ts";
import { CONFIG, ENV, newApp, NOW, type TestApp, type TestAppOptions } from "../support/app.ts";
import { ANSWER } from "../support/chat.ts";

const RESPONSES = "/oss/v1/responses";
const SIZE = 100_000;

function newRig(keys: number, options: TestAppOptions, bytesPerKey = 2 ** 20): TestApp {
  const names = Array.from({ length: keys }, (_, index) => `KEY_${index}`);
  const named = names.map((name) => ({ name: name.toLowerCase().replace("_", "-"), secret: { env: name } }));
  return newApp({
    config: { ...CONFIG, keys: named, store: { bytesPerKey } },
    env: { ...ENV, ...Object.fromEntries(names.map((name) => [name, `secret-of-${name}`])) },
    fetch: () => Promise.resolve(Response.json(ANSWER)),
    newId: undefined,
    ...options,
  });
}

const headersOf = (key: number) => ({ authorization: `Bearer secret-of-KEY_${key}` });

async function respond(app: TestApp, key: number, body: object) {
  const response = await app.post(RESPONSES, { model: "model", ...body }, headersOf(key));
  const { id, store } = await response.json();
  return { id, store, status: response.status };
}

async function isKept(app: TestApp, key: number, id: string): Promise<boolean> {
  const response = await app.get(`${RESPONSES}/${id}`, headersOf(key));
  await response.body?.cancel();
  return response.status === 200;
}

for (const keys of [1, 2, 20]) {
  Deno.test({
    name: `kept: a key that stores without end keeps its latest, and the chain that it uses, beside ${keys - 1} others`,
    // Room is made beside what is asked for.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: () =>
      withFolder(async (folder) => {
        const path = `${folder}/store.sqlite3`;
        const now = () => NOW;
        const app = newRig(keys, { store: openFileStore(path, now), now });
        const others: string[] = [];
        for (let key = 1; key < keys; key++) others.push((await respond(app, key, { input: "Hello" })).id);
        const first = await respond(app, 0, { input: "x".repeat(SIZE) });
        let last = await respond(app, 0, { input: "Hello" });
        for (let count = 0; count < 40; count++) {
          const one = await respond(app, 0, { input: "x".repeat(SIZE) });
          assertEquals([one.status, one.store], [200, true]);
          last = await respond(app, 0, { input: "Go on", previous_response_id: last.id });
          assertEquals([last.status, last.store], [200, true]);
        }
        assertEquals([await isKept(app, 0, first.id), await isKept(app, 0, last.id)], [false, true]);
        for (const [index, id] of others.entries()) assert(await isKept(app, index + 1, id), `of key ${index + 1}`);
        await app.close();
        // What is removed is free for what comes; the file itself is no larger than twice what may be kept.
        let bytes = 0;
        for await (const { name } of Deno.readDir(folder)) bytes += (await Deno.stat(`${folder}/${name}`)).size;
        assert(bytes < 8 * 2 ** 20, `${bytes} bytes in the file`);
      }),
  });
}

Deno.test("kept: in memory, what one key stores pushes out none of another's", async () => {
  const store = createMemoryStore({ now: () => NOW, limitBytes: 2 ** 20 });
  const app = newRig(2, { store }, 2 ** 30);
  const other = await respond(app, 1, { input: "Hello" });
  for (let count = 0; count < 30; count++) await respond(app, 0, { input: "x".repeat(SIZE) });
  assert(await isKept(app, 1, other.id));
});

Deno.test("kept: conversations that fill a key's bytes are refused in the API's own form, and another key's are not", async () => {
  const app = newRig(2, {});
  const create = (key: number) =>
    app.post("/oss/v1/conversations", { items: [{ role: "user", content: "x".repeat(SIZE) }] }, headersOf(key));
  for (let count = 0;; count++) {
    assert(count < 20, "it is refused some time");
    const response = await create(0);
    if (response.status === 200) {
      await response.body?.cancel();
      continue;
    }
    const { error } = await response.json();
    assertEquals([response.status, error.type, error.code], [429, "rate_limit_error", "rate_limit_exceeded"]);
    assert(/You store as much as one key may \(1,048,576 bytes\)/.test(error.message), error.message);
    break;
  }
  const response = await create(1);
  assertEquals(response.status, 200);
  await response.body?.cancel();
});
