import { delay } from "../support/wait.ts";
import { config, post, talkative } from "./endless.ts";
import { withGateway } from "./gateway.ts";
import { assertFlat, WATCHED, watchMemory } from "./memory.ts";
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
        const memory = await watchMemory(gateway);
        let isOver = false;
        const streams = Array.from({ length: STREAMS }, async () => {
          const reader = (await post(url)).body!.getReader();
          let words = 0;
          while (!isOver && !(await reader.read()).done) words++;
          await reader.cancel();
          return words;
        });
        const resident: number[] = [];
        let middle = 0;
        for (let step = 1; step <= 20; step++) {
          await delay(FLOW_MS / 20);
          resident.push(memory.resident());
          if (step === 10) middle = await memory.live();
        }
        const end = await memory.live();
        memory.close();
        isOver = true;
        const words = (await Promise.all(streams)).reduce((sum, count) => sum + count, 0);
        report(
          `${STREAMS} streams for ${FLOW_MS / 1000} s: ${words} words; ${
            ((end - middle) / (FLOW_MS / 2_000)).toFixed(1)
          } kB a second, ${(end / 1024).toFixed(0)} MB held and ${
            (resident.at(-1)! / 1024).toFixed(0)
          } MB resident at the end`,
        );
        // What is on its way at the time is a few MB.
        assertFlat({ middle, end, slackKb: 8 * 1024 }, resident);
      }, WATCHED);
    } finally {
      await stop();
    }
  },
});
