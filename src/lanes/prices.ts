/** The prices of models in published lists, for models whose price neither the configuration nor the upstream states. */
import type { ModelInfo } from "../canonical/models.ts";
import type { Price } from "../canonical/price.ts";
import { withoutPolicy } from "../contract/planned_target.ts";
import type { CatalogCache } from "./catalog.ts";

/** A model at an upstream or provider. */
export interface PricedTarget {
  upstream: string;
  /** Includes the provider that the model is pinned to, if any: `org/model:provider`. */
  model: string;
  /** The provider that served the request or is about to. */
  provider?: string;
  /** The provider's own path below the upstream's base URL. */
  path?: string;
}

export interface Prices {
  /** The price at the provider that serves the model. `undefined` if the provider is unknown, or no loaded list has the price. */
  of(place: PricedTarget, inputTokens?: number): Price | undefined;
  /** The highest possible price, whichever provider serves the model. */
  mostOf(place: PricedTarget, inputTokens?: number): Price | undefined;
  /** Loads what `of` needs, if anything. It waits for a first list as long as clients do, and never fails. */
  load(place: PricedTarget): Promise<void> | undefined;
}

/** Public prices by a model's name and the address of its API. */
export interface PriceLibrary {
  /** `undefined` for an unknown address or model. `at`: milliseconds since the epoch. */
  priceOf(address: string, model: string, inputTokens: number, at: number): Price | undefined;
}

export interface UpstreamPrices {
  baseUrl?: string;
  /** Whether it chooses among providers. */
  choosesProvider: boolean;
  /** The list with the prices of its models. */
  list?: CatalogCache;
}

export interface PricesOptions {
  upstreams: ReadonlyMap<string, UpstreamPrices>;
  /** Loads public prices. Absent if they are disabled. */
  openLibrary?(): Promise<PriceLibrary>;
  /** Milliseconds since the epoch. */
  now(): number;
}

export function createPrices({ upstreams, openLibrary, now }: PricesOptions): Prices {
  /** The latest list of each upstream. */
  const lists = new Map<string, ReadonlyMap<string, ModelInfo>>();
  const addresses = new Map([...upstreams].map(([name, upstream]) => [name, addressesOf(upstream)]));
  let library: PriceLibrary | undefined;
  let opening: Promise<void> | undefined;

  const read = (place: PricedTarget) => asked(place, upstreams.get(place.upstream));
  const listed = (upstream: string, { model }: Asked) => lists.get(upstream)?.get(model)?.prices ?? {};
  const addressOf = (place: PricedTarget) => addresses.get(place.upstream)?.(place, read(place));

  function of(place: PricedTarget, inputTokens = 0): Price | undefined {
    const { model, provider } = read(place);
    const prices = listed(place.upstream, { model });
    if (provider !== undefined && Object.hasOwn(prices, provider)) return prices[provider];
    const address = library && addressOf(place);
    return address === undefined ? undefined : library?.priceOf(address, model, inputTokens, now());
  }

  async function refresh(upstream: string, list: CatalogCache): Promise<void> {
    const models = await list.models().catch(() => undefined); // then the price is not known yet
    if (models) lists.set(upstream, models);
  }

  /** Opens the library if nothing else knows the price and the library may know the address. */
  function openFor(place: PricedTarget): Promise<void> | undefined {
    if (library || !openLibrary || addressOf(place) === undefined || of(place)) return undefined;
    return opening ??= openLibrary().then((opened) => void (library = opened), () => {}); // then the library prices nothing
  }

  return {
    of,
    mostOf: (place, inputTokens) =>
      of(place, inputTokens) ?? highestOf(Object.values(listed(place.upstream, read(place)))),
    load(place) {
      const { list } = upstreams.get(place.upstream) ?? {};
      const refreshed = list && refresh(place.upstream, list);
      const isFirst = refreshed && !lists.has(place.upstream);
      return isFirst ? refreshed.then(() => openFor(place)) : openFor(place);
    },
  };
}

interface Asked {
  model: string;
  /** The provider, from the answer or else from the model's name. */
  provider?: string;
}

/**
 * If the upstream chooses among providers, the text after the last colon of a name selects one. Otherwise it is part of the
 * name.
 */
function asked({ model, provider }: PricedTarget, { choosesProvider }: Partial<UpstreamPrices> = {}): Asked {
  const plain = choosesProvider ? withoutPolicy(model) : model;
  return { model: plain, provider: provider ?? (plain === model ? undefined : model.slice(plain.length + 1)) };
}

/**
 * The public address of an upstream's models. `undefined` for an upstream on a private network. A service that chooses among
 * providers has each of them under its own path.
 */
function addressesOf(
  { baseUrl, choosesProvider }: UpstreamPrices,
): ((place: PricedTarget, asked: Asked) => string | undefined) | undefined {
  const url = baseUrl === undefined ? null : URL.parse(baseUrl);
  if (url?.protocol !== "https:" || !/\.[a-z][a-z0-9-]*$/i.test(url.hostname)) return undefined;
  const { origin, pathname } = url;
  return (place, { provider }) => {
    if (place.path !== undefined) return `${baseUrl}/${place.path}`;
    if (!choosesProvider) return baseUrl;
    return provider === undefined ? undefined : `${origin}/${provider}${pathname}`;
  };
}

/** The highest price of each kind, so no provider costs more. */
function highestOf(prices: readonly Price[]): Price | undefined {
  if (prices.length === 0) return undefined;
  const most = (kind: keyof Price) => Math.max(...prices.map((price) => price[kind] ?? 0));
  return { input: most("input"), output: most("output") };
}
