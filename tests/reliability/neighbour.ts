/**
 * A worker in which another key's stream runs, of an event every 10 ms, with its upstream. It measures how much processor time
 * the gateway's main thread takes between two of the events. What other programs of the machine do thus counts little.
 */
import { mainThreadMs } from "../bench/server.ts";

const PING_MS = 10;
const LEAST_EVENTS = 10;

/** Begins to measure, or asks for what was measured. */
export type ToNeighbour = { begin: { url: string; key: string; pid: number } } | { read: true };
/** `port`: of the upstream. `mostMs`: the most between two events since it was asked last. */
export type FromNeighbour = { port: number } | { isReading: true } | { mostMs: number };

const worker = self as unknown as {
  postMessage(message: FromNeighbour): void;
  onmessage(event: MessageEvent<ToNeighbour>): void;
};
const answer = (message: FromNeighbour) => worker.postMessage(message);
const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
const event = new TextEncoder().encode(
  `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta: { content: "ping " } }] })}\n\n`,
);
let mostMs = 0;
let events = 0;

Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => answer({ port }) }, async (request) => {
  await request.body?.cancel();
  let timer: ReturnType<typeof setInterval>;
  const body = new ReadableStream({
    start: (controller) => void (timer = setInterval(() => controller.enqueue(event), PING_MS)),
    cancel: () => clearInterval(timer),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
});

worker.onmessage = async ({ data }) => {
  if ("begin" in data) return await measure(data.begin);
  // A delay shows only in the events that follow it.
  const until = events + LEAST_EVENTS;
  while (events < until) await new Promise((resolve) => setTimeout(resolve, PING_MS));
  answer({ mostMs });
  mostMs = 0;
};

async function measure({ url, key, pid }: { url: string; key: string; pid: number }): Promise<void> {
  const response = await fetch(`${url}/ping/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Hi" }] }),
  });
  let before = mainThreadMs(pid);
  for await (const bytes of response.body!) {
    if (!new TextDecoder().decode(bytes).includes("ping")) continue;
    const now = mainThreadMs(pid);
    mostMs = Math.max(mostMs, now - before);
    before = now;
    if (++events === LEAST_EVENTS) {
      mostMs = 0;
      answer({ isReading: true });
    }
  }
}
