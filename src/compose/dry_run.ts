/** Copies of a gateway that call no upstream and store nothing. */
import { aliasSchema, laneSchema } from "../config/lane_schema.ts";
import { type Config, configSchema } from "../config/schema.ts";
import type { DryRunGateway, DryRuns, DryRunWorld } from "../context/dry_run.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import type { Platform } from "../platform/platform.ts";
import type { Plugins } from "./plugins.ts";

/** The time on the clock of every copy. */
const NOW = Date.UTC(2027, 0, 1);

/** The options of a copy. */
interface Copied extends DryRunWorld {
  config: Config;
  platform?: Platform;
  plugins?: Partial<Plugins>;
  env(name: string): string;
  readSecret(): string;
  now(): number;
  monotonic(): number;
  newId(): string;
  warn(): void;
}

/**
 * Makes copies of the gateway. Their clock stands still and their ids are counted up, so that two copies differ only by
 * their requests.
 */
export function dryRunsFor(
  { config, platform, plugins }: Pick<Copied, "config" | "platform" | "plugins">,
  tables: DryRuns["tables"],
  create: (copied: Copied) => DryRunGateway,
): DryRuns {
  return {
    tables,
    of: (lane, model, target) => {
      const copied = configFor(config, lane, model, target);
      return (world) => {
        let ids = 0;
        return create({
          config: copied,
          platform,
          plugins,
          env: () => "no-secret-of-anybody",
          readSecret: () => "no-secret-of-anybody",
          now: () => NOW,
          monotonic: () => NOW,
          newId: () => String(++ids),
          warn() {},
          ...world,
        });
      };
    },
  };
}

/** A configuration with this model of this lane at this target as configured, and with defaults for everything else. */
function configFor(
  config: Config,
  lane: string,
  model: string,
  { upstream, model: name, driver }: PlannedTarget,
): Config {
  const { observe, retry, limits, ...defaults } = configSchema.parse({});
  const configured = config.upstreams[upstream]!;
  const alias = config.lanes[lane]?.models[model];
  const targets = alias?.targets.filter((one) => one.upstream === upstream && one.model === name) ?? [];
  const plain = aliasSchema.parse({ task: "chat", targets: [{ upstream, model: name }] });
  return {
    ...defaults,
    console: false,
    observe: { ...observe, metrics: false, priceLibrary: false, telemetry: false },
    retry: { ...retry, budgetMs: 0 },
    // The memory is the gateway's own, which the gateway itself limits.
    limits: { ...limits, memoryBytes: Number.MAX_SAFE_INTEGER },
    upstreams: { [upstream]: { ...configured, driver: driver ?? configured.driver, fileIds: true } },
    lanes: {
      [lane]: {
        ...laneSchema.parse({}),
        models: { [model]: alias && targets.length > 0 ? { ...alias, targets: targets.slice(0, 1) } : plain },
      },
    },
  };
}
