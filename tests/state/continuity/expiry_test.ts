import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { openFileStore } from "../file_stores.ts";
import { createMemoryStore } from "../../../src/state/memory_store.ts";
import type { Store } from "../../../src/state/store.ts";
import { CONFIG, type ConfigInput, ENV, newApp, NOW, type TestApp } from "../../support/app.ts";
import { withFolder } from "../temp_folder.ts";
import { echoUpstream, type Reply, replyOf, respond, RESPONSES, talkIn, talkOf, WAYS } from "./echo.ts";

const DAY_MS = 86_400_000;

/** Every use of an id, with what it answers. The id's own place in the answers is a star. */
async function usesOf(app: TestApp, id: string, headers: HeadersInit = {}): Promise<Record<string, unknown>> {
  const path = `${RESPONSES}/${id}`;
  const send = (method: string, at = path) =>
    app.fetch(new Request(`http://gateway${at}`, { method, headers, ...(method === "POST" && { body: "{}" }) }));
  const bare = id.replace(/^resp_/, "");
  const refer = (item: string) => respond(app, { input: [{ type: "item_reference", id: item }] }, headers);
  const replies: Record<string, Reply> = {
    read: await replyOf(await send("GET")),
    list: await replyOf(await send("GET", `${path}/input_items`)),
    cancel: await replyOf(await send("POST", `${path}/cancel`)),
    continue: await respond(app, { input: "b", previous_response_id: id }, headers),
    "continue streamed": await WAYS.streamed(app, { input: "b", previous_response_id: id }, headers),
    "continue unstored": await respond(app, { input: "b", previous_response_id: id, store: false }, headers),
    count: await replyOf(
      await app.post(`${RESPONSES}/input_tokens`, { model: "model", input: "b", previous_response_id: id }, headers),
    ),
    "refer to what was said": await refer(`msg_${bare}_0`),
    "refer to what was asked": await refer(`msg_${bare}_in0`),
    delete: await replyOf(await send("DELETE")),
  };
  return Object.fromEntries(
    Object.entries(replies).map(([name, { status, body }]) => [
      name,
      [status, JSON.parse(JSON.stringify(body).replaceAll(bare, "*"))],
    ]),
  );
}

/** The first parts of the answers to `usesOf`: what an id that nobody gave out is told. */
const UNKNOWN: Record<string, [status: number, code: string | null, param: string]> = {
  read: [404, null, "id"],
  list: [404, null, "id"],
  cancel: [404, null, "id"],
  continue: [400, "previous_response_not_found", "previous_response_id"],
  "continue streamed": [400, "previous_response_not_found", "previous_response_id"],
  "continue unstored": [400, "previous_response_not_found", "previous_response_id"],
  count: [400, "previous_response_not_found", "previous_response_id"],
  "refer to what was said": [400, null, "input"],
  "refer to what was asked": [400, null, "input"],
  delete: [404, null, "id"],
};

async function assertUnknown(app: TestApp, id: string, headers?: HeadersInit): Promise<void> {
  const uses = await usesOf(app, id, headers);
  for (const [name, [status, code, param]] of Object.entries(UNKNOWN)) {
    const [actual, { error }] = uses[name] as [number, Reply["body"]];
    assertEquals([actual, error?.code, error?.param], [status, code, param], name);
  }
  assertEquals(uses, await usesOf(app, "resp_nobody", headers));
}

// Expiry

/** Stores whose clock is the test's. */
const STORES: Record<string, (now: () => number, folder: string) => Store> = {
  "in memory": (now) => createMemoryStore({ now, limitBytes: 64 * 1024 * 1024 }),
  "in a file": (now, folder) => openFileStore(`${folder}/store.sqlite3`, now),
};

for (const [name, open] of Object.entries(STORES)) {
  for (const retentionDays of [undefined, 2]) {
    const days = retentionDays ?? 30;
    Deno.test(`an answer ${name} is kept for ${days} days after the last that follows it, to the millisecond`, async () => {
      await withFolder(async (folder) => {
        let time = NOW;
        const now = () => time;
        const upstream = echoUpstream();
        const config: ConfigInput = { ...CONFIG, ...(retentionDays && { store: { retentionDays } }) };
        const app = newApp({ config, fetch: upstream.fetch, now, store: open(now, folder) });
        try {
          const first = (await respond(app, { input: "a" })).body;
          time += DAY_MS;
          const second = (await respond(app, { input: "b", previous_response_id: first.id })).body;
          time = NOW + days * DAY_MS - 1;
          const third = await respond(app, { input: "c", previous_response_id: second.id });
          assertEquals([third.status, talkIn(upstream.asked.at(-1)!.body)], [200, talkOf("a", "b", "c")]);
          const last = time + days * DAY_MS;
          time = last - 1;
          for (const { id } of [first, second, third.body]) {
            const found = await app.get(`${RESPONSES}/${id}`);
            assertEquals(found.status, 200);
            await found.body?.cancel();
          }
          for (const ask of Object.values(WAYS)) {
            const asked = { input: "d", previous_response_id: third.body.id, store: false };
            assertEquals((await ask(app, asked)).status, 200);
            assertEquals(talkIn(upstream.asked.at(-1)!.body), talkOf("a", "b", "c", "d"));
          }
          time = last;
          await assertUnknown(app, third.body.id);
          time += days * DAY_MS / 30;
          for (const { id } of [first, second]) await assertUnknown(app, id);

          const alone = (await respond(app, { input: "a" })).body;
          const followed = (await respond(app, { input: "b", previous_response_id: alone.id })).body;
          assertEquals(
            (await app.fetch(new Request(`http://gateway${RESPONSES}/${alone.id}`, { method: "DELETE" }))).status,
            200,
          );
          // What follows it is there still, and says what it lacks.
          for (const ask of Object.values(WAYS)) {
            const { status, body } = await ask(app, { input: "c", previous_response_id: followed.id });
            assertEquals([status, body.error?.code], [400, "previous_response_not_found"]);
            assertStringIncludes(body.error!.message, alone.id);
            assertStringIncludes(body.error!.message, followed.id);
          }
        } finally {
          await app.close();
        }
      });
    });
  }
}

Deno.test("a shorter time is for what is stored from then on", async () => {
  let time = NOW;
  const now = () => time;
  const store = createMemoryStore({ now, limitBytes: 1_000_000 });
  const [long, short] = [30, 1].map((retentionDays) =>
    newApp({
      config: { ...CONFIG, store: { retentionDays } },
      fetch: echoUpstream().fetch,
      now,
      store,
      newId: undefined,
    })
  ) as [TestApp, TestApp];
  const before = (await respond(long, { input: "a" })).body;
  const after = (await respond(short, { input: "a" })).body;
  time += DAY_MS;
  assertEquals((await short.get(`${RESPONSES}/${before.id}`)).status, 200);
  await assertUnknown(short, after.id);
});

// Ownership

const KEYS: ConfigInput = {
  ...CONFIG,
  keys: [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }],
};
const TEAM = { authorization: `Bearer ${ENV.TEAM_KEY}` };
const GUEST = { authorization: `Bearer ${ENV.GUEST_KEY}` };

Deno.test("what one key made is for another key as if it did not exist", async () => {
  const upstream = echoUpstream();
  // Ids as the gateway makes them, so that they cannot be mistaken for anything else in an answer.
  const app = newApp({ config: KEYS, fetch: upstream.fetch, newId: undefined });
  for (const ask of Object.values(WAYS)) {
    const { body } = await ask(app, { input: "a secret" }, TEAM);
    const asked = upstream.asked.length;
    await assertUnknown(app, body.id, GUEST);
    assertEquals(upstream.asked.length, asked);
    for (const header of [TEAM, { "x-api-key": ENV.TEAM_KEY! }]) {
      const { status } = await respond(app, { input: "b", previous_response_id: body.id }, header);
      assertEquals([status, talkIn(upstream.asked.at(-1)!.body)], [200, talkOf("a secret", "b")]);
    }
  }
});

Deno.test("a conversation stays its key's when the key's secret changes, and another name is another key", async () => {
  const store = createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 });
  const appWith = (name: string, secret: string) =>
    newApp({
      config: { ...CONFIG, keys: [{ name, secret: { env: "A_KEY" } }] },
      env: { ...ENV, A_KEY: secret },
      fetch: echoUpstream().fetch,
      store,
      newId: undefined,
    });
  const { id } = (await respond(appWith("team", "secret-1"), { input: "a" }, { "x-api-key": "secret-1" })).body;
  await assertUnknown(appWith("other", "secret-1"), id, { "x-api-key": "secret-1" });
  const path = `${RESPONSES}/${id}`;
  assertEquals((await appWith("team", "secret-2").get(path, { "x-api-key": "secret-2" })).status, 200);
});

Deno.test("an id cannot be made to mean another key's", async () => {
  const app = newApp({ config: KEYS, fetch: echoUpstream().fetch, newId: undefined });
  const { id } = (await respond(app, { input: "a" }, TEAM)).body;
  const tricks = ["key:team", "team"].flatMap((owner) => [
    `${owner}/${id}`,
    `../${owner}/${id}`,
    `${owner}","${id}`,
    `${owner}\0${id}`,
    `key:guest","${owner}","${id}`,
  ]);
  for (const trick of tricks) {
    const { status } = await respond(app, { input: "b", previous_response_id: trick }, GUEST);
    assertEquals(status, 400, trick);
    const found = await app.get(`${RESPONSES}/${encodeURIComponent(trick)}`, GUEST);
    assertEquals(found.status, 404, trick);
    await found.body?.cancel();
  }
});

// Ids

Deno.test("ids cannot be guessed: 122 random bits each", async () => {
  const app = newApp({ fetch: echoUpstream().fetch, newId: undefined });
  const ids: string[] = [];
  for (let count = 0; count < 1_000; count++) ids.push((await respond(app, { input: "a" })).body.id);
  assertEquals(new Set(ids).size, ids.length);
  for (const id of ids) assertMatch(id, /^resp_[0-9a-f]{32}$/);
  // Every place but the two that tell the kind of id takes each of its values about equally often.
  const digits = ids.map((id) => id.slice("resp_".length));
  const free = Array.from({ length: 32 }, (_, place) => new Set(digits.map((id) => id[place])).size);
  assertEquals(free.filter((values) => values === 16).length, 30, `Values at each place: ${free}`);
  for (let place = 0; place < 32; place++) {
    if (free[place] !== 16) continue;
    const counts = new Map<string, number>();
    for (const id of digits) counts.set(id[place]!, (counts.get(id[place]!) ?? 0) + 1);
    // 62.5 expected; 8 standard deviations.
    for (const [value, count] of counts) assert(count < 124, `"${value}" stands ${count} times at place ${place}`);
  }
});
