/** How files are kept: by whom, how many, sealed, and where. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import OpenAI, { toFile } from "openai";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";
import { randomId } from "../../src/util/digest.ts";
import { CONFIG, type ConfigInput, ENV, newApp, NOW, type TestApp, type TestAppOptions } from "../support/app.ts";

const KEYS = [
  { name: "team", secret: { env: "TEAM_KEY" } },
  { name: "guest", secret: { env: "GUEST_KEY" } },
];

function newRig(more: Partial<ConfigInput> = {}, options: TestAppOptions = {}): TestApp {
  return newApp({ config: { ...CONFIG, keys: KEYS, ...more }, newId: randomId, ...options });
}

function clientOf(app: TestApp, apiKey = ENV.TEAM_KEY): OpenAI {
  const fetchApp: typeof fetch = (input, init) => app.fetch(new Request(input, init));
  return new OpenAI({ baseURL: "http://gateway/oss/v1", apiKey, maxRetries: 0, fetch: fetchApp });
}

async function upload(client: OpenAI, bytes: number, seconds?: number) {
  return await client.files.create({
    file: await toFile(new Uint8Array(bytes).fill(97), "secret-name.txt"),
    purpose: "user_data",
    ...(seconds !== undefined && { expires_after: { anchor: "created_at", seconds } }),
  });
}

/** The error of a request that must fail, as its client sees it. */
async function refusalOf(work: () => Promise<unknown>) {
  const { status, code, message } = await assertRejects(work, OpenAI.APIError);
  return { status, code, message };
}

Deno.test("files: to another key, a file does not exist, in the very words of an id that never did", async () => {
  const app = newRig();
  const [owner, other] = [clientOf(app), clientOf(app, ENV.GUEST_KEY)];
  const { id } = await upload(owner, 3);
  const unknown = `file-${randomId()}`;
  const acts = [
    (one: string) => other.files.retrieve(one),
    (one: string) => other.files.content(one),
    (one: string) => other.files.delete(one),
  ];
  for (const act of acts) {
    const its = await refusalOf(() => act(id));
    assertEquals([its, its.status], [await refusalOf(() => act(unknown)), 404]);
  }
  assertEquals((await other.files.list()).data, []);
  assertEquals((await owner.files.retrieve(id)).bytes, 3);
});

Deno.test("files: each key, and all together, may have so many bytes and files, and what is deleted or expired is free", async () => {
  let now = NOW;
  const files = { bytesPerKey: 34_000, totalBytes: 44_000, filesPerKey: 3 };
  const app = newRig({ files }, { now: () => now });
  const [team, guest] = [clientOf(app), clientOf(app, ENV.GUEST_KEY)];
  const full = { status: 400, code: "storage_quota_exceeded" };
  const { id } = await upload(team, 20_000, 3_600);
  const { message: _, ...refused } = await refusalOf(() => upload(team, 20_000));
  assertEquals(refused, full);
  const { message: __, ...all } = await refusalOf(() => upload(guest, 20_000));
  assertEquals(all, { ...full, status: 503 });
  await team.files.delete(id);
  await upload(guest, 20_000);
  await assertRejects(() => upload(team, 20_000));
  await upload(team, 10, 3_600);
  // What expires makes room for others.
  const app2 = newRig({ files }, { now: () => now });
  const later = clientOf(app2);
  await upload(later, 20_000, 3_600);
  await assertRejects(() => upload(clientOf(app2, ENV.GUEST_KEY), 20_000));
  now += 3_600_000;
  await upload(clientOf(app2, ENV.GUEST_KEY), 20_000);
  for (const bytes of [0, 0]) await upload(clientOf(app2, ENV.GUEST_KEY), bytes);
  const { message: ___, ...many } = await refusalOf(() => upload(clientOf(app2, ENV.GUEST_KEY), 0));
  assertEquals(many, full);
});

Deno.test("files: of many at once, no more are kept than fit", async () => {
  const app = newRig({ files: { bytesPerKey: 30_000, totalBytes: 40_000 } });
  const results = await Promise.allSettled(Array.from({ length: 12 }, () => upload(clientOf(app), 8_000)));
  const kept = results.filter(({ status }) => status === "fulfilled");
  assertEquals(kept.length, 2);
  assertEquals((await clientOf(app).files.list()).data.length, 2);
});

/** A store that shows all that is written to it. */
function watchedStore(): { store: Store; written(): string; count(): Promise<number> } {
  const store = createMemoryStore({ now: () => NOW, limitBytes: 1e9 });
  const texts: string[] = [];
  const keys = new Set<string>();
  const watched: Store = {
    ...store,
    add(entries, ...rest) {
      for (const [key, value] of entries) {
        texts.push(JSON.stringify(value));
        keys.add(JSON.stringify(key));
      }
      return store.add(entries, ...rest);
    },
    update: (key, change) =>
      store.update(key, (value) => {
        const changed = change(value);
        texts.push(JSON.stringify(changed));
        return changed;
      }),
  };
  const isThere = async (key: string) => await store.get(JSON.parse(key)) !== undefined;
  return {
    store: watched,
    written: () => texts.join("\n"),
    count: async () => (await Promise.all([...keys].map(isThere))).filter((one) => one).length,
  };
}

Deno.test("files: in the store nothing of their contents and names can be read, and nothing stays of a deleted one", async () => {
  const { store, written, count } = watchedStore();
  const client = clientOf(newRig({}, { store }));
  const { id } = await upload(client, 400_000);
  assertEquals((await (await client.files.content(id)).text()).length, 400_000);
  assert(!written().includes("secret-name") && !written().includes(btoa("aaaaaaaaa")), "It is in the clear");
  assertEquals(await count(), 3);
  await client.files.delete(id);
  assertEquals(await count(), 0);
});

Deno.test("files: several gateways on one store share a folder, in which nothing can be read or exchanged", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const store = createMemoryStore({ now: () => NOW, limitBytes: 1e9 });
    const files = { folder: `${folder}/files` };
    const [one, other] = [clientOf(newRig({ files }, { store })), clientOf(newRig({ files }, { store }))];
    const [{ id }, second] = [await upload(one, 400_000), await upload(one, 400_000)];
    assertEquals((await (await other.files.content(id)).text()).length, 400_000);
    const paths = [...Deno.readDirSync(files.folder)].map(({ name }) => `${files.folder}/${name}`);
    assertEquals(paths.length, 2);
    for (const path of paths) {
      assert(!Deno.readTextFileSync(path).includes("aaaaaaaa"));
      assertEquals(Deno.statSync(path).mode! & 0o77, 0);
    }
    const [first, last] = paths.map((path) => Deno.readFileSync(path));
    Deno.writeFileSync(paths[0]!, last!);
    Deno.writeFileSync(paths[1]!, first!);
    assertEquals((await refusalOf(() => one.files.content(id))).status, 503);
    await other.files.delete(id);
    await other.files.delete(second.id);
    assertEquals([...Deno.readDirSync(files.folder)].length, 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("files: a key may be denied them, and so may all", async () => {
  const keys = [{ ...KEYS[0]!, files: false }, KEYS[1]!];
  const app = newRig({ keys });
  assertEquals((await refusalOf(() => upload(clientOf(app), 3))).status, 403);
  assertEquals((await refusalOf(() => clientOf(app).files.list())).status, 403);
  await upload(clientOf(app, ENV.GUEST_KEY), 3);
  assertEquals((await refusalOf(() => upload(clientOf(newRig({ files: false })), 3))).status, 501);
});

Deno.test("files: bad requests are refused in the caller's own form", async () => {
  const app = newRig();
  const send = async (headers: HeadersInit, fields: Record<string, string | File>, query = "") => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    const init = { method: "POST", headers: { authorization: `Bearer ${ENV.TEAM_KEY}`, ...headers }, body: form };
    const response = await app.fetch(new Request(`http://gateway/oss/v1/files${query}`, init));
    return { status: response.status, body: await response.json() };
  };
  const file = new File(["x"], "x.txt");
  const bad: Record<string, string | File>[] = [
    { file },
    { file, purpose: "fun" },
    { purpose: "user_data" },
    { file, purpose: "user_data", "expires_after[seconds]": "5" },
  ];
  for (const fields of bad) {
    const { status, body } = await send({}, fields);
    assertEquals([status, body.error.type], [400, "invalid_request_error"]);
  }
  const version = { "anthropic-version": "2023-06-01" };
  const fields: Record<string, string | File>[] = [{}, { file, expires_in_seconds: "5" }];
  for (const one of fields) {
    const { status, body } = await send(version, one);
    assertEquals([status, body.type, body.error.type], [400, "error", "invalid_request_error"]);
  }
  const listed = await app.get("/oss/v1/files?limit=0", { authorization: `Bearer ${ENV.TEAM_KEY}` });
  assertEquals([listed.status, (await listed.json()).error.param], [400, "limit"]);
  const put = await app.fetch(
    new Request("http://gateway/oss/v1/files/x", {
      method: "PUT",
      headers: { authorization: `Bearer ${ENV.TEAM_KEY}` },
    }),
  );
  await put.body?.cancel();
  assertEquals([put.status, put.headers.get("allow")], [405, "GET, HEAD, DELETE"]);
});
