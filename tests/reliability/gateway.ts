/** The gateway as a process of its own, before upstreams of this one. */
import type { ConfigInput } from "../support/app.ts";
import { type GatewayProcess, startGateway } from "../support/gateway_process.ts";

/**
 * Calls `use` with a gateway of this configuration, which keeps nothing on disk unless it says where. `options` are Deno's
 * own.
 */
export async function withGateway(
  config: ConfigInput,
  use: (gateway: GatewayProcess) => Promise<void>,
  options: readonly string[] = [],
): Promise<void> {
  const path = await Deno.makeTempFile({ suffix: ".json" });
  try {
    await Deno.writeTextFile(path, JSON.stringify({ store: { kind: "memory" }, ...config }));
    const gateway = await startGateway(path, options);
    try {
      await use(gateway);
    } finally {
      await gateway.kill();
    }
  } finally {
    await Deno.remove(path);
  }
}

/** Runs `work` for each number below `count`, so many at once. */
export async function inParallel(count: number, width: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
