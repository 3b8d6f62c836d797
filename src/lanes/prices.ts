/** The prices of models in published lists, for models whose price neither the configuration nor the upstream states. */
import type { ModelInfo } from "../canonical/models.ts";
import type { Price } from "../canonical/price.ts";
import { withoutPolicy } from "../contract/planned_target.ts";
import type { CatalogCache } from "./catalog.ts";

/** The public prices that come with the gateway: the version of their package, and the day on which that was published. */
export const PUBLIC_PRICES = { version: "0.1.8", date: "2026-09-23" };

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
  /** The public prices that it may use. */
  readonly known?: typeof PUBLIC_PRICES;
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

/** The sources of prices for the models of one upstream. */
interface Source {
  choosesProvider: boolean;
  list?: CatalogCache;
  /** The latest list. */
  listed?: ReadonlyMap<string, ModelInfo>;
  /** The address of a model in the library. */
  addressOf?(place: PricedTarget, asked: Asked): string | undefined;
}

export function createPrices({ upstreams, openLibrary, now }: PricesOptions): Prices {
  const sources = sourcesOf(upstreams, openLibrary !== undefined);
  let library: PriceLibrary | undefined;
  let opening: Promise<void> | undefined;

  function priceAt(source: Source, place: PricedTarget, inputTokens: number): Price | undefined {
    const where = asked(place, source);
    const { model, provider } = where;
    const prices = source.listed?.get(model)?.prices;
    if (prices && provider !== undefined && Object.hasOwn(prices, provider)) return prices[provider];
    const address = library && source.addressOf?.(place, where);
    return address === undefined ? undefined : library?.priceOf(address, model, inputTokens, now());
  }

  function mostAt(source: Source, place: PricedTarget, inputTokens: number): Price | undefined {
    const prices = source.listed?.get(asked(place, source).model)?.prices ?? {};
    return priceAt(source, place, inputTokens) ?? highestOf(Object.values(prices));
  }

  /** Opens the library if nothing else knows the price and the library may know the address. */
  function openFor(source: Source, place: PricedTarget): Promise<void> | undefined {
    if (library || !openLibrary || source.addressOf?.(place, asked(place, source)) === undefined) return undefined;
    if (priceAt(source, place, 0)) return undefined;
    return opening ??= openLibrary().then((opened) => void (library = opened), () => {}); // then the library prices nothing
  }

  return {
    ...(openLibrary && { known: PUBLIC_PRICES }),
    of(place, inputTokens = 0) {
      const source = sources.get(place.upstream);
      return source && priceAt(source, place, inputTokens);
    },
    mostOf(place, inputTokens = 0) {
      const source = sources.get(place.upstream);
      return source && mostAt(source, place, inputTokens);
    },
    load(place) {
      const source = sources.get(place.upstream);
      if (!source) return undefined;
      const refreshed = source.list && refresh(source, source.list);
      const isFirst = refreshed && !source.listed;
      return isFirst ? refreshed.then(() => openFor(source, place)) : openFor(source, place);
    },
  };
}

/** By upstream. Those whose prices are nowhere to be found have none. */
function sourcesOf(upstreams: PricesOptions["upstreams"], hasLibrary: boolean): ReadonlyMap<string, Source> {
  const sources = new Map<string, Source>();
  for (const [name, upstream] of upstreams) {
    const { choosesProvider, list } = upstream;
    const addressOf = hasLibrary ? addressesOf(upstream) : undefined;
    if (list || addressOf) sources.set(name, { choosesProvider, list, addressOf });
  }
  return sources;
}

async function refresh(source: Source, list: CatalogCache): Promise<void> {
  const models = await list.models().catch(() => undefined); // then the price is not known yet
  if (models) source.listed = models;
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
function asked({ model, provider }: PricedTarget, { choosesProvider }: Source): Asked {
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
