/** Responses that are made in the background: polled, followed, resumed, cancelled, and found again by another process. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import OpenAI from "openai";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";
import { createApp } from "../../src/app.ts";
import { until } from "../support/wait.ts";
import { configSchema } from "../../src/config/schema.ts";
import { CONFIG, type ConfigInput, ENV, newApp, NOW, type TestApp } from "../support/app.ts";
import { ENDING, word } from "../support/chat.ts";

type Response = OpenAI.Responses.Response;
type Event = OpenAI.Responses.ResponseStreamEvent;

/** An upstream that says a word each time it is let to, and ends when it is told to. */
function newUpstream() {
  const encoder = new TextEncoder();
  let body: ReadableStreamDefaultController<Uint8Array> | undefined;
  const asked = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  return {
    /** Resolves once it is asked, and once nobody waits for it any more. */
    asked: asked.promise,
    left: left.promise,
    say: (text: string) => body!.enqueue(encoder.encode(word(text))),
    end() {
      body!.enqueue(encoder.encode(ENDING));
      body!.close();
    },
    fetch(input: RequestInfo | URL, init?: RequestInit) {
      const { signal } = new Request(input, init);
      const stream = new ReadableStream<Uint8Array>({
        start: (controller) => void (body = controller),
        cancel: () => left.resolve(),
      });
      signal.addEventListener("abort", () => {
        left.resolve();
        body!.error(signal.reason);
      });
      asked.resolve();
      return Promise.resolve(new globalThis.Response(stream, { headers: { "content-type": "text/event-stream" } }));
    },
  };
}

interface RigOptions {
  fetch?: typeof fetch;
  store?: Store;
  now?: () => number;
  config?: ConfigInput;
}

/** Of all gateways: some have one store. */
let ids = 0;

function newRig(options: RigOptions = {}) {
  const upstream = newUpstream();
  const app = newApp({ fetch: upstream.fetch, newId: () => `x${++ids}x`, ...options });
  return { app, upstream, client: clientOf(app) };
}

function clientOf(app: Pick<TestApp, "fetch">, apiKey = "x"): OpenAI {
  return new OpenAI({
    baseURL: "http://gateway/oss/v1",
    apiKey,
    maxRetries: 0,
    fetch: (input, init) => app.fetch(new Request(input, init)),
  });
}

const HELLO = { model: "model", input: "Hello", background: true } as const;

async function settled(client: OpenAI, id: string): Promise<Response> {
  for (;;) {
    const found = await client.responses.retrieve(id);
    if (found.status !== "queued" && found.status !== "in_progress") return found;
    await new Promise((resolve) => setTimeout(resolve));
  }
}

Deno.test("background: a response is queued at once, polled, and there once it is made", async () => {
  const { client, upstream, app } = newRig();
  const queued = await client.responses.create(HELLO);
  assertEquals([queued.status, queued.background, queued.output], ["queued", true, []]);
  await upstream.asked;
  upstream.say("Hi");
  const polled = await client.responses.retrieve(queued.id);
  assert(polled.status === "queued" || polled.status === "in_progress", polled.status);
  const early = { model: "model", input: "And?", previous_response_id: queued.id };
  const error = await assertRejects(() => client.responses.create(early), OpenAI.BadRequestError);
  assertEquals(error.code, "previous_response_not_found");
  upstream.end();
  const done = await settled(client, queued.id);
  assertEquals([done.status, done.output_text, done.background, done.id], ["completed", "Hi", true, queued.id]);
  // Its line in the log is one of its own, with what it cost.
  const lines = () => app.logs.filter(({ method, usage }) => method === "POST" && usage);
  await until(() => lines().length > 0);
  assertEquals(lines().map(({ status, target }) => [status, target]), [[200, "fake/org/model"]]);
});

Deno.test("background: a client that leaves its stream comes back for the events after the last one it saw", async () => {
  const { client, upstream, app } = newRig();
  const first: Event[] = [];
  const stream = await client.responses.create({ ...HELLO, stream: true });
  for await (const event of stream) {
    first.push(event);
    if (event.type === "response.queued") {
      await upstream.asked;
      upstream.say("One ");
    }
    if (event.type === "response.output_text.delta") break;
  }
  const id = (first[0] as { response: Response }).response.id;
  assertEquals(first.slice(0, 3).map(({ type }) => type), [
    "response.created",
    "response.queued",
    "response.in_progress",
  ]);
  upstream.say("two");
  const last = first.at(-1)!.sequence_number;
  const rest: Event[] = [];
  for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: last })) {
    rest.push(event);
    if (event.type === "response.output_text.delta") upstream.end();
  }
  const numbers = [...first, ...rest].map(({ sequence_number }) => sequence_number);
  assertEquals(numbers, numbers.map((_, index) => index), "every event once, in order");
  assertEquals(rest.at(-1)!.type, "response.completed");

  // What is over is replayed.
  const all: Event[] = [];
  for await (const event of await client.responses.retrieve(id, { stream: true })) all.push(event);
  assertEquals(all, [...first, ...rest]);
  const wrong = await app.get(`/oss/v1/responses/${id}?stream=true&starting_after=x`);
  assertEquals(wrong.status, 400);
  await wrong.body?.cancel();
});

Deno.test("background: a cancelled response stops its upstream, and stays cancelled", async () => {
  for (const stream of [false, true]) {
    const { client, upstream, app } = newRig();
    const events: string[] = [];
    let following: Promise<void> | undefined;
    let id: string;
    if (stream) {
      const body = await client.responses.create({ ...HELLO, stream: true });
      const begun = Promise.withResolvers<string>();
      following = (async () => {
        for await (const event of body) {
          events.push(event.type);
          if (event.type === "response.created") begun.resolve(event.response.id);
        }
      })();
      id = await begun.promise;
    } else id = (await client.responses.create(HELLO)).id;
    await upstream.asked;
    upstream.say("Hi");
    const cancelled = await client.responses.cancel(id);
    assertEquals([cancelled.status, cancelled.error], ["cancelled", null] as never);
    await upstream.left;
    await following;
    if (stream) assertEquals(events.at(-1), "response.cancelled");
    assertEquals((await client.responses.cancel(id)).status, "cancelled");
    assertEquals((await client.responses.retrieve(id)).status, "cancelled");
    assertEquals(app.logs.filter(({ status }) => status === 499).length, 1);
  }
});

Deno.test("background: what is over or was none is not cancelled, what was deleted is gone", async () => {
  const { client, upstream } = newRig();
  const { id } = await client.responses.create(HELLO);
  await upstream.asked;
  upstream.say("Hi");
  upstream.end();
  await settled(client, id);
  assertEquals((await client.responses.cancel(id)).status, "completed");
  await client.responses.delete(id);
  await assertRejects(() => client.responses.retrieve(id), OpenAI.NotFoundError);

  const running = newRig();
  const other = await running.client.responses.create(HELLO);
  await running.upstream.asked;
  await running.client.responses.delete(other.id);
  await running.upstream.left;
  await assertRejects(() => running.client.responses.retrieve(other.id), OpenAI.NotFoundError);
});

Deno.test("background: what fails before it begins is the request's failure, what fails later is the response's", async () => {
  const { client } = newRig({ fetch: () => Promise.resolve(new globalThis.Response("", { status: 500 })) });
  await assertRejects(() => client.responses.create({ ...HELLO, model: "none" }), OpenAI.NotFoundError);
  await assertRejects(() => client.responses.create({ ...HELLO, store: false }), OpenAI.BadRequestError);
  const failed = await settled(client, (await client.responses.create(HELLO)).id);
  assertEquals([failed.status, failed.error?.code], ["failed", "server_error"]);
  assertEquals(failed.output, []);
});

Deno.test("background: its numbers are limited, and its events have limited room", async () => {
  const none = newRig({ config: { ...CONFIG, limits: { backgroundResponses: 0 } } });
  const error = await assertRejects(() => none.client.responses.create(HELLO), OpenAI.InternalServerError);
  assertEquals(error.status, 503);

  const burst = newRig({ config: { ...CONFIG, limits: { backgroundResponses: 1 } } });
  const begun = await Promise.allSettled(Array.from({ length: 9 }, () => burst.client.responses.create(HELLO)));
  assertEquals(begun.filter(({ status }) => status === "fulfilled").length, 1);
  await burst.upstream.asked;
  burst.upstream.end();
  await burst.app.settled();
});

Deno.test("background: a client that reads events which find no room is cut off, and its stream seems never whole", async () => {
  // There is no room for the first event, or for one of those that come later.
  for (const backgroundEvents of [10, 4000]) {
    const { app, client, upstream } = newRig({ config: { ...CONFIG, limits: { backgroundEvents } } });
    const stream = await client.responses.create({ ...HELLO, stream: true });
    let text = "";
    const reading = assertRejects(async () => {
      for await (const event of stream) text += event.type === "response.output_text.delta" ? event.delta : "";
    });
    await upstream.asked;
    for (let count = 0; count < 10; count++) {
      upstream.say("word ".repeat(100));
      await new Promise((resolve) => setTimeout(resolve));
    }
    upstream.end();
    await reading;
    assertEquals(text.length > 0, backgroundEvents > 10);
    await app.settled();
    assertEquals(app.logs.map(({ error }) => error).toSorted(), ["unavailable", undefined]);
  }
});

Deno.test("background: what the store did not take costs its caller no tokens", async () => {
  const memory = createMemoryStore({ now: () => NOW, limitBytes: 2 ** 20 });
  const store = { ...memory, add: () => Promise.reject(new Error("The disk is full")) };
  const keys = [{ name: "team", secret: { env: "TEAM_KEY" }, quota: { tokensPerMinute: 100 } }];
  const { app } = newRig({ store, config: { ...CONFIG, keys } });
  const client = clientOf(app, ENV.TEAM_KEY);
  for (let time = 0; time < 5; time++) {
    const refused = client.responses.create({ ...HELLO, input: "word ".repeat(30) });
    assertEquals((await assertRejects(() => refused, OpenAI.APIError)).status, 503);
  }
});

Deno.test("background: nobody else sees it", async () => {
  const keys = [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }];
  const { app, upstream } = newRig({ config: { ...CONFIG, keys } });
  const team = clientOf(app, ENV.TEAM_KEY);
  const guest = clientOf(app, ENV.GUEST_KEY);
  const { id } = await team.responses.create({ ...HELLO });
  await assertRejects(() => guest.responses.retrieve(id), OpenAI.NotFoundError);
  await assertRejects(() => guest.responses.cancel(id), OpenAI.NotFoundError);
  await assertRejects(() => guest.responses.retrieve(id, { stream: true }), OpenAI.NotFoundError);
  await upstream.asked;
  upstream.end();
  await settled(team, id);
});

Deno.test("background: a change of the configuration leaves it running", async () => {
  const { app, client, upstream } = newRig();
  const { id } = await client.responses.create(HELLO);
  await upstream.asked;
  const config = configSchema.parse({ ...CONFIG, limits: { memoryBytes: Number.MAX_SAFE_INTEGER } });
  const next = createApp({ config, after: app, env: (name) => ENV[name], now: () => NOW, log: () => {} });
  upstream.say("Hi");
  upstream.end();
  assertEquals((await settled(clientOf(next), id)).output_text, "Hi");
});

Deno.test("background: what the gateway was stopped over has failed, and says so", async () => {
  const clock = { ms: NOW };
  const now = () => clock.ms;
  const store = createMemoryStore({ now, limitBytes: 2 ** 20 });
  // One is stopped in order, one is killed: nothing of it is said any more.
  for (const isKilled of [false, true]) {
    const before = newRig({ store, now });
    const { id } = await before.client.responses.create(HELLO);
    await before.upstream.asked;
    const after = newRig({ store, now });
    assertEquals((await after.client.responses.retrieve(id)).status, "in_progress", "another process may work on it");
    if (isKilled) clock.ms += 60_000;
    else {
      before.app.abort();
      await before.app.settled();
    }
    const found = await after.client.responses.retrieve(id);
    assertEquals([found.status, found.error?.code], ["failed", "server_error"]);
    assertStringIncludes(found.error!.message, isKilled ? "stopped" : "shutting down");
    before.app.abort();
    await before.app.settled();
  }
});

Deno.test("background: another gateway on the same store cancels it", async () => {
  const store = createMemoryStore({ now: () => NOW, limitBytes: 2 ** 20 });
  const one = newRig({ store });
  const other = newRig({ store });
  const { id } = await one.client.responses.create(HELLO);
  await one.upstream.asked;
  assertEquals((await other.client.responses.cancel(id)).status, "cancelled");
  await one.upstream.left;
});

Deno.test("background: another gateway on the same store deletes it, and it is stopped", async () => {
  const store = createMemoryStore({ now: () => NOW, limitBytes: 2 ** 20 });
  const one = newRig({ store });
  const other = newRig({ store });
  const { id } = await one.client.responses.create(HELLO);
  await one.upstream.asked;
  await other.client.responses.delete(id);
  await one.upstream.left;
  await one.app.settled();
  for (const { client } of [one, other]) await assertRejects(() => client.responses.retrieve(id), OpenAI.NotFoundError);
});

Deno.test("background: what is cancelled once its gateway was killed is cancelled, at once and later", async () => {
  const clock = { ms: NOW };
  const now = () => clock.ms;
  const store = createMemoryStore({ now, limitBytes: 2 ** 20 });
  const get: Store["get"] = (key) => key.includes("cancel") ? Promise.resolve(undefined) : store.get(key);
  const killed = newRig({ store: { ...store, get }, now });
  const { client } = newRig({ store, now });
  const { id } = await killed.client.responses.create(HELLO);
  await killed.upstream.asked;
  assertEquals((await client.responses.cancel(id)).status, "cancelled");
  clock.ms += 60_000;
  assertEquals((await client.responses.retrieve(id)).status, "cancelled");
  killed.app.abort();
  await killed.app.settled();
});
