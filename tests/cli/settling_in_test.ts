/** What a gateway does once it serves and nobody asks. */
import { ENGINE } from "../../src/config/permissions.ts";
import { startGateway, writeConfig } from "../support/gateway_process.ts";
import { withFolder } from "../support/process.ts";
import { until } from "../support/wait.ts";

const LEAST_KB = 8 * 1_024;

Deno.test({
  name:
    "settling in: a gateway that nobody asks gives back memory that its start has taken (skipped where there is no /proc)",
  ignore: Deno.build.os !== "linux",
  fn: () =>
    withFolder(async (folder) => {
      const gateway = await startGateway(await writeConfig(folder, "http://127.0.0.1:9/v1"), [ENGINE]);
      try {
        await until(async () => {
          const { now, most } = await residentKb(gateway.pid);
          return now < most - LEAST_KB;
        });
      } finally {
        await gateway.stop();
      }
    }),
});

/** What the process has in memory, and the most that it has ever had. */
async function residentKb(pid: number): Promise<{ now: number; most: number }> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const kb = (name: string) => Number(status.match(new RegExp(`^${name}:\\s+(\\d+) kB`, "m"))![1]);
  return { now: kb("VmRSS"), most: kb("VmHWM") };
}
