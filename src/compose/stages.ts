import { stageOptions } from "../config/stage_sections.ts";
import type { Stage, StageHost } from "../contract/stage.ts";
import { createKeyDerivation } from "../state/derived_keys.ts";
import type { World } from "./world.ts";

/** The stages whose sections the configuration has, in the order of the plugins' list. */
export function createStages(world: World): readonly Stage[] {
  const { plugins: { stages }, config, keep, env, store, pace } = world;
  const wanted = stages.flatMap((plugin) => {
    const options = stageOptions(config, plugin.name);
    return options === undefined ? [] : [{ plugin, options }];
  });
  if (wanted.length === 0) return NO_STAGES;
  const host: StageHost = keep("derived keys", config.sealing, () => ({
    key: createKeyDerivation({
      secret: config.sealing.key && env(config.sealing.key.env),
      store,
      patienceMs: pace.storeMs,
    }),
  }));
  return wanted.map(({ plugin, options }) => plugin.create(options, host));
}

const NO_STAGES: readonly Stage[] = Object.freeze([]);
