/** What is kept of requests, and that its two bounds hold whatever comes. */
import { assert, assertEquals } from "@std/assert";
import { maskedUrl } from "../../src/util/urls_and_headers.ts";
import type { Capture } from "../../src/context/capture.ts";
import { type CaptureLimits, CaptureStore } from "../../src/context/capture_store.ts";
import { fetchTransport } from "../../src/platform/fetch_transport.ts";
import { nodeTransport } from "../../src/platform/node_transport.ts";
import { assertCheap } from "../support/cost.ts";
import { textOf } from "../support/transport.ts";

const CALL = { target: "up/model", upstream: "up", driver: "chat", reason: "first" } as const;

/** By default no request comes too soon. */
function capturesOf(bounds: Partial<CaptureLimits>, monotonic = () => 0): CaptureStore {
  return new CaptureStore({ requests: 10, megabytes: 1, perMinute: 1_000_000, ...bounds }, monotonic);
}

function begin(captures: CaptureStore, id: string): Capture {
  return offer(captures, id)!;
}

function offer(captures: CaptureStore, id: string, isFromConsole = false): Capture | undefined {
  const request = new Request("http://gateway/oss/v1/messages", { method: "POST", headers: { "x-api-key": "secret" } });
  return captures.begin({
    id,
    started: 0,
    request,
    url: new URL(request.url),
    caller: { name: "anna", owner: "anna" },
    gateway: { secrets: [], stages: [] },
    requestLog: { elapsedMs: () => 7, isFromConsole },
  });
}

function pieces(record: Capture) {
  return [record.body, record.answer, ...record.calls.flatMap((call) => [call.body, call.answer])];
}

/** Makes a call whose answer has these pieces, each in the same buffer as the one before. */
async function call(record: Capture, body: string, answer: readonly Uint8Array[]): Promise<void> {
  const rest = [...answer];
  const buffer = new Uint8Array(Math.max(0, ...answer.map(({ length }) => length)));
  const read = () => {
    const piece = rest.shift();
    if (!piece) return Promise.resolve(undefined);
    buffer.set(piece);
    return Promise.resolve(buffer.subarray(0, piece.length));
  };
  const body_ = { read, cancel: () => Promise.resolve() };
  const transport = record.recorded({
    send: () => Promise.resolve({ status: 200, ok: true, headers: new Headers(), body: body_ }),
    close() {},
  }, CALL);
  const signal = new AbortController().signal;
  const sent = await transport.send({ url: "http://up.test/v1", method: "POST", headers: {}, body, signal });
  while (await sent.body!.read());
}

/** Numbers that are the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

Deno.test("recording: both bounds hold, and every byte that is kept is in the sum", async () => {
  for (let seed = 1; seed <= 5; seed++) {
    const below = numbers(seed);
    const captures = capturesOf({ requests: 5 });
    const open: Capture[] = [];
    for (let step = 0; step < 300; step++) {
      if (below(3) === 0 || open.length === 0) open.push(begin(captures, `${seed}.${step}`));
      const record = open[below(open.length)]!;
      const kind = below(5);
      if (kind === 0) record.body.add(new Uint8Array(below(300_000)));
      if (kind === 1) record.answer.addText("x".repeat(below(20_000)));
      if (kind === 2) await call(record, "y".repeat(below(60_000)), [new Uint8Array(below(90_000)), new Uint8Array(9)]);
      if (kind === 3) record.event("failed", "up/model", "upstream_error");
      if (kind === 4) captures.end({ id: record.id, notes: ["dropped top_k"] } as never);
      const all = captures.all();
      assert(all.length <= 5 && captures.bytes <= 1e6, `${all.length} records of ${captures.bytes} bytes`);
      assertEquals(captures.bytes, all.reduce((sum, { bytes }) => sum + bytes, 0));
      for (const { capture, bytes } of all) {
        assert(pieces(capture).reduce((sum, { kept }) => sum + kept, 0) <= bytes);
        for (const { kept, length } of pieces(capture)) assert(kept <= length && kept <= 125_000);
      }
      for (const gone of open.filter(({ id }) => !captures.of(id))) {
        assertEquals(
          pieces(gone).reduce((sum, { kept }) => sum + kept, 0),
          0,
          "It holds nothing, though it still runs",
        );
      }
    }
  }
});

Deno.test("recording: of a busy gateway so many are recorded as may be, and each from the console", () => {
  let now = 0;
  const captures = capturesOf({ perMinute: 60 }, () => now);
  const offered = (count: number) =>
    Array.from({ length: count }, (_, index) => offer(captures, `${now}.${index}`)).filter(Boolean).length;
  assertEquals([offered(100), captures.passed], [60, 40]);
  assert(offer(captures, "replayed", true));
  now = 5_000;
  assertEquals([offered(100), captures.passed], [5, 135]);
  now = 3_600_000;
  assertEquals(offered(100), 60);
});

Deno.test("recording: of one huge body the beginning is kept, and the others stay", () => {
  const captures = capturesOf({ requests: 10 });
  begin(captures, "first").body.addText("the first");
  const huge = begin(captures, "huge");
  const bytes = Uint8Array.from({ length: 3_000_000 }, (_, index) => index % 251);
  huge.body.add(bytes);
  assertEquals([huge.body.length, huge.body.kept], [3_000_000, 125_000]);
  assertEquals(huge.body.bytes(), bytes.subarray(0, 125_000));
  huge.answer.addText("z".repeat(2_000_000));
  assertEquals([huge.answer.length, huge.answer.kept], [2_000_000, 125_000]);
  assertEquals(new TextDecoder().decode(captures.of("first")!.body.bytes()), "the first");
});

Deno.test("recording: more slow streams than are kept grow no memory, and the latest are whole", () => {
  const captures = capturesOf({ requests: 20 });
  const streams = Array.from({ length: 100 }, (_, index) => begin(captures, String(index)));
  for (let turn = 0; turn < 50; turn++) {
    for (const stream of streams) stream.answer.addText(`data: ${turn}\n\n`);
  }
  assertEquals(captures.all().length, 20);
  const whole = Array.from({ length: 50 }, (_, turn) => `data: ${turn}\n\n`).join("");
  for (const { capture } of captures.all()) assertEquals(new TextDecoder().decode(capture.answer.bytes()), whole);
  assertEquals(streams.slice(0, 80).map(({ answer }) => answer.bytes().length), Array(80).fill(0));
});

Deno.test("recording: what is read into one buffer again and again is copied", async () => {
  const captures = capturesOf({ requests: 1 });
  const record = begin(captures, "one");
  const text = (word: string) => new TextEncoder().encode(word);
  await call(record, "asked", [text("first "), text("second "), text("third")]);
  const [one] = record.calls;
  assertEquals(new TextDecoder().decode(one!.answer.bytes()), "first second third");
  assertEquals(new TextDecoder().decode(one!.body.bytes()), "asked");
  assertEquals([one!.at, one!.headAt, one!.endAt], [7, 7, 7]);
});

for (const [kind, create] of Object.entries({ fetch: () => fetchTransport(fetch), node: nodeTransport })) {
  Deno.test(`recording: whoever calls gets the head and the body that the upstream sent · ${kind}`, async () => {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      () => new Response("answer", { status: 201, headers: { "x-one": "1" } }),
    );
    const record = begin(capturesOf({}), "one");
    const transport = record.recorded(create(), CALL);
    const url = `http://127.0.0.1:${server.addr.port}/v1`;
    const signal = new AbortController().signal;
    const response = await transport.send({ url, method: "POST", headers: {}, body: "asked", signal });
    const text = await textOf(response);
    assertEquals([response.status, response.ok, response.headers.get("x-one"), text], [201, true, "1", "answer"]);
    const [one] = record.calls;
    assertEquals([one!.status, new TextDecoder().decode(one!.answer.bytes())], [201, "answer"]);
    transport.close();
    await server.shutdown();
  });
}

Deno.test("recording: what opens something is in no head", () => {
  const captures = capturesOf({ requests: 1 });
  const request = new Request("http://gateway/oss/v1/messages?api_key=query-secret&beta=true", {
    headers: { authorization: "Bearer head-secret", "x-api-key": "key-secret", cookie: "a=cookie-secret; b=more" },
  });
  const { headers, url, caller } = captures.begin({
    id: "one",
    started: 0,
    request,
    url: new URL(request.url),
    caller: { name: "anna", owner: "anna", token: "token-secret" },
    gateway: { secrets: [], stages: [] },
    requestLog: { elapsedMs: () => 0, isFromConsole: false },
  })!;
  const all = JSON.stringify([headers, url, caller]);
  assert(!/secret|more/.test(all), all);
  assertEquals(Object.fromEntries(headers).authorization, "Bearer ***");
  assert(url.endsWith("beta=true"), url);
});

Deno.test("recording: each secret of a URL is shown once, in its place, and many cost little", async () => {
  assertEquals(
    maskedUrl("https://a.test/x?key=1&b=2%203&token=4&key=5&b=6#c"),
    "https://a.test/x?key=***&b=2+3&token=***&b=6#c",
  );
  assertEquals(maskedUrl("https://a.test/?b=2%203"), "https://a.test/?b=2%203");
  const names = Array.from({ length: 20_000 }, (_, at) => `key${at}`);
  const url = (value: string) => `https://a.test/?${names.map((name) => `${name}=${value}`).join("&")}`;
  await assertCheap(200, () => assertEquals(maskedUrl(url("1")), url("***")));
});
