import { TcpClient } from "../sockets/tcp.ts";
import { until } from "../support/wait.ts";
import { BODY, config, PATH, talkative } from "./endless.ts";
import { inParallel, withGateway } from "./gateway.ts";
import { assertFlat, WATCHED, watchMemory } from "./memory.ts";
import { report, scaled } from "./scale.ts";

const ABORTED = scaled(10_000, 600);

Deno.test({
  name: `leaks: ${ABORTED} streams that clients leave hold no connection and no memory`,
  // The upstream of this process is left in the middle of a word.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const { baseUrl, state, stop } = talkative(20);
    try {
      await withGateway(config(baseUrl), async (gateway) => {
        const port = Number(new URL(gateway.url).port);
        const memory = await watchMemory(gateway);
        const resident: number[] = [];
        let middle = 0;
        for (let round = 1; round <= 20; round++) {
          await inParallel(ABORTED / 20, 40, async () => {
            // By hand, because the platform's own client does not always let go of what it aborts.
            const client = await TcpClient.connect(port);
            await client.post(PATH, BODY);
            await client.readUntil("word");
            client.close();
          });
          await until(() => state.open === 0);
          resident.push(memory.resident());
          if (round === 10) middle = await memory.live();
        }
        const end = await memory.live();
        memory.close();
        report(
          `${ABORTED} aborted streams: no upstream connection left; ${
            ((end - middle) * 1024 / (ABORTED / 2)).toFixed(0)
          } bytes a stream, ${(end / 1024).toFixed(0)} MB held and ${
            (resident.at(-1)! / 1024).toFixed(0)
          } MB resident at the end`,
        );
        assertFlat({ middle, end, slackKb: 4 * 1024 }, resident);
      }, WATCHED);
    } finally {
      await stop();
    }
  },
});
