import { delay } from "../support/wait.ts";
import { config, post, talkative } from "./endless.ts";
import { withGateway } from "./gateway.ts";
import { assertFlat, heldBy, sizeOf, WATCHED } from "./memory.ts";
import { report, scaled } from "./scale.ts";

const STREAMS = scaled(200, 50);
const FLOW_MS = scaled(600_000, 3_000, 60_000);

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
        const streams = Array.from({ length: STREAMS }, async () => {
          const reader = (await post(url)).body!.getReader();
          let words = 0;
          while (!isOver && !(await reader.read()).done) words++;
          await reader.cancel();
          return words;
        });
        await delay(FLOW_MS / 2);
        const middle = await heldBy(gateway);
        await delay(FLOW_MS / 2);
        const end = await heldBy(gateway);
        isOver = true;
        const words = (await Promise.all(streams)).reduce((sum, count) => sum + count, 0);
        const more = (end.live - middle.live) / (FLOW_MS / 2_000);
        report(
          `${STREAMS} streams for ${FLOW_MS / 1000} s: ${words} words; ${more.toFixed(1)} kB a second, ${sizeOf(end)}`,
        );
        // What is on its way at the time is up to 64 kB a stream.
        assertFlat(middle, end, 16 * 1024);
      }, WATCHED);
    } finally {
      await stop();
    }
  },
});
