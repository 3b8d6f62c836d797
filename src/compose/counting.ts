import { ExactCounts } from "../tokens/exact_counts.ts";
import { Calibration } from "../tokens/calibration.ts";
import { createTokenizerFolder } from "../tokens/tokenizer_files.ts";
import { Tokenizers } from "../tokens/tokenizers.ts";
import type { Counting } from "../context/gateway.ts";
import type { Source } from "./catalogs.ts";
import { placeOfStore } from "./store.ts";
import type { World } from "./world.ts";

/** The parts that count tokens: the upstreams' counts, the models' own tokenizers, and the calibration of estimates. */
export function createCounting(world: World, sources: ReadonlyMap<string, Source>): Counting {
  const { config, keep, clocks: { monotonic } } = world;
  return {
    calibration: keep("calibration", null, () => new Calibration()),
    upstreamCounts: keep("upstream counts", config.upstreams, () => new ExactCounts({ now: monotonic })),
    tokenizerCounts: keep(
      "tokenizer counts",
      config.catalogs,
      () => new ExactCounts({ now: monotonic, pace: { patienceMs: 1_000, restMs: 0 } }),
    ),
    tokenizers: keepTokenizers(world, sources),
  };
}

function keepTokenizers(world: World, sources: ReadonlyMap<string, Source>): Tokenizers {
  const { config, keep, earlier, clocks: { now, monotonic }, platform, env } = world;
  const place = placeOfStore(config.store, platform, env);
  const tokenizers = keep("tokenizers", config.catalogs, () =>
    new Tokenizers({
      download: (catalog, model) => sources.get(catalog)!.tokenizerFiles(model),
      folder: typeof place === "object" && "path" in place
        ? createTokenizerFolder({ path: place.path.replace(/[^/\\]*$/, "tokenizers"), now })
        : undefined,
      now: monotonic,
    }));
  const before = earlier("tokenizers") as Tokenizers | undefined;
  if (before !== tokenizers) before?.close();
  return tokenizers;
}
