import { assertEquals, assertLess } from "@std/assert";
import { residentKb } from "../bench/server.ts";
import { postHead, TcpClient } from "../sockets/tcp.ts";
import { delay } from "../support/wait.ts";
import { inParallel, withGateway } from "./gateway.ts";
import { IS_FULL, report, scaled } from "./scale.ts";

const DEAF = scaled(1_000, 100);
const DRIPPING = scaled(200, 20);
const PATH = "/oss/v1/chat/completions";
/** A model of 25 words a second: what the sockets hold is full after minutes, and the slow reader has a test of its own. */
const WORDS_AT_ONCE = 5;
const WORD = 'data: {"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"many words "}}]}\n\n'.repeat(
  WORDS_AT_ONCE,
);

const WORDS_EVERY_MS = 200;

/** Without end, for a stream; at once for all else. */
function upstreamAnswer(stream: boolean): Response {
  if (!stream) {
    const choices = [{ index: 0, message: { role: "assistant", content: "done" }, finish_reason: "stop" }];
    return Response.json({ id: "1", model: "m", choices, usage: { prompt_tokens: 1, completion_tokens: 1 } });
  }
  const bytes = new TextEncoder().encode(WORD);
  const body = new ReadableStream({
    async pull(controller) {
      await delay(WORDS_EVERY_MS);
      controller.enqueue(bytes);
    },
  }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

Deno.test({
  name: `slow clients: ${DEAF} that never read and ${DRIPPING} that send a byte a second leave the others their time`,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const upstream = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      async (request) => upstreamAnswer((await request.json()).stream === true),
    );
    const config = {
      upstreams: { up: { driver: "chat", baseUrl: `http://127.0.0.1:${upstream.addr.port}` } },
      lanes: { oss: { upstreams: { chat: "up" } } },
    };
    const clients: TcpClient[] = [];
    try {
      await withGateway(config, async ({ url, pid }) => {
        const port = Number(new URL(url).port);
        const ask = async () => {
          const begun = performance.now();
          const response = await fetch(url + PATH, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] }),
          });
          const { choices } = await response.json();
          assertEquals([response.status, choices?.[0]?.message.content], [200, "done"]);
          return performance.now() - begun;
        };
        const median = async () => {
          const times: number[] = [];
          for (let time = 0; time < 100; time++) times.push(await ask());
          return times.sort((a, b) => a - b)[50]!;
        };
        const calm = await median();
        const connect = async () => {
          const client = await TcpClient.connect(port);
          clients.push(client);
          return client;
        };
        await inParallel(DEAF, 50, async () => {
          await (await connect()).post(PATH, {
            model: "m",
            stream: true,
            messages: [{ role: "user", content: "Hello" }],
          });
        });
        await inParallel(DRIPPING, 50, async () => {
          const client = await connect();
          await client.send(postHead(PATH, 1_000));
          void (async () => {
            for (;;) {
              await client.send(" ");
              await delay(1_000);
            }
          })().catch(() => {}); // The gateway has enough of it, or the test is over.
        });
        await delay(2_000);
        const busy = await median();
        report(
          `${DEAF} clients that never read, ${DRIPPING} that drip: others take ${busy.toFixed(1)} ms (median; ${
            calm.toFixed(1)
          } ms without them), ${Math.round((residentKb(pid) ?? 0) / 1024)} MB`,
        );
        // A short run shares its machine with other tests, whose load its figures would tell.
        if (IS_FULL) assertLess(busy, calm + 50);
      });
    } finally {
      for (const client of clients) client.close();
      await upstream.shutdown();
    }
  },
});
