/**
 * The upstream of the bench: answers at once and without a model. Answers to `POST /v1/chat/completions` are as long,
 * as slow and as unfinished as the last user message says. For a stream: `chunks=2000`, `delay=20` (milliseconds between
 * chunks), `burst=20` (so many chunks are one write), `stamp=1` (each chunk says when it is written), `spread=1` (the streams take turns at writing, however they were opened), `park=1` (open
 * and silent after the last chunk). For a whole answer: `repeat=60` (how often it has all the words). A whole answer counts the
 * messages of the request as its tokens.
 */
import { clock } from "./clock.ts";
import { completions, embeddings, features, speech, transcription } from "./fake_tasks.ts";

interface ChatRequest {
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  messages: { content: unknown }[];
}

interface Orders {
  chunks: number;
  delayMs: number;
  burst: number;
  stamp: boolean;
  spread: boolean;
  park: boolean;
  repeat: number;
}

const ENVELOPE = {
  created: 1795220295,
  id: "chatcmpl-n860uB6meDFiDU4cPL3rdksil6wpTBFM",
  model: "bench",
  system_fingerprint: "b1-de3ff81",
  object: "chat.completion.chunk",
};
const WORDS = ["la", " li", " lu l", "e lo. "];
const USAGE = {
  completion_tokens: 64,
  prompt_tokens: 22,
  total_tokens: 86,
  prompt_tokens_details: { cached_tokens: 21 },
};

const encoder = new TextEncoder();
const frame = (data: unknown) => encoder.encode(`data: ${JSON.stringify(data)}\n\n`);
const chunk = (delta: unknown, finish_reason: string | null = null) =>
  frame({ choices: [{ finish_reason, index: 0, delta }], ...ENVELOPE });

const FIRST = chunk({ role: "assistant", content: null });
const CONTENT = WORDS.map((content) => chunk({ content }));
const LAST = chunk({}, "length");
const USAGE_FRAME = frame({ choices: [], ...ENVELOPE, usage: USAGE });
const DONE = encoder.encode("data: [DONE]\n\n");

const completion = (repeat: number, messages: number) =>
  JSON.stringify({
    choices: [{
      finish_reason: "length",
      index: 0,
      message: { role: "assistant", content: WORDS.join("").repeat(repeat) },
    }],
    ...ENVELOPE,
    object: "chat.completion",
    usage: { ...USAGE, prompt_tokens: messages, prompt_tokens_details: { cached_tokens: 0 } },
  });

function readOrders(request: ChatRequest): Orders {
  const text = JSON.stringify(request.messages.at(-1)?.content ?? "");
  const order = (name: string) => Number(text.match(new RegExp(`${name}=(\\d+)`))?.[1] ?? 0);
  return {
    chunks: order("chunks"),
    delayMs: order("delay"),
    burst: order("burst") || 1,
    stamp: order("stamp") === 1,
    spread: order("spread") === 1,
    park: order("park") === 1,
    repeat: order("repeat") || 16,
  };
}

/** Of any number of streams in a row, the phases are about evenly spaced by this part of an interval: the golden ratio. */
const SPACING = (Math.sqrt(5) - 1) / 2;
let spreadStreams = 0;

/**
 * How long a stream waits before each chunk. A gateway that opens streams all at once would otherwise get their chunks in bursts,
 * and one that takes its time would not.
 */
function pace({ delayMs, spread }: Orders): () => number {
  if (!spread) return () => delayMs;
  const phase = (spreadStreams++ * SPACING % 1) * delayMs;
  return () => Math.ceil(delayMs - (performance.now() - phase + delayMs) % delayMs);
}

/** So many chunks as one write, the first being the chunk number `from`. */
function joined(from: number, count: number): Uint8Array<ArrayBuffer> {
  const chunks = Array.from({ length: count }, (_, at) => CONTENT[(from + at) % CONTENT.length]!);
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let length = 0;
  for (const each of chunks) {
    bytes.set(each, length);
    length += each.length;
  }
  return bytes;
}

/** Each write is a chunk of its own on the wire, as when a model writes word by word. */
function stream(orders: Orders, withUsage: boolean): ReadableStream<Uint8Array<ArrayBuffer>> {
  const ending = [LAST, ...(withUsage ? [USAGE_FRAME] : []), DONE];
  const waitMs = pace(orders);
  const count = (from: number) => Math.min(orders.burst, orders.chunks - from);
  let written = -1;
  return new ReadableStream({
    async pull(controller) {
      if (written === -1) {
        controller.enqueue(FIRST);
        written = 0;
      } else if (written < orders.chunks) {
        if (orders.delayMs > 0) await sleep(waitMs());
        const more = count(written);
        controller.enqueue(orders.stamp ? chunk({ content: `t=${clock()} ` }) : joined(written, more));
        written += orders.stamp ? 1 : more;
      } else if (orders.park) await new Promise(() => {});
      else {
        for (const bytes of ending) controller.enqueue(bytes);
        controller.close();
      }
    },
  }, { highWaterMark: 1 });
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function chat(request: Request): Promise<Response> {
  const body: ChatRequest = await request.json();
  const orders = readOrders(body);
  if (!body.stream) {
    const answer = completion(orders.repeat, body.messages.length);
    return new Response(answer, { headers: { "content-type": "application/json" } });
  }
  const events = stream(orders, body.stream_options?.include_usage === true);
  return new Response(events, { headers: { "content-type": "text/event-stream" } });
}

const ROUTES: Readonly<Record<string, (request: Request) => Response | Promise<Response>>> = {
  "/healthz": () => new Response("ok"),
  "/v1/chat/completions": chat,
  "/v1/embeddings": embeddings,
  "/hub/models/bench/pipeline/feature-extraction": features,
  "/v1/completions": completions,
  "/v1/audio/speech": speech,
  "/v1/audio/transcriptions": transcription,
  "/fal/bench": transcription,
};

Deno.serve(
  { hostname: "127.0.0.1", port: Number(Deno.args[0] ?? 0) },
  (request) => ROUTES[new URL(request.url).pathname]?.(request) ?? new Response("No such path", { status: 404 }),
);
