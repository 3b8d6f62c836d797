/**
 * The program on Node 24 or later: `node src/node.ts`. A program with its own plugins calls `run({ platform: node, plugins })`.
 *
 * It is the launcher first, which starts itself once more with the permissions that the configuration needs. No package is loaded
 * before that.
 */
import type { RunOptions } from "./cli/run.ts";
import { node } from "./platform/node.ts";
import { nodeHost } from "./platform/node_host.ts";
import { startTelemetry } from "./platform/node_telemetry.ts";
import { standIn } from "./platform/host.ts";

export { node };

/** Runs the command line of this process, and ends the process. */
export function run({ platform = node, ...options }: RunOptions = {}): void {
  void begin({ platform, ...options });
}

async function begin(options: RunOptions): Promise<void> {
  const lacking = startTelemetry();
  if (lacking !== undefined) process.stderr.write(`${lacking}\n`);
  const { run } = await import("./cli/run.ts");
  run(options);
}

/** Runs the command line with the permissions that it needs, if this process is the program's entry file `main`. */
export async function start(main: string): Promise<void> {
  if (process.permission || process.env.LANEWAY_LAUNCHER !== undefined) return run();
  standIn(nodeHost(main));
  const { launch } = await import("./cli/launch.ts");
  process.exit(await launch());
}

if (import.meta.main) void start(import.meta.filename!);
