import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Frame } from "../../src/contract/frame.ts";
import { GatewayError } from "../../src/errors.ts";
import { FrameSource, isEvent } from "../../src/upstream/frames.ts";
import { heldBy } from "../support/heap.ts";
import { readFrames } from "../support/sources.ts";
import { bodyOf, piecesOf, toArray } from "../support/chunks.ts";
import { sourceOfBytes } from "../support/transport.ts";
import { delay } from "../support/wait.ts";

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

async function frames(...pieces: Uint8Array<ArrayBuffer>[]): Promise<Frame[]> {
  const all = await toArray(readFrames(bodyOf(pieces)));
  // What a frame does not have is absent or undefined, which is the same.
  return all.map((frame) => JSON.parse(JSON.stringify(frame)));
}

const STREAMS: Record<string, { text: string; expected: Frame[] }> = {
  "plain data": { text: "data: one\n\ndata: two\n\n", expected: [{ data: "one" }, { data: "two" }] },
  "CRLF": { text: "data: one\r\n\r\ndata: two\r\n\r\n", expected: [{ data: "one" }, { data: "two" }] },
  "bare CR": { text: "data: one\r\rdata: two\r\r", expected: [{ data: "one" }, { data: "two" }] },
  "a byte order mark": { text: "\uFEFFdata: one\n\n", expected: [{ data: "one" }] },
  "no blank after the colon": { text: "data:one\n\n", expected: [{ data: "one" }] },
  "several lines of data": { text: "data: one\ndata: two\n\n", expected: [{ data: "one\ntwo" }] },
  "a name and an id": { text: "event: ping\nid: 7\ndata: {}\n\n", expected: [{ event: "ping", id: "7", data: "{}" }] },
  "comments": {
    text: ": warming up\n\ndata: one\n\n:\n\n",
    expected: [{ comment: "warming up" }, { data: "one" }, { comment: "" }],
  },
  "fields that nobody knows": { text: "retry: 10\nfoo: bar\ndata: one\n\n", expected: [{ data: "one" }] },
  "no blank line at the end": { text: "data: one\n\ndata: two\n", expected: [{ data: "one" }, { data: "two" }] },
  "no line break at the end": { text: "data: one\n\ndata: two", expected: [{ data: "one" }, { data: "two" }] },
  "a last event without a line break at its end": { text: 'data: {"a":1}', expected: [{ data: '{"a":1}' }] },
  "an end with blanks and without a line break": { text: "data:  [DONE] ", expected: [{ data: " [DONE] " }] },
  "a whole message that was cut off": { text: 'data: {"message":{"co', expected: [{ data: '{"message":{"co' }] },
  "an end without a line break": { text: "data: [DONE]", expected: [{ data: "[DONE]" }] },
  "a last event that was cut off": { text: 'data: {"a":1}\n\nevent: b\ndata: {"b', expected: [{ data: '{"a":1}' }] },
  "an end that was cut off": { text: 'data: {"a":1}\n\ndata: [DO', expected: [{ data: '{"a":1}' }] },
  "a last event that is no JSON": { text: 'data: {"b\n\n', expected: [{ data: '{"b' }] },
  "characters of several bytes": { text: "data: Grüße, 世界 👋\n\n", expected: [{ data: "Grüße, 世界 👋" }] },
  "JSON in place of events": { text: '{"a":1}', expected: [{ data: '{"a":1}' }] },
  "JSON in several lines": { text: '\uFEFF\n{\n  "a": [\n    1\n  ]\n}\n', expected: [{ data: '{"a": [1]}' }] },
  "lines of JSON": { text: '{"a":1}\n{"b":2}\n', expected: [{ data: '{"a":1}' }, { data: '{"b":2}' }] },
  "a line of JSON between events": {
    text: 'data: {"a":1}\n\n{"b":2}\n\ndata: {"c":3}\n\n',
    expected: [{ data: '{"a":1}' }, { data: '{"b":2}' }, { data: '{"c":3}' }],
  },
  "an error in a field of its own": {
    text: 'data: {"a":1}\n\nerror: {"code":500}\n\n',
    expected: [{ data: '{"a":1}' }, { event: "error", data: '{"code":500}' }],
  },
  "an error in words": { text: "error: it broke\n", expected: [{ event: "error", data: '{"error":"it broke"}' }] },
  "text that is no JSON": { text: "<html>\n{ no JSON\n</html>\n", expected: [] },
  "nothing": { text: "", expected: [] },
};

for (const [name, { text, expected }] of Object.entries(STREAMS)) {
  Deno.test(`frames: ${name}, wherever the bytes are cut`, async () => {
    const bytes = bytesOf(text);
    for (let at = 0; at <= bytes.length; at++) {
      assertEquals(await frames(bytes.slice(0, at), bytes.slice(at)), expected, `cut at ${at}`);
    }
    assertEquals(await frames(...piecesOf(bytes, 1)), expected, "byte by byte");
  });
}

Deno.test("frames: what follows a long event does not keep its text", async () => {
  const after = [
    "event: response.output_text.delta\n",
    "id: 0123456789abcdef\n",
    'data: {"a":"0123456789"}\n',
    "data: {",
  ];
  for (const next of after) {
    const piece = bytesOf("x".repeat(2 ** 16));
    const pieces = [bytesOf("data: a\n\n"), bytesOf("data: "), ...Array(128).fill(piece), bytesOf(`\n\n${next}`)];
    const source = new FrameSource({
      read: () => pieces.length > 0 ? Promise.resolve(pieces.shift()) : Promise.withResolvers<undefined>().promise,
      cancel: () => Promise.resolve(),
    });
    const held = await heldBy(async () => {
      let events = 0;
      while (events < 2) events += (await source.next())!.length;
      void source.next();
      return source;
    });
    assert(held < 2 ** 20, `${held} bytes after ${next}`);
  }
});

Deno.test("frames: a frame that is too long is an error, and the body is left", async () => {
  const piece = bytesOf("x".repeat(2 ** 20));
  let isCancelled = false;
  let pieces = 0;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(bytesOf("data: ")),
    pull: (controller) => pieces++ < 40 ? controller.enqueue(piece) : controller.close(),
    cancel: () => void (isCancelled = true),
  });
  const error = await assertRejects(() => toArray(readFrames(body)), GatewayError, "a frame that is too long");
  assertEquals(error.code, "upstream_error");
  assertEquals(isCancelled, true);
});

/** Bytes of a connection, which are read into a buffer that the reader brings. */
function connectionOf(piece: Uint8Array<ArrayBuffer>, failure: unknown): ReadableStream<Uint8Array> {
  let isGiven = false;
  return new ReadableStream({
    type: "bytes",
    pull(controller) {
      if (isGiven) return controller.error(failure);
      isGiven = true;
      controller.enqueue(piece.slice());
    },
  });
}

const BROKEN = {
  "a connection": connectionOf,
  "pieces": (...[piece, failure]: Parameters<typeof connectionOf>) => bodyOf([piece], failure),
};

for (const [kind, open] of Object.entries(BROKEN)) {
  Deno.test(`frames: a body that breaks is the upstream's failure · ${kind}`, async () => {
    const cause = new TypeError("error reading a body from connection");
    const read: Frame[] = [];
    const error = await assertRejects(async () => {
      for await (const frame of readFrames(open(bytesOf("data: one\n\ndata: tw"), cause))) read.push(frame);
    }, GatewayError);
    assertEquals([error.code, error.cause, read.map(({ data }) => data)], ["upstream_error", cause, ["one"]]);
  });
}

Deno.test("frames: every piece is a batch, and shows whether an event is in it", async () => {
  const pulses: (boolean | string)[] = [];
  const pieces = [": warming", " up\n\n", "data: o", "ne\n\n", ": x\n\ndata: two\n\n"].map(bytesOf);
  const source = new FrameSource(sourceOfBytes(bodyOf(pieces)));
  for (let bytes = source.read(); bytes; bytes = source.read()) {
    pulses.push("wait");
    pulses.push(source.framesIn(await bytes)!.some(isEvent));
  }
  // The last piece is the end of the body, which is a batch too.
  assertEquals(pulses, [false, false, false, true, true, false].flatMap((event) => ["wait", event]));
});

/** Takes the first frame and leaves. Returns what the body saw. */
async function leaveAfterFirst(body: { more?: Uint8Array<ArrayBuffer>; ends: boolean }): Promise<string> {
  let outcome = "nothing";
  let pulls = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      pulls++;
      if (pulls === 1) return controller.enqueue(bytesOf("data: [DONE]\n\n"));
      if (pulls === 2 && body.more) return controller.enqueue(body.more);
      if (!body.ends) return await new Promise(() => {});
      await delay(1);
      if (outcome !== "nothing") return;
      outcome = "read to its end";
      controller.close();
    },
    cancel: () => void (outcome = "cancelled"),
  }, { highWaterMark: 0 });
  for await (const _ of readFrames(stream)) break;
  return outcome;
}

Deno.test("frames: leaving before the end reads the end that is there, so that the connection can be used again", async () => {
  assertEquals(await leaveAfterFirst({ ends: true }), "read to its end");
});

Deno.test("frames: leaving an upstream that stays silent, or that goes on, cancels its body", async () => {
  assertEquals(await leaveAfterFirst({ ends: false }), "cancelled");
  assertEquals(await leaveAfterFirst({ more: bytesOf("data: more\n\n"), ends: false }), "cancelled");
});

Deno.test("frames: they end where the body breaks, and who reads the bytes hears of it", async () => {
  const cause = new TypeError("error reading a body from connection");
  const source = new FrameSource(sourceOfBytes(bodyOf([bytesOf("data: one\n\n")], cause)));
  const frames = source.framesIn(await source.read())!;
  const thrown = await source.read()!.catch((why) => why);
  frames.push(...source.framesIn(undefined)!);
  assertEquals([frames.map(({ data }) => data), thrown, source.read()], [["one"], cause, undefined]);
});

const LINES: Record<string, { text: string; expected: string[] }> = {
  "lines": { text: '{"a":1}\n{"b":2}\n', expected: ['{"a":1}', '{"b":2}'] },
  "CRLF and blank lines": { text: '{"a":1}\r\n\r\n\n{"b":2}\r\n', expected: ['{"a":1}', '{"b":2}'] },
  "no line break at the end": { text: '{"a":1}\n{"b":"世界 👋"}', expected: ['{"a":1}', '{"b":"世界 👋"}'] },
  "a last line that was cut off": { text: '{"a":1}\n{"b":"世', expected: ['{"a":1}'] },
  "nothing": { text: "", expected: [] },
};

for (const [name, { text, expected }] of Object.entries(LINES)) {
  Deno.test(`frames: of JSON lines, ${name}, wherever the bytes are cut`, async () => {
    const bytes = bytesOf(text);
    const read = async (...pieces: Uint8Array<ArrayBuffer>[]) =>
      (await toArray(readFrames(bodyOf(pieces), "ndjson"))).map(({ data }) => data);
    for (let at = 0; at <= bytes.length; at++) {
      assertEquals(await read(bytes.slice(0, at), bytes.slice(at)), expected, `cut at ${at}`);
    }
    assertEquals(await read(...piecesOf(bytes, 1)), expected, "byte by byte");
  });
}

Deno.test("frames: JSON lines come as they end, several of one read at once", async () => {
  const source = new FrameSource(sourceOfBytes(bodyOf(['{"a":1}\n{"b":', "2}\n"].map(bytesOf))), "ndjson");
  const batches = [await source.next(), await source.next(), await source.next()];
  assertEquals(
    batches,
    [[{ data: '{"a":1}' }], [{ data: '{"b":2}' }], []],
    "The end of the bytes ends no further line",
  );
  assertEquals(await source.next(), undefined);
});
