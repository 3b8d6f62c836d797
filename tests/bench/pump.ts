/**
 * The least that a gateway in Deno can be which looks into streams: each read of the upstream is text for a moment, and goes out
 * as one write. No time limit, no parsing, no keep-alive; so many small functions may run for each read in their place.
 * `floors/streamed_bodies.ts` measures it.
 */
import { manyFunctions } from "./many_functions.ts";

const [upstream, port = "0", functions = "0"] = Deno.args;
const run = manyFunctions(Number(functions));

const encoder = new TextEncoder();

Deno.serve({ hostname: "127.0.0.1", port: Number(port) }, async ({ url, method, body, signal }) => {
  const { pathname } = new URL(url);
  if (pathname === "/healthz") return new Response("ok");
  const headers = { "content-type": "application/json" };
  const answer = await fetch(upstream + pathname, { method, headers, body, signal });
  return new Response(pumped(answer.body!), { status: answer.status, headers: answer.headers });
});

function pumped(body: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader({ mode: "byob" });
  const decoder = new TextDecoder();
  let buffer = new ArrayBuffer(2_048);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (done) return controller.close();
      buffer = value.buffer;
      run();
      controller.enqueue(encoder.encode(decoder.decode(value, { stream: true })));
    },
    cancel: () => reader.cancel(),
  }, { highWaterMark: 0 });
}
