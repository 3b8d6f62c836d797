import { assert, assertEquals } from "@std/assert";
import { TcpClient } from "../sockets/tcp.ts";
import { until } from "../support/wait.ts";
import { BODY, config, memoryOf, PATH, SLACK_KB, slopeOf, talkative } from "./endless.ts";
import { inParallel, withGateway } from "./gateway.ts";
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
      await withGateway(config(baseUrl), async ({ url, pid }) => {
        const port = Number(new URL(url).port);
        const points: [number, number][] = [];
        let done = 0;
        await inParallel(ABORTED, 40, async () => {
          // By hand, because the platform's own client does not always let go of what it aborts.
          const client = await TcpClient.connect(port);
          await client.post(PATH, BODY);
          await client.readUntil("word");
          client.close();
          if (++done % Math.ceil(ABORTED / 20) === 0) points.push([done, memoryOf(pid)]);
        });
        await until(() => state.open === 0);
        const warm = points.slice(points.length / 2);
        const slope = slopeOf(warm);
        report(
          `${ABORTED} aborted streams: no upstream connection left; ${(slope * 1024).toFixed(0)} bytes a stream, ${
            Math.round(warm.at(-1)![1] / 1024)
          } MB at the end`,
        );
        assertEquals(state.open, 0);
        assert(warm.at(-1)![1] - warm[0]![1] < SLACK_KB, JSON.stringify(points));
      });
    } finally {
      await stop();
    }
  },
});
