import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Speech, SpeechRequest } from "../../src/canonical/audio.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Reply } from "../../src/contract/call.ts";
import type { UpstreamOperation } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import type { Attempt } from "../../src/upstream/attempt.ts";
import { speak } from "../../src/upstream/speak.ts";
import type { Upstream } from "../../src/upstream/send.ts";
import { type Fetch, fetchTransport } from "../../src/platform/fetch_transport.ts";

import type { Timeouts } from "../../src/upstream/deadlines.ts";
import { newContext } from "../support/context.ts";
import { withFakeClock } from "../support/fake_clock.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { delay, until, within } from "../support/wait.ts";
import { TARGET } from "../support/wires.ts";
import { DRIVER, newUpstream } from "./upstream.ts";

type Bytes = Uint8Array<ArrayBuffer>;
const SPEAK: SpeechRequest = { model: "m", text: "Hello", format: "wav", stream: false };
const WAV = new TextEncoder().encode("RIFF\x24\0\0\0WAVEfmt ");
const RESULT = "https://media.test/a.wav";

/** Says what it was handed; what comes as JSON tells where the sound is, or is the sound. */
const operation: UpstreamOperation<"speak"> = {
  request: () => ({ path: "speech", body: {} }),
  next: ({ body }) => {
    const { url, job } = body as JsonObject;
    if (typeof url === "string") return { url };
    return typeof job === "string" ? { path: job, afterMs: 1 } : undefined;
  },
  response: ([reply]) => ({ mediaType: kindOf(reply!), audio: reply!.stream ?? new Uint8Array() }),
};

/** What a driver can tell of a reply before it is whole. */
function kindOf({ body, stream }: Reply): string {
  if (!(body instanceof Uint8Array)) return `whole ${JSON.stringify(body)}`;
  return `${stream ? "stream" : "bytes"} ${new TextDecoder().decode(body.subarray(0, 4))} ${body.length}`;
}

function ask(fetch: Fetch, more: Partial<Upstream> = {}, signal = new AbortController().signal): Attempt<"speak"> {
  const driver = { ...DRIVER, operations: { speak: operation } };
  return {
    operation: "speak",
    input: SPEAK,
    prepare: () => SPEAK,
    key: "",
    estimate: 0,
    target: TARGET,
    upstream: newUpstream({
      driver,
      secret: "secret",
      resultsFrom: ["https://media.test"],
      transport: fetchTransport(fetch),
      ...more,
    }),
    context: newContext(),
    signal,
    onDescribed: () => {},
  };
}

function limits(more: Partial<Timeouts>): Partial<Upstream> {
  return { timeouts: { ...newUpstream().timeouts, ...more } };
}

interface Voice {
  fetch: Fetch;
  /** Bytes that the upstream has made, counted. */
  made: number;
  push(bytes: Bytes): void;
  end(): void;
  fail(): void;
  ended: Promise<string>;
}

/** A server that sends what the test tells it to, as the platform's `fetch` would give it: bytes, which end with the signal. */
function newVoice(type: string | undefined = "audio/wav"): Voice {
  let controller: ReadableByteStreamController;
  const ended = Promise.withResolvers<string>();
  const body = new ReadableStream({
    type: "bytes",
    start: (one) => void (controller = one),
    cancel: () => ended.resolve("cancelled"),
  });
  return {
    made: 0,
    ended: ended.promise,
    fetch(_, { signal }) {
      signal!.addEventListener("abort", () => {
        ended.resolve("aborted");
        controller.error(signal!.reason);
      });
      return Promise.resolve(new Response(body, { headers: type === undefined ? {} : { "content-type": type } }));
    },
    push(bytes) {
      this.made += bytes.length;
      controller.enqueue(bytes.slice());
    },
    end() {
      controller.close();
      controller.byobRequest?.respond(0);
    },
    fail: () => controller.error(new TypeError("connection reset")),
  };
}

function readerOf({ audio }: Speech): ReadableStreamDefaultReader<Bytes> {
  assert(audio instanceof ReadableStream);
  return (audio as ReadableStream<Bytes>).getReader();
}

async function readAll(reader: ReadableStreamDefaultReader<Bytes>): Promise<number[]> {
  const all: number[] = [];
  for (let step = await reader.read(); !step.done; step = await reader.read()) all.push(...step.value);
  return all;
}

const CHUNK = new Uint8Array(100).fill(7);

Deno.test("speak: the first bytes are enough to answer, and each chunk reaches the listener before the next one is made", async () => {
  const voice = newVoice();
  const speaking = speak(ask(voice.fetch));
  voice.push(CHUNK);
  const reader = readerOf(await within(speaking));
  assertEquals((await within(reader.read())).value, CHUNK);
  for (let made = 2; made < 5; made++) {
    const chunk = CHUNK.map(() => made);
    voice.push(chunk);
    assertEquals((await within(reader.read())).value, chunk);
    assertEquals(voice.made, made * CHUNK.length);
  }
  voice.end();
  assertEquals(await within(reader.read()), { done: true, value: undefined });
});

Deno.test("speak: the driver sees the beginning, of whatever length, and the listener hears all of it", async () => {
  for (const sizes of [[1], [44], [1, 1, 1], [63, 1, 70], [64], [10, 20, 30, 40], [40_000]]) {
    const voice = newVoice();
    const speaking = speak(ask(voice.fetch));
    const all = Array.from({ length: sizes.reduce((a, b) => a + b) }, (_, at) => WAV[at] ?? at % 251);
    let at = 0;
    for (const size of sizes) {
      voice.push(Uint8Array.from(all.slice(at, at += size)));
      await delay(0);
    }
    voice.end();
    const speech = await within(speaking);
    const [, beginning, length] = speech.mediaType.split(" ");
    assertEquals([beginning, Number(length) >= Math.min(64, all.length)], ["RIFF".slice(0, all.length), true]);
    assertEquals(await within(readAll(readerOf(speech))), all);
  }
});

Deno.test("speak: sound whose type is not told, or is called bytes, is passed on too", async () => {
  for (const type of [undefined, "application/octet-stream", "audio/mpeg"]) {
    const voice = newVoice(type);
    voice.push(CHUNK);
    voice.end();
    assertEquals((await readAll(readerOf(await speak(ask(voice.fetch))))).length, CHUNK.length);
  }
});

Deno.test("speak: an answer without a byte is handed over as one, and ends", async () => {
  const voice = newVoice();
  voice.end();
  const speech = await within(speak(ask(voice.fetch)));
  assertEquals(speech.mediaType, "stream  0");
  assertEquals(await readAll(readerOf(speech)), []);
});

Deno.test("speak: JSON and text come whole, and leave no clock running", async () => {
  for (const type of ["application/json", "text/plain; charset=utf-8"]) {
    const fetch = () => Promise.resolve(new Response('{"a":1}', { headers: { "content-type": type } }));
    const { mediaType, audio } = await speak(ask(fetch));
    assertEquals([mediaType, audio], ['whole {"a":1}', new Uint8Array()]);
  }
});

Deno.test("speak: a slow listener stops the upstream", async () => {
  let made = 0;
  const body = new ReadableStream({
    type: "bytes",
    pull(controller) {
      made++;
      controller.enqueue(new Uint8Array(1024));
    },
  });
  const fetch = () => Promise.resolve(new Response(body, { headers: { "content-type": "audio/wav" } }));
  const reader = readerOf(await speak(ask(fetch)));
  await reader.read();
  await delay(50);
  assert(made <= 2, `It made ${made} chunks`);
  await reader.cancel();
});

Deno.test("speak: a listener who pauses for longer than the upstream may is no idle upstream", async () => {
  const voice = newVoice();
  voice.push(CHUNK);
  const reader = readerOf(await speak(ask(voice.fetch, limits({ idleMs: 20, firstEventMs: 20 }))));
  await reader.read();
  await delay(100);
  voice.push(CHUNK);
  assertEquals((await within(reader.read())).value?.length, CHUNK.length);
  voice.end();
  assertEquals((await reader.read()).done, true);
});

/** A server that takes the connection and says nothing. */
const silent: Fetch = (_, { signal }) =>
  new Promise((_, reject) => {
    signal!.throwIfAborted();
    signal!.addEventListener("abort", () => reject(signal!.reason));
  });

Deno.test("speak: leaving before the head ends the call", async () => {
  const left = new AbortController();
  const speaking = speak(ask(silent, {}, left.signal));
  left.abort(new GatewayError("client_closed", "The client closed the connection"));
  assertEquals((await assertRejects(() => within(speaking), GatewayError)).code, "client_closed");
});

Deno.test("speak: leaving before the first bytes ends the call", async () => {
  const left = new AbortController();
  const voice = newVoice();
  const speaking = speak(ask(voice.fetch, {}, left.signal));
  await delay(0);
  left.abort(new GatewayError("client_closed", "The client closed the connection"));
  assertEquals((await assertRejects(() => within(speaking), GatewayError)).code, "client_closed");
  assertEquals(await voice.ended, "aborted");
});

Deno.test("speak: leaving in the middle ends the call, whether the listener waits for more or not", async () => {
  for (const isWaiting of [true, false]) {
    const voice = newVoice();
    voice.push(CHUNK);
    const reader = readerOf(await speak(ask(voice.fetch)));
    await reader.read();
    const waiting = isWaiting ? reader.read() : undefined;
    await reader.cancel();
    assertEquals((await waiting)?.done, waiting && true);
    assertEquals(await within(voice.ended), "aborted");
  }
});

Deno.test("speak: leaving a speech of which nothing was heard ends the call", async () => {
  const voice = newVoice();
  voice.push(CHUNK);
  await readerOf(await speak(ask(voice.fetch))).cancel();
  assertEquals(await within(voice.ended), "aborted");
});

Deno.test("speak: a client that is gone fails a speech that nobody reads", async () => {
  const left = new AbortController();
  const voice = newVoice();
  voice.push(CHUNK);
  const reader = readerOf(await speak(ask(voice.fetch, {}, left.signal)));
  left.abort(new GatewayError("client_closed", "The client closed the connection"));
  assertEquals(await voice.ended, "aborted");
  await reader.read();
  assertEquals((await assertRejects(() => reader.read(), GatewayError)).code, "client_closed");
});

Deno.test("speak: a break before the first bytes is the upstream's failure, which another target may not have", async () => {
  const voice = newVoice();
  const speaking = speak(ask(voice.fetch));
  voice.fail();
  const error = await assertRejects(() => within(speaking), GatewayError, "connection to the upstream was lost");
  assertEquals(error.code, "upstream_error");
});

Deno.test("speak: a break in the middle fails the stream after the bytes that came, and never looks like an end", async () => {
  const voice = newVoice();
  voice.push(CHUNK);
  const reader = readerOf(await speak(ask(voice.fetch)));
  assertEquals((await reader.read()).value, CHUNK);
  const next = reader.read();
  voice.fail();
  const error = await assertRejects(() => within(next), GatewayError, "connection to the upstream was lost");
  assertEquals(error.code, "upstream_error");
});

const TIMEOUTS: Record<string, { more: Partial<Timeouts>; message: string }> = {
  "begins to answer": { more: { wholeMs: 30 }, message: "did not begin to answer within 30 ms" },
  "sends a first sound": { more: { firstEventMs: 30 }, message: "did not send its first audio within 30 ms" },
  "ends": { more: { totalMs: 30 }, message: "did not answer within 30 ms" },
};

for (const [name, { more, message }] of Object.entries(TIMEOUTS)) {
  Deno.test(`speak: an upstream that never ${name} is given up`, async () => {
    const voice = newVoice();
    const speaking = speak(ask(name === "begins to answer" ? silent : voice.fetch, limits(more)));
    assertEquals((await assertRejects(() => within(speaking), GatewayError, message)).code, "upstream_timeout");
  });
}

Deno.test("speak: an upstream that falls silent in the middle is given up, and the stream fails", async () => {
  const voice = newVoice();
  voice.push(CHUNK);
  const reader = readerOf(await speak(ask(voice.fetch, limits({ idleMs: 30 }))));
  await reader.read();
  const error = await assertRejects(() => within(reader.read()), GatewayError, "did not send more audio");
  assertEquals(error.code, "upstream_timeout");
  assertEquals(await voice.ended, "aborted");
});

Deno.test("speak: a speech has a time for all of it", async () => {
  const voice = newVoice();
  voice.push(CHUNK);
  const reader = readerOf(await speak(ask(voice.fetch, limits({ totalMs: 50 }))));
  await reader.read();
  await assertRejects(() => within(reader.read()), GatewayError, "did not answer within 50 ms");
});

Deno.test("speak: a job is polled, and its result is streamed from where it is, without any credential", async () => {
  const asked: { url: string; headers: Headers }[] = [];
  const voice = newVoice();
  voice.push(CHUNK);
  voice.end();
  const fetch: Fetch = (url, init) => {
    asked.push({ url, headers: new Headers(init.headers) });
    if (asked.length === 1) return Promise.resolve(Response.json({ job: "jobs/1" }));
    return asked.length === 2 ? Promise.resolve(Response.json({ url: RESULT })) : voice.fetch(url, init);
  };
  const speech = await speak(ask(fetch, { headers: { "x-team": "a" } }));
  assertEquals(await readAll(readerOf(speech)), [...CHUNK]);
  assertEquals(asked.map(({ url }) => url), [
    "http://upstream.test/v1/speech",
    "http://upstream.test/v1/jobs/1",
    RESULT,
  ]);
  assertEquals(asked.map(({ headers }) => [headers.get("authorization"), headers.get("x-team")]), [
    ["Bearer secret", "a"],
    ["Bearer secret", "a"],
    [null, null],
  ]);
});

Deno.test("speak: a result that is not there any more is the upstream's error", async () => {
  const upstream = fakeUpstream(() => Response.json({ url: RESULT }), () => new Response("gone", { status: 410 }));
  const parseError = () => new GatewayError("not_found", "It is gone");
  const driver = { ...DRIVER, operations: { speak: operation }, parseError };
  const error = await assertRejects(() => speak(ask(upstream.fetch, { driver })), GatewayError, "It is gone");
  assertEquals([error.code, error.details.workBegun], ["upstream_error", true]);
});

Deno.test("speak: a result on another host is refused at once, and not asked for", () =>
  withFakeClock(async (clock) => {
    const upstream = fakeUpstream(() => Response.json({ url: "https://evil.test/a.wav" }));
    const refused = assertRejects(() => speak(ask(upstream.fetch)), GatewayError, "https://evil.test");
    await clock.advance(0);
    const error = await refused;
    assertEquals([error.code, error.details.workBegun, upstream.asked.length], ["upstream_error", true, 1]);
  }));

Deno.test("speak: what the driver cannot take ends the call", async () => {
  const voice = newVoice();
  voice.push(CHUNK);
  const response = () => {
    throw new GatewayError("upstream_error", "The upstream sent image/png instead of audio");
  };
  const driver = { ...DRIVER, operations: { speak: { ...operation, response } } };
  await assertRejects(() => speak(ask(voice.fetch, { driver })), GatewayError, "image/png");
  assertEquals(await voice.ended, "aborted");
});

Deno.test("speak: the embedded upstream answers with no call", async () => {
  const speech: Speech = { mediaType: "audio/wav", audio: WAV };
  const driver = { ...DRIVER, operations: { speak: { local: () => speech } } };
  const fetch = () => Promise.reject(new Error("No call was expected"));
  assertEquals(await speak(ask(fetch, { driver })), speech);
});

Deno.test("speak: an error status is the driver's to tell, and its body is read", async () => {
  const upstream = fakeUpstream(() => Response.json({ error: "no voice" }, { status: 400 }));
  await assertRejects(() => speak(ask(upstream.fetch)), GatewayError, '400 {"error":"no voice"}');
  await until(() => upstream.asked.length === 1);
});
