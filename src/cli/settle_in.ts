/** The part of the start that can wait until clients are served. */
import type { App } from "../app.ts";
import { risksOfStore } from "../compose/store.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { storeKind } from "../config/store_kinds.ts";
import { type Descriptors, scarcityLine } from "../http/descriptors.ts";
import type { Program } from "../programs/program.ts";
import { loadServerKind } from "../state/server_kinds.ts";
import { collectGarbage } from "../util/collect_garbage.ts";
import { callWhileAlive } from "../util/idle_timer.ts";
import type { IdleWatch } from "./idle.ts";
import { warmUp } from "./warm_up.ts";
import type { Worker } from "./worker.ts";

/** When the free descriptors are counted, in milliseconds. Counting takes a while, and must not delay the first client. */
const COUNT_AFTER_MS = 1_000;
/** After this many milliseconds without a request, the gateway counts as idle. */
const IDLE_MS = 1_000;

export async function settleIn(
  { config }: LoadedConfig,
  { descriptors, idleWatch, app, worker }: {
    descriptors: Descriptors;
    idleWatch: IdleWatch;
    app(): App;
    worker?: Worker;
  },
  program: Program,
): Promise<void> {
  const { streams: { say } } = program;
  if (storeKind(config.store.kind).isShared) {
    await (await loadServerKind(config.store))?.loadClient(program.platform);
    if (!worker || worker.isFirst) void tellRisks(config, program);
  }
  await warmUp(program, idleWatch.begun).catch(() => {}); // the user's own lists of plugins may lack one that this needs
  callWhileAlive(COUNT_AFTER_MS, async () => {
    const line = await scarcityLine(descriptors, config.limits.concurrentRequests);
    if (line !== undefined) say(line);
    // The start leaves about 16 MB of garbage. Collecting it blocks the process for some 60 ms.
    if (await idleWatch.begun(IDLE_MS) && app().running() === 0) collectGarbage();
  });
}

/** Prints the risks of the store. A server that does not answer now is reported by the command `doctor`. */
async function tellRisks(config: Config, { platform, streams: { say } }: Program): Promise<void> {
  const risks = await risksOfStore(config, platform, platform.env).catch(() => []);
  for (const { message, cure } of risks) say(`Store: ${message}. ${cure}`);
}
