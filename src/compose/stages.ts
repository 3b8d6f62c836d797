import { secretAt } from "../config/secrets.ts";
import { stageOptions } from "../config/stage_sections.ts";
import type { Stage, StageHost, StagePlugin } from "../contract/stage.ts";
import { createKeyDerivation } from "../state/derived_keys.ts";
import type { World } from "./world.ts";

/** The stages whose sections the configuration has, in the order of the plugins' list. */
export function createStages(world: World): readonly Stage[] {
  const { plugins: { stages }, config, keep, store, pace } = world;
  refuseDuplicates(stages);
  const wanted = stages.flatMap((plugin) => {
    const options = stageOptions(config, plugin.name);
    return options === undefined ? [] : [{ plugin, options }];
  });
  if (wanted.length === 0) return NO_STAGES;
  const secret = config.sealing.key && secretAt(config.sealing.key, world);
  const host: StageHost = keep("derived keys", [config.sealing, secret], () => ({
    key: createKeyDerivation({
      secret,
      store,
      patienceMs: pace.storeMs,
    }),
  }));
  return wanted.map(({ plugin, options }) => created(plugin, options, host));
}

/** Two stages of one name would share a section, which only one of them checks. */
function refuseDuplicates(stages: readonly StagePlugin[]): void {
  const names = new Set<string>();
  for (const { name } of stages) {
    if (names.has(name)) throw new TypeError(`Two stages have the name "${name}"`);
    names.add(name);
  }
}

/** Fails for what is no stage, such as a promise of one: it would change nothing, and nobody would notice. */
function created(plugin: StagePlugin, options: unknown, host: StageHost): Stage {
  const { name } = plugin;
  let stage;
  try {
    stage = plugin.create(options, host);
  } catch (cause) {
    throw new Error(`The stage "${name}" cannot be created: ${(cause as Error)?.message ?? cause}`, { cause });
  }
  if (stage instanceof Promise) throw new TypeError(`The stage "${name}" cannot be created: "create" must not wait`);
  if (stage?.name !== name) {
    throw new TypeError(`The stage "${name}" cannot be created: "create" must return a stage of this name`);
  }
  return stage;
}

const NO_STAGES: readonly Stage[] = Object.freeze([]);
