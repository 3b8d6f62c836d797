/**
 * The upstream of the bench: answers `POST /v1/chat/completions` at once and without a model. Streams are as long, as slow
 * and as unfinished as the last user message says: `chunks=2000 delay=20 park=1` (delay in milliseconds between chunks;
 * `park` leaves the stream open and silent after its last chunk).
 */

interface ChatRequest {
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  messages: { content: unknown }[];
}

interface Orders {
  chunks: number;
  delayMs: number;
  park: boolean;
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

const COMPLETION = JSON.stringify({
  choices: [{ finish_reason: "length", index: 0, message: { role: "assistant", content: WORDS.join("").repeat(16) } }],
  ...ENVELOPE,
  object: "chat.completion",
  usage: USAGE,
});

function readOrders(request: ChatRequest): Orders {
  const text = JSON.stringify(request.messages.at(-1)?.content ?? "");
  const order = (name: string) => Number(text.match(new RegExp(`${name}=(\\d+)`))?.[1] ?? 0);
  return { chunks: order("chunks"), delayMs: order("delay"), park: order("park") === 1 };
}

/** Each frame is a chunk of its own on the wire, as when a model writes word by word. */
function stream(orders: Orders, withUsage: boolean): ReadableStream<Uint8Array<ArrayBuffer>> {
  const ending = [LAST, ...(withUsage ? [USAGE_FRAME] : []), DONE];
  let written = -1;
  return new ReadableStream({
    async pull(controller) {
      if (written === -1) controller.enqueue(FIRST);
      else if (written < orders.chunks) {
        if (orders.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, orders.delayMs));
        controller.enqueue(CONTENT[written % CONTENT.length]!);
      } else if (orders.park) await new Promise(() => {});
      else {
        for (const bytes of ending) controller.enqueue(bytes);
        controller.close();
      }
      written++;
    },
  }, { highWaterMark: 1 });
}

Deno.serve({ hostname: "127.0.0.1", port: 0 }, async (request) => {
  if (request.method === "GET") return new Response("ok");
  const body: ChatRequest = await request.json();
  if (!body.stream) return new Response(COMPLETION, { headers: { "content-type": "application/json" } });
  const events = stream(readOrders(body), body.stream_options?.include_usage === true);
  return new Response(events, { headers: { "content-type": "text/event-stream" } });
});
