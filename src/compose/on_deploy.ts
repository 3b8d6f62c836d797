/**
 * The differences on Deno Deploy: processes come and go, each has half a gigabyte, and each is killed five seconds
 * after SIGINT.
 */
import type { Config } from "../config/schema.ts";
import type { Pace } from "../context/gateway.ts";
import { standardStreams } from "../observe/standard.ts";
import type { Platform } from "../platform/platform.ts";
import { isOnDeploy } from "../state/kv_file.ts";
import { settleWithin } from "../util/timeout.ts";
import { linesOfLacking } from "./hosted.ts";

/**
 * The time after SIGINT for requests to go on, then for streams to end with a reason, then for the store to be written,
 * in milliseconds.
 */
const [DRAIN_MS, ABORT_MS, CLOSE_MS] = [2_500, 500, 1_500];

const MEMORY_BYTES = 512 * 2 ** 20;

type Env = Platform["env"];

/** The options of the app on Deno Deploy. No options elsewhere. */
export function optionsFor(env: Env): { env?: Env; pace?: Partial<Pace> } {
  if (!isOnDeploy(env)) return {};
  return {
    env: (name) => env(name) ?? (name === "LANEWAY_MEMORY_LIMIT" ? String(MEMORY_BYTES) : undefined),
    // A process without requests is frozen, so usage is written at once.
    pace: { gatherMs: 0 },
  };
}

/** The configuration. Says which part of it such a host cannot serve. */
export function announced(config: Config, platform: Platform): Config {
  for (const line of linesOfLacking(config, platform.env)) standardStreams(platform).say(line);
  return config;
}

interface Stoppable {
  drain(): void;
  abort(): void;
  settled(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Ends the process in time after SIGINT. Running requests may end by themselves, or are ended with a reason. The
 * returned function takes the promise of each answer's end.
 */
export function stopInTime(
  app: Stoppable,
  { onSignal, exit }: Pick<Platform, "onSignal" | "exit">,
): (completed: Promise<void>) => void {
  const running = new Set<Promise<void>>();
  const allOver = async () => {
    while (running.size > 0) await Promise.all(running);
    await app.settled();
  };
  const stop = async () => {
    app.drain();
    await settleWithin(allOver(), DRAIN_MS);
    app.abort();
    await settleWithin(allOver(), ABORT_MS);
    await settleWithin(app.close(), CLOSE_MS);
    exit(0);
  };
  let stopping: Promise<void> | undefined;
  onSignal("SIGINT", () => stopping ??= stop());
  return (completed) => {
    const over = completed.catch(() => {}).then(() => void running.delete(over));
    running.add(over);
  };
}
