import { TcpClient } from "../sockets/tcp.ts";
import { until } from "../support/wait.ts";
import { BODY, config, PATH, talkative } from "./endless.ts";
import { inParallel, withGateway } from "./gateway.ts";
import { assertFlat, heldBy, sizeOf, WATCHED } from "./memory.ts";
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
        const leave = async () => {
          await inParallel(ABORTED / 2, 40, async () => {
            // By hand, because the platform's own client does not always let go of what it aborts.
            const client = await TcpClient.connect(port);
            await client.post(PATH, BODY);
            await client.readUntil("word");
            client.close();
          });
          await until(() => state.open === 0);
          return await heldBy(gateway);
        };
        const middle = await leave();
        const end = await leave();
        const more = (end.live - middle.live) * 1024 / (ABORTED / 2);
        report(
          `${ABORTED} aborted streams: no upstream connection left; ${more.toFixed(0)} bytes a stream, ${sizeOf(end)}`,
        );
        assertFlat(middle, end, 4 * 1024);
      }, WATCHED);
    } finally {
      await stop();
    }
  },
});
