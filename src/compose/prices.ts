import { createPrices, type Prices } from "../lanes/prices.ts";
import { splitBaseUrl } from "../util/urls_and_headers.ts";
import type { Source } from "./catalogs.ts";
import type { World } from "./world.ts";

/** What models cost where the configuration does not say it. What was loaded is kept when the configuration changes. */
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
