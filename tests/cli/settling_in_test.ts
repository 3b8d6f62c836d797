/** What a gateway does once it serves and nobody asks. */
import { ENGINE } from "../../src/config/permissions.ts";
import { startGateway, writeConfig } from "../support/gateway_process.ts";
import { withFolder } from "../support/process.ts";
import { until } from "../support/wait.ts";

const LEAST_BYTES = 8 * 2 ** 20;

Deno.test({
  name:
    "settling in: a gateway that nobody asks gives back memory that its start has taken (skipped where there is no /proc)",
  ignore: Deno.build.os !== "linux",
  fn: () =>
    withFolder(async (folder) => {
      const gateway = await startGateway(await writeConfig(folder, "http://127.0.0.1:9/v1"), [ENGINE]);
      try {
        let most = 0;
        await until(async () => {
          const held = await residentBytes(gateway.pid);
          most = Math.max(most, held);
          return held < most - LEAST_BYTES;
        });
      } finally {
        await gateway.stop();
      }
    }),
});

async function residentBytes(pid: number): Promise<number> {
  const [, pages] = (await Deno.readTextFile(`/proc/${pid}/statm`)).split(" ");
  return Number(pages) * 4_096;
}
