/**
 * The upstream of the bench of stalls: the ping stream, and the heavy answers by the name of their case, which stands in place
 * of a model. `GET /prepare/<case>` makes an answer, so that it costs nothing when it is asked for.
 */
import { ANSWERS, type HeavyAnswer, okFor } from "./stall_answers.ts";

const PING_MS = 5;
const made = new Map<string, HeavyAnswer>();

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => Deno.stderr.writeSync(new TextEncoder().encode(`http://127.0.0.1:${port}\n`)),
}, async (request) => {
  const { pathname } = new URL(request.url);
  if (pathname === "/healthz") return new Response("ok");
  if (pathname.startsWith("/prepare/")) {
    const name = pathname.slice("/prepare/".length);
    made.clear();
    const answer = await ANSWERS[name]?.();
    if (answer) made.set(name, answer);
    return new Response("ok");
  }
  // A form names its model, too.
  const text = new TextDecoder().decode(await request.bytes());
  const name = /"model":"([^"]+)"|name="model"\r\n\r\n([^\r]+)/.exec(text)?.slice(1).find(Boolean) ??
    decodeURIComponent(/models\/(.+?)(\/pipeline|$)/.exec(pathname)?.[1] ?? "");
  if (name === "ping") return ping();
  const { body, headers, status } = made.get(name) ?? okFor(pathname, /"stream":true/.test(text));
  return new Response(body, { status, headers });
});

function ping(): Response {
  const encoder = new TextEncoder();
  const chunk = encoder.encode(
    `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: { content: "ping " } }] })}\n\n`,
  );
  let timer: ReturnType<typeof setInterval>;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => controller.enqueue(chunk), PING_MS);
    },
    cancel: () => clearInterval(timer),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
