import { createPrices, type Prices } from "../lanes/prices.ts";
import { splitBaseUrl } from "../util/urls_and_headers.ts";
import type { Source } from "./catalogs.ts";
import type { World } from "./world.ts";

/** The prices of models that the configuration does not specify. Loaded prices are kept when other settings change. */
export function createListedPrices(
  { config, keep, clocks: { now } }: World,
  sources: ReadonlyMap<string, Source>,
): Prices {
  const { upstreams, catalogs, observe, transport } = config;
  const priced = () =>
    Object.entries(upstreams).map(([name, { baseUrl, providers, prices = "" }]) =>
      [name, {
        baseUrl: baseUrl && splitBaseUrl(baseUrl).baseUrl,
        choosesProvider: providers !== undefined,
        list: sources.get(prices)?.list,
      }] as const
    );
  return keep("prices", [upstreams, catalogs, observe.priceLibrary, transport], () =>
    createPrices({
      upstreams: new Map(priced()),
      ...(observe.priceLibrary && {
        openLibrary: async () => new (await import("../observe/price_library.ts")).KnownPrices(),
      }),
      now,
    }));
}
