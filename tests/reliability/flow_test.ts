import { assert } from "@std/assert";
import { delay } from "../support/wait.ts";
import { config, memoryOf, post, SLACK_KB, slopeOf, talkative } from "./endless.ts";
import { withGateway } from "./gateway.ts";
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
      await withGateway(config(baseUrl), async ({ url, pid }) => {
        let isOver = false;
        const streams = Array.from({ length: STREAMS }, async () => {
          const reader = (await post(url)).body!.getReader();
          let words = 0;
          while (!isOver && !(await reader.read()).done) words++;
          await reader.cancel();
          return words;
        });
        const points: [number, number][] = [];
        for (let step = 0; step < 20; step++) {
          await delay(FLOW_MS / 20);
          points.push([step * FLOW_MS / 20_000, memoryOf(pid)]);
        }
        isOver = true;
        const words = (await Promise.all(streams)).reduce((sum, count) => sum + count, 0);
        const warm = points.slice(10);
        report(
          `${STREAMS} streams for ${FLOW_MS / 1000} s: ${words} words, ${(slopeOf(warm)).toFixed(1)} kB a second, ${
            Math.round(points.at(-1)![1] / 1024)
          } MB at the end`,
        );
        assert(warm.at(-1)![1] - warm[0]![1] < SLACK_KB, JSON.stringify(points));
      });
    } finally {
      await stop();
    }
  },
});
