/**
 * A program that reads bodies in pieces in every way that the gateway has, and prints what each way held in memory and how
 * its time grew, as a line of JSON. Run it with `--v8-flags=--expose-gc`: what nobody holds is collected before it is counted.
 */
import process from "node:process";
import { gzipSync } from "node:zlib";
import { fetchTransport } from "../../src/platform/fetch_transport.ts";
import { fetchFile } from "../../src/upstream/file.ts";
import { chatBody, CONFIG, newApp } from "./app.ts";
import { ANSWER, answerWhole, ENDING, frame } from "./chat.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The result of one way of reading a body of so many bytes. */
export interface Reading {
  way: string;
  bytes: number;
  pieceBytes: number;
  /** The most that was held while the body came, in bytes, garbage and what was there before left out. */
  held: number;
  /** How many times as much processor time four times the bytes took; only for the smallest pieces. */
  growth?: number;
}

/** A way of reading: a body of about so many bytes, and what reads all of it. */
interface Way {
  body(bytes: number): Bytes;
  read(body: ReadableStream<Bytes>): Promise<unknown>;
}

const CHAT = "/oss/v1/chat/completions";
const SPEECH = "/oss/v1/audio/speech";
const TRANSCRIPTIONS = "/oss/v1/audio/transcriptions";
const models = {
  model: { task: "chat" as const, targets: [{ upstream: "fake", model: "org/model" }] },
  voice: { task: "speech" as const, targets: [{ upstream: "fake", model: "org/voice" }] },
  ears: { task: "transcription" as const, targets: [{ upstream: "fake", model: "org/ears" }] },
};
const config = { ...CONFIG, lanes: { oss: { models } } };

function bytesOf(text: string): Bytes {
  return new TextEncoder().encode(text);
}

const FORM = "multipart/form-data; boundary=b";
const form = (file: string) =>
  `--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nears\r\n--b\r\n` +
  `content-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF____WAVE${file}\r\n--b--\r\n`;

/** The client's body comes in pieces. */
function request(path: string, headers: Record<string, string>, answer: () => Response) {
  return async (body: ReadableStream<Bytes>) => {
    const app = newApp({ config, fetch: () => Promise.resolve(answer()) });
    await taken(await app.fetch(new Request(`http://gateway${path}`, { method: "POST", body, headers })));
  };
}

/** The upstream's answer comes in pieces. */
function answer(path: string, ask: object | FormData, type: string, init: ResponseInit = {}) {
  return async (body: ReadableStream<Bytes>) => {
    const headers = { "content-type": type };
    const app = newApp({ config, fetch: () => Promise.resolve(new Response(body, { headers, ...init })) });
    const sent = ask instanceof FormData ? ask : JSON.stringify(ask);
    const response = await app.fetch(new Request(`http://gateway${path}`, { method: "POST", body: sent }));
    await taken(response, init.status);
  };
}

/** Takes all of the answer, and keeps nothing. */
async function taken({ status, body }: Response, expected = 200): Promise<void> {
  if (status !== expected) throw new Error(`Answered ${status}`);
  for await (const _ of body!);
}

const STREAMED = answer(CHAT, chatBody({ stream: true }), "text/event-stream");
const WHOLE = answer(CHAT, chatBody(), "application/json");
const DELTA = `data: ${JSON.stringify({ type: "transcript.text.delta", delta: "word " })}\n\n`;
const file = new File(["RIFF____WAVE"], "a.wav");
const speech = { model: "voice", input: "Hello", voice: "alloy", response_format: "mp3" };

function asForm(fields: Record<string, string>): FormData {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields)) made.append(name, value);
  made.append("file", file);
  return made;
}

const repeat = (text: string, bytes: number) => text.repeat(Math.ceil(bytes / text.length));

const WAYS: Record<string, Way> = {
  "a request of JSON": {
    body: (bytes) => bytesOf(JSON.stringify({ ...chatBody(), user: "a".repeat(bytes) })),
    read: request(CHAT, {}, () => answerWhole()),
  },
  "a compressed request": {
    body: (bytes) => {
      const noise = Array.from(crypto.getRandomValues(new Uint8Array(1_000)), (byte) => byte.toString(36)).join("");
      const user = Array.from({ length: bytes / 8 }, (_, at) => (at * 7_919 * (noise.length + at)).toString(36)).join(
        "",
      );
      return Uint8Array.from(gzipSync(JSON.stringify({ ...chatBody(), user })));
    },
    read: request(CHAT, { "content-encoding": "gzip" }, () => answerWhole()),
  },
  "a form": {
    body: (bytes) => bytesOf(form("a".repeat(bytes))),
    read: request(TRANSCRIPTIONS, { "content-type": FORM }, () => Response.json({ text: "word" })),
  },
  "a whole answer": {
    body: (bytes) => bytesOf(JSON.stringify({ ...ANSWER, more: "a".repeat(bytes) })),
    read: WHOLE,
  },
  "an answer that is an error": {
    body: (bytes) => bytesOf(JSON.stringify({ error: { message: "no", more: "a".repeat(bytes) } })),
    read: answer(CHAT, chatBody(), "application/json", { status: 400 }),
  },
  "a stream of one long event": {
    body: (bytes) => bytesOf(`data: ${JSON.stringify({ choices: [], more: "a".repeat(bytes) })}\n\n${ENDING}`),
    read: STREAMED,
  },
  "a stream of many events": {
    body: (bytes) => bytesOf(repeat(frame({ delta: { content: "word" } }), bytes) + ENDING),
    read: STREAMED,
  },
  "a stream of comments": {
    body: (bytes) => bytesOf(repeat(": word\n", bytes) + ENDING),
    read: STREAMED,
  },
  "a stream with a long comment": {
    body: (bytes) => bytesOf(`: ${"a".repeat(bytes)}\n${ENDING}`),
    read: STREAMED,
  },
  "a stream with a field that nobody knows": {
    body: (bytes) => bytesOf(`more: ${"a".repeat(bytes)}\n${ENDING}`),
    read: STREAMED,
  },
  "a transcript as it is made": {
    body: (bytes) => bytesOf(`${repeat(DELTA, bytes)}data: [DONE]\n\n`),
    read: answer(TRANSCRIPTIONS, asForm({ model: "ears", stream: "true" }), "text/event-stream"),
  },
  "speech as bytes": {
    body: (bytes) => bytesOf(`ID3\x04\0\0${"a".repeat(bytes)}`),
    read: answer(SPEECH, speech, "audio/mpeg"),
  },
  "speech as events": {
    body: (bytes) => bytesOf(`ID3\x04\0\0${"a".repeat(bytes)}`),
    read: answer(SPEECH, { ...speech, stream_format: "sse" }, "audio/mpeg"),
  },
  "a file": {
    body: (bytes) => bytesOf("a".repeat(bytes)),
    read: (body) => {
      const transport = fetchTransport(() => Promise.resolve(new Response(body)));
      const service = { name: "files", baseUrl: "http://files.test", headers: {}, resultsFrom: [], transport };
      return fetchFile({ path: "tokenizer.json" }, service, new AbortController().signal);
    },
  },
};

/** The platform reads into 64 kB of its own wherever the reader brings no buffer (Deno 2.9.6). */
const PLATFORM_BYTES = 64 * 1024;
/** How often what is held is measured. */
const LOOKS = 2;

/** A body as the platform gives it, whose pieces come one by one. `onRead` hears how much has come, before each piece. */
function inPieces(body: Bytes, pieceBytes: number, onRead: (bytes: number) => void): ReadableStream<Bytes> {
  let at = 0;
  return new ReadableStream({
    type: "bytes",
    autoAllocateChunkSize: PLATFORM_BYTES,
    pull(controller) {
      const { byobRequest } = controller;
      onRead(at);
      if (at === body.length) controller.close();
      const { buffer, byteOffset, byteLength } = byobRequest!.view!;
      const piece = body.subarray(at, at + Math.min(pieceBytes, byteLength));
      new Uint8Array(buffer, byteOffset).set(piece);
      at += piece.length;
      byobRequest!.respond(piece.length);
    },
  }) as unknown as ReadableStream<Bytes>;
}

declare function gc(): void;

/** The memory in use. Unused buffers are released by another thread, and certainly before the next collection. */
function used(): number {
  gc();
  gc();
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

/** Far beyond this nothing more needs to be known, and the machine needs its memory. */
const HOPELESS = 100;

async function heldBy(
  { body, read }: Way,
  bytes: number,
  pieceBytes: number,
): Promise<Pick<Reading, "bytes" | "held">> {
  const made = body(bytes);
  const before = used();
  let most = 0;
  let next = 0;
  const look = (come: number) => {
    if (come < next) return;
    next = Math.min(come + made.length / LOOKS, Math.max(made.length, come + 1));
    most = Math.max(most, used() - before);
    if (most > HOPELESS * bytes) throw new Error("It holds far too much");
  };
  await read(inPieces(made, pieceBytes, look)).catch((thrown) => {
    if (most <= HOPELESS * bytes) throw thrown;
  });
  return { bytes: made.length, held: most };
}

/** How much processor time one reading takes, in microseconds. */
async function timeOf({ body, read }: Way, bytes: number): Promise<number> {
  const made = body(bytes);
  const start = process.cpuUsage();
  await read(inPieces(made, 1, () => {}));
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

/** Enough for others to have had a turn meanwhile. */
const WARM_BYTES = 16_000;

/** A ratio that clearly shows no quadratic growth. */
const FINE = 8;
const ROUNDS = 4;

/** The best of some rounds: what else the machine does can only make both of them longer. One is enough where it is fine. */
async function growthOf(way: Way, bytes: number): Promise<number> {
  let [few, many] = [Infinity, Infinity];
  for (let round = 0; round < ROUNDS && !(many / few <= FINE); round++) {
    few = Math.min(few, await timeOf(way, bytes));
    many = Math.min(many, await timeOf(way, 4 * bytes));
  }
  return many / few;
}

if (import.meta.main) {
  const [bytes, timed, pieces] = Deno.args.map((argument) => JSON.parse(argument)) as [number, number, number[]];
  for (const [name, way] of Object.entries(WAYS)) {
    // What is made once for all, such as compiled code, is no part of it.
    await way.read(inPieces(way.body(WARM_BYTES), Math.min(...pieces), () => {}));
    for (const pieceBytes of pieces) {
      const reading: Reading = { way: name, pieceBytes, ...await heldBy(way, bytes, pieceBytes) };
      if (pieceBytes === 1 && timed > 0) reading.growth = await growthOf(way, timed);
      // deno-lint-ignore no-console -- what the program is for
      console.log(JSON.stringify(reading));
    }
  }
}
