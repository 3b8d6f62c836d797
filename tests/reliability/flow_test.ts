import { delay, until } from "../support/wait.ts";
import { config, post, talkative } from "./endless.ts";
import { withGateway } from "./gateway.ts";
import { assertFlat, heldBy, sizeOf, WATCHED } from "./memory.ts";
import { report, scaled } from "./scale.ts";

const STREAMS = scaled(200, 50);
const FLOW_MS = scaled(600_000, 3_000, 60_000);
/** How many chunks each half of a run brings at least: on a busy machine its time alone warms nothing. */
const HALF_CHUNKS = 50 * STREAMS;

Deno.test({
  name: `flow: ${STREAMS} streams for ${FLOW_MS / 1000} s take the same memory at the end as at the beginning`,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const { baseUrl, stop } = talkative(scaled(50, 20));
    try {
      await withGateway(config(baseUrl), async (gateway) => {
        const { url } = gateway;
        let isOver = false;
        let chunks = 0;
        const streams = Array.from({ length: STREAMS }, async () => {
          const reader = (await post(url)).body!.getReader();
          while (!isOver && !(await reader.read()).done) chunks++;
          await reader.cancel();
        });
        const half = async () => {
          const least = chunks + HALF_CHUNKS;
          await delay(FLOW_MS / 2);
          await until(() => chunks >= least);
          return await heldBy(gateway);
        };
        const middle = await half();
        const end = await half();
        isOver = true;
        await Promise.all(streams);
        const more = (end.live - middle.live) / (FLOW_MS / 2_000);
        report(
          `${STREAMS} streams for ${FLOW_MS / 1000} s: ${chunks} chunks; ${more.toFixed(1)} kB a second, ${
            sizeOf(end)
          }`,
        );
        // What is on its way at the time is up to 64 kB a stream.
        assertFlat(middle, end, 16 * 1024);
      }, WATCHED);
    } finally {
      await stop();
    }
  },
});
