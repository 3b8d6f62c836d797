import { assert, assertEquals, assertMatch } from "@std/assert";
import { formatLogLine } from "../../../src/observe/log.ts";
import { createKvStore } from "../../../src/state/kv_store.ts";
import { createMemoryStore } from "../../../src/state/memory_store.ts";
import type { Store, StoreKey } from "../../../src/state/store.ts";
import { CONFIG, newApp, NOW, type TestApp } from "../../support/app.ts";
import { answerStream, answerWhole, ENDING, word } from "../../support/chat.ts";
import { bodyOf } from "../../support/chunks.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";
import { delay, until, within } from "../../support/wait.ts";
import { withFolder } from "../temp_folder.ts";
import { type Answer, answerTo, echoUpstream, EventReader, lastIn, respond, RESPONSES, said, WAYS } from "./echo.ts";

const PACE = { storeMs: 50 };

function memory(): Store {
  return createMemoryStore({ now: () => NOW, limitBytes: 64 * 1024 * 1024 });
}

const fails = () => Promise.reject(new Error("The disk is full"));
const hangs = () => new Promise<never>(() => {});

function appOn(store: Store | undefined, options: Parameters<typeof newApp>[0] = {}): TestApp {
  return newApp({ fetch: echoUpstream().fetch, pace: PACE, store, ...options });
}

/** Nothing is behind the id, as if nobody had given it out. */
async function assertUnknown(app: TestApp, id: string): Promise<void> {
  const continued = await respond(app, { input: "b", previous_response_id: id });
  assertEquals([continued.status, continued.body.error?.code], [400, "previous_response_not_found"]);
  const found = await app.get(`${RESPONSES}/${id}`);
  assertEquals([found.status, (await found.json()).error.code], [404, null]);
}

Deno.test("an answer waits a second for a store on a server, however long others may take", async () => {
  const config = { ...CONFIG, store: { kind: "redis" as const, url: { env: "REDIS_URL" } } };
  const app = appOn({ ...memory(), add: hangs }, { config, pace: { storeMs: 600_000 } });
  const { status, body } = await within(respond(app, { input: "a" }));
  assertEquals([status, body.store], [200, false]);
});

// A store that does not take it

/** Stores that take nothing, and what the log says then. */
const CANNOT_STORE: Record<string, { store(): Store; cause: string }> = {
  "refuses it": { store: () => ({ ...memory(), add: fails }), cause: "The disk is full" },
  "never answers": { store: () => ({ ...memory(), add: hangs }), cause: "The store did not answer within 50 ms" },
  "throws at once": {
    store: () => ({
      ...memory(),
      add() {
        throw new Error("No store");
      },
    }),
    cause: "No store",
  },
  "takes it and fails then": { store: takesAndFails, cause: "The disk is full" },
};

/** A store of which nobody learns that it took what it was given. */
function takesAndFails(): Store {
  const store = memory();
  return { ...store, add: (...args) => store.add(...args).then(fails) };
}

for (const [name, { store, cause }] of Object.entries(CANNOT_STORE)) {
  for (const [way, ask] of Object.entries(WAYS)) {
    Deno.test(`a store that ${name} costs continuity, not the answer: ${way}`, async () => {
      const app = appOn(store());
      const { status, headers, body } = await within(ask(app, { input: "a" }));
      assertEquals([status, body.status, said(body), body.store], [200, "completed", answerTo("a"), false]);
      const entry = app.logs[0]!;
      assertEquals([entry.status, entry.error], [200, undefined]);
      assertEquals(JSON.parse(formatLogLine(entry)).cause, cause);
      if (way === "whole") assertEquals(headers.get("x-laneway-notes"), "could not store the response");
      await assertUnknown(app, body.id);
    });
  }
}

Deno.test("a store that does not take it is told before the terminal event of a stream, in a comment", async () => {
  const app = appOn({ ...memory(), add: fails });
  const response = await app.post(RESPONSES, { model: "model", input: "a", stream: true });
  assertEquals(response.headers.get("x-laneway-notes"), null);
  assertMatch(
    await response.text(),
    /^: notes: .*could not store the response\n\n(?:event: response\.output_item\.done\n.*\n\n)event: response\.completed\n/m,
  );
});

Deno.test("of reasoning that only its vendor can read, a client learns that it is lost once it is not stored", async () => {
  const reasoned = {
    type: "message",
    role: "assistant",
    content: [{ type: "thinking", thinking: "Hm", signature: "signed" }, { type: "text", text: "Hello" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 3, output_tokens: 4 },
  };
  const fake = { driver: "messages" as const, baseUrl: "http://upstream.test/v1" };
  const config = { ...CONFIG, upstreams: { ...CONFIG.upstreams, fake } };
  const { fetch } = fakeUpstream(() => Response.json(reasoned), () => Response.json(reasoned));
  const notesOf = async (store: Store) =>
    (await respond(appOn(store, { config, fetch }), { input: "a" })).headers
      .get("x-laneway-notes");
  assertEquals(await notesOf(memory()), null);
  const lost = "could not store the response; dropped reasoning that only its vendor can read";
  assertEquals(await notesOf({ ...memory(), add: fails }), lost);
});

Deno.test("a store that takes it too late has not taken it", async () => {
  const store = memory();
  const late = Promise.withResolvers<void>();
  const keys: StoreKey[] = [];
  const slow: Store = {
    ...store,
    async add(entries, expiresAt) {
      keys.push(...entries.map(([key]) => key));
      await late.promise;
      return await store.add(entries, expiresAt);
    },
  };
  const app = appOn(slow);
  const { body } = await within(respond(app, { input: "a" }));
  assertEquals(body.store, false);
  late.resolve();
  const left = async () =>
    (await Promise.all(keys.map((key) => store.get(key)))).filter((value) => value !== undefined);
  await delay(0);
  await until(async () => (await left()).length === 0);
  await assertUnknown(app, body.id);
});

// A store that cannot be opened

Deno.test("a store that cannot be opened is tried again at the next answer", async () => {
  await withFolder(async (folder) => {
    let broken = true;
    const store = createKvStore({
      open: () => broken ? Promise.reject(new Error("No such disk")) : Deno.openKv(`${folder}/store.sqlite3`),
      now: () => NOW,
    });
    const app = appOn(store, { pace: {} });
    try {
      for (const ask of Object.values(WAYS)) {
        const { status, body } = await ask(app, { input: "a" });
        assertEquals([status, said(body), body.store], [200, answerTo("a"), false]);
        assertEquals(JSON.parse(formatLogLine(app.logs.at(-1)!)).cause, "No such disk");
      }
      // What is stored cannot be known, hence not that it is not there.
      const { status, body } = await respond(app, { input: "b", previous_response_id: "resp_x" });
      assertEquals([status, body.error?.code], [503, "unavailable"]);
      broken = false;
      const first = await respond(app, { input: "a" });
      const second = await respond(app, { input: "b", previous_response_id: first.body.id });
      assertEquals([first.body.store, second.status, second.body.store], [true, 200, true]);
    } finally {
      await app.close();
    }
  });
});

Deno.test("a store whose path cannot be a file: the answer is there, and the log says why it is not kept", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    const config = { ...CONFIG, store: { kind: "kv" as const, path: `${folder}/file/store.sqlite3` } };
    const app = appOn(undefined, { config, pace: {} });
    for (const ask of Object.values(WAYS)) {
      const { status, body } = await ask(app, { input: "a" });
      assertEquals([status, said(body), body.store], [200, answerTo("a"), false]);
      assertMatch(JSON.parse(formatLogLine(app.logs.at(-1)!)).cause, /not a directory/i);
    }
    await app.close();
  });
});

// A store that cannot be read

for (const [name, call] of Object.entries({ refuses: fails, "never answers": hangs })) {
  for (const [way, ask] of Object.entries(WAYS)) {
    Deno.test(`a store that ${name} to read: nothing is answered without the turns before, ${way}`, async () => {
      const upstream = echoUpstream();
      const store = memory();
      const app = appOn({ ...store, get: call, getRange: call }, { fetch: upstream.fetch });
      const first = await respond(app, { input: "a" });
      assertEquals(first.body.store, true);
      for (
        const body of [
          { input: "b", previous_response_id: first.body.id },
          { input: [{ type: "item_reference", id: first.body.output[0]!.id }] },
        ]
      ) {
        const { status, body: answer } = await within(ask(app, body));
        assertEquals([status, answer.error?.type, answer.error?.code], [503, "server_error", "unavailable"]);
        assertEquals(app.logs.at(-1)!.status, 503);
        assert(formatLogLine(app.logs.at(-1)!).match(/The disk is full|did not answer within 50 ms/));
      }
      assertEquals(upstream.asked.length, 1);
    });
  }

  Deno.test(`a store that ${name} to read or delete is told as that, not as an answer that is not there`, async () => {
    const app = appOn({ ...memory(), get: call, getRange: call, delete: call });
    const { id } = (await respond(app, { input: "a" })).body;
    const tries = [
      () => app.get(`${RESPONSES}/${id}`),
      () => app.get(`${RESPONSES}/${id}/input_items`),
      () => app.post(`${RESPONSES}/${id}/cancel`, ""),
      () => app.fetch(new Request(`http://gateway${RESPONSES}/${id}`, { method: "DELETE" })),
      () => app.post(`${RESPONSES}/input_tokens`, { model: "model", input: "b", previous_response_id: id }),
    ];
    for (const send of tries) {
      const response = await within(send());
      assertEquals([response.status, (await response.json()).error.code], [503, "unavailable"]);
    }
  });
}

Deno.test("a deletion that failed can be tried again, and nothing is left then", async () => {
  const store = memory();
  const keys: StoreKey[] = [];
  let deletions = 0;
  const app = appOn({
    ...store,
    add(entries, expiresAt) {
      keys.push(...entries.map(([key]) => key));
      return store.add(entries, expiresAt);
    },
    delete: (...keys) => deletions++ === 0 ? fails() : store.delete(...keys),
  });
  const { id } = (await respond(app, { input: "a" })).body;
  const statuses: number[] = [];
  for (let tries = 0; tries < 2; tries++) {
    const response = await app.fetch(new Request(`http://gateway${RESPONSES}/${id}`, { method: "DELETE" }));
    await response.body?.cancel();
    statuses.push(response.status);
  }
  assertEquals(statuses, [503, 200]);
  assertEquals(await Promise.all(keys.map((key) => store.get(key))), keys.map(() => undefined));
  await assertUnknown(app, id);
});

// A store that is slow

Deno.test("the first words do not wait for the store, and the terminal event does", async () => {
  const store = memory();
  const asked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let writes = 0;
  const slow: Store = {
    ...store,
    async add(...args) {
      writes++;
      asked.resolve();
      await release.promise;
      return await store.add(...args);
    },
  };
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const tell = writable.getWriter();
  const upstream = fakeUpstream(() => new Response(readable, { headers: { "content-type": "text/event-stream" } }));
  const app = appOn(slow, { fetch: upstream.fetch, pace: { storeMs: 10_000 } });
  const bytes = (text: string) => new TextEncoder().encode(text);
  const written = tell.write(bytes(word("one")));
  const reader = new EventReader(await app.post(RESPONSES, { model: "model", input: "a", stream: true }));
  await reader.until('"delta":"one"');
  await written;
  assertEquals(writes, 0);

  const ended = tell.write(bytes(ENDING)).then(() => tell.close());
  await reader.until("event: response.content_part.done");
  const rest = reader.toEnd();
  await asked.promise;
  assertEquals(lastIn(reader.text), undefined);
  release.resolve();
  const text = await within(rest);
  await ended;
  const last = lastIn(text)!;
  assertEquals([last.status, last.store, said(last)], ["completed", true, "one"]);
  assertEquals((await app.get(`${RESPONSES}/${last.id}`).then((found) => found.json()) as Answer).id, last.id);
});

// A client that leaves

/** A store that counts what is written to it. */
function counting(): { store: Store; writes: () => number } {
  const store = memory();
  let writes = 0;
  return {
    writes: () => writes,
    store: {
      ...store,
      add(...args) {
        writes++;
        return store.add(...args);
      },
    },
  };
}

for (const words of [1, 5]) {
  Deno.test(`a client that leaves after ${words} words, before the end: nothing is stored`, async () => {
    const { store, writes } = counting();
    const left = Promise.withResolvers<void>();
    const upstream = fakeUpstream(({ signal }) => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let count = 0; count < words; count++) {
            controller.enqueue(new TextEncoder().encode(word(`word ${count}`)));
          }
          // As `fetch` does it.
          signal.addEventListener("abort", () => {
            controller.error(signal.reason);
            left.resolve();
          });
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    }, () => answerWhole());
    const app = appOn(store, { fetch: upstream.fetch });
    const reader = new EventReader(await app.post(RESPONSES, { model: "model", input: "a", stream: true }));
    await reader.until(`"delta":"word ${words - 1}"`);
    await reader.leave();
    await within(left.promise);
    assertEquals(app.logs[0]?.status, 499);
    assertEquals(writes(), 0);
    await assertUnknown(app, reader.id!);
  });
}

Deno.test("a client that leaves a whole answer before it is there: nothing is stored", async () => {
  const { store, writes } = counting();
  const left = new AbortController();
  const asked = Promise.withResolvers<void>();
  const upstream = fakeUpstream(({ signal }) => {
    asked.resolve();
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });
  const app = appOn(store, { fetch: upstream.fetch });
  const answer = app.fetch(
    new Request(`http://gateway${RESPONSES}`, {
      method: "POST",
      body: JSON.stringify({ model: "model", input: "a" }),
      signal: left.signal,
    }),
  );
  await asked.promise;
  left.abort();
  const response = await within(answer);
  await response.body?.cancel();
  assertEquals([response.status, writes()], [499, 0]);
});

Deno.test("a client that leaves with the terminal event, before the stream ends: the answer is kept", async () => {
  const app = appOn(memory());
  const reader = new EventReader(await app.post(RESPONSES, { model: "model", input: "a", stream: true }));
  await reader.until("event: response.completed");
  await reader.leave();
  const { status } = await respond(app, { input: "b", previous_response_id: reader.last!.id });
  assertEquals([status, app.logs[0]!.status], [200, 200]);
});

Deno.test("an answer that its upstream broke off is not kept", async () => {
  const { store, writes } = counting();
  const pieces = [new TextEncoder().encode(word("one"))];
  const upstream = fakeUpstream(
    () =>
      new Response(bodyOf(pieces, new TypeError("connection reset")), {
        headers: { "content-type": "text/event-stream" },
      }),
    () => answerStream([word("one"), ENDING]),
  );
  const app = appOn(store, { fetch: upstream.fetch });
  const { body } = await WAYS.streamed(app, { input: "a" });
  assertEquals([body.status, body.store, writes()], ["failed", false, 0]);
  await assertUnknown(app, body.id);
});
