import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { delay, until } from "../support/wait.ts";
import { withGateway } from "./gateway.ts";
import { IS_FULL, report, scaled } from "./scale.ts";

const WORK_MS = 100;
const RUNNING = 4;
/** What the upstream can take, in requests a second. */
const CAPACITY = RUNNING * 1000 / WORK_MS;
const SECONDS = scaled(30, 3, 10);
const RECOVERY_MS = 2_000;

Deno.test({
  name: `overload: ten times the capacity for ${SECONDS} s is shed, and what is served keeps its time`,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const asked = { now: 0, most: 0 };
    const upstream = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async () => {
      asked.most = Math.max(asked.most, ++asked.now);
      await delay(WORK_MS);
      asked.now--;
      const choices = [{ index: 0, message: { role: "assistant", content: "done" }, finish_reason: "stop" }];
      return Response.json({ id: "1", model: "m", choices, usage: { prompt_tokens: 1, completion_tokens: 1 } });
    });
    const concurrency = { running: RUNNING, waiting: RUNNING, waitMs: 1_000 };
    const config = {
      upstreams: { up: { driver: "chat", baseUrl: `http://127.0.0.1:${upstream.addr.port}`, concurrency } },
      lanes: { oss: { upstreams: { chat: "up" } } },
      retry: { rounds: 1 },
    };
    try {
      await withGateway(config, async ({ url }) => {
        const ask = async () => {
          const begun = performance.now();
          const response = await fetch(`${url}/oss/v1/chat/completions`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] }),
          });
          await response.body?.cancel();
          return {
            ms: performance.now() - begun,
            status: response.status,
            retryAfter: response.headers.get("retry-after"),
          };
        };
        await ask();
        const calm = (await ask()).ms;
        const answers: Promise<Awaited<ReturnType<typeof ask>>>[] = [];
        const begun = performance.now();
        for (let sent = 0; sent < SECONDS * CAPACITY * 10; sent++) {
          // As many a second as were meant, however late the clock of this process is.
          const due = begun + sent * 1000 / (CAPACITY * 10);
          if (due > performance.now()) await delay(due - performance.now());
          answers.push(ask());
        }
        const answered = await Promise.all(answers);
        const ended = performance.now();
        const served = answered.filter(({ status }) => status === 200).map(({ ms }) => ms).sort((a, b) => a - b);
        const shed = answered.filter(({ status }) => status !== 200);
        const [median, slow] = [served[Math.floor(served.length / 2)]!, served[Math.floor(served.length * 0.99)]!];

        for (const { status, retryAfter } of shed) assertEquals([status, retryAfter], [503, "1"]);
        assert(served.length > 0, "none was served");
        assertGreater(shed.length, served.length);
        assertEquals(asked.most, RUNNING);
        // A short run shares its machine with other tests, whose load its figures would tell.
        if (IS_FULL) {
          assert(served.length >= SECONDS * CAPACITY * 0.7, `only ${served.length} were served`);
          // Its own time, and that of the one before it in the line.
          assertLess(median, calm + 2 * WORK_MS);
        }
        await until(async () => {
          const { status, ms } = await ask();
          return status === 200 && (!IS_FULL || ms < calm + WORK_MS);
        });
        const recovered = performance.now() - ended;
        if (IS_FULL) assertLess(recovered, RECOVERY_MS);
        report(
          `${answered.length} requests at ten times the capacity: ${served.length} served, median ${
            Math.round(median)
          } ms and p99 ${Math.round(slow)} ms (calm: ${Math.round(calm)} ms), ${shed.length} shed; calm again after ${
            Math.round(recovered)
          } ms`,
        );
      });
    } finally {
      await upstream.shutdown();
    }
  },
});
