/** What models cost by lists of prices, where neither the configuration nor the upstream says it. */
import type { ModelInfo } from "../canonical/models.ts";
import type { Price } from "../canonical/price.ts";
import { withoutPolicy } from "../contract/destination.ts";
import type { CatalogCache } from "./catalog.ts";

/** Where a model is asked, or was. */
export interface PricedPlace {
  upstream: string;
  /** With the provider that it is pinned to, where it is: `org/model:provider`. */
  model: string;
  /** Who served there, or is to. */
  provider?: string;
  /** The place's own path below the upstream's base URL. */
  path?: string;
}

export interface Prices {
  /** By whoever serves at the place; nothing where that is not known, or no list that is here knows the price. */
  of(place: PricedPlace, inputTokens?: number): Price | undefined;
  /** The most that it can be, whoever serves. */
  mostOf(place: PricedPlace, inputTokens?: number): Price | undefined;
  /** Gets what `of` needs, if anything. Waits for a first list as long as clients wait for it; never fails. */
  load(place: PricedPlace): Promise<void> | undefined;
}

/** Public prices, by a model's name and the address that it is asked at. */
export interface PriceLibrary {
  /** Nothing for an address or a model that it does not know. `at`: milliseconds since the epoch. */
  priceOf(address: string, model: string, inputTokens: number, at: number): Price | undefined;
}

export interface PricedUpstream {
  baseUrl?: string;
  /** Whether it chooses among providers. */
  choosesProvider: boolean;
  /** The list that says what its models cost. */
  list?: CatalogCache;
}

export interface PricesOptions {
  upstreams: ReadonlyMap<string, PricedUpstream>;
  /** Loads public prices; absent where they are not wanted. */
  openLibrary?(): Promise<PriceLibrary>;
  /** Milliseconds since the epoch. */
  now(): number;
}

export function createPrices({ upstreams, openLibrary, now }: PricesOptions): Prices {
  /** The newest list of each upstream. */
  const lists = new Map<string, ReadonlyMap<string, ModelInfo>>();
  const addresses = new Map([...upstreams].map(([name, upstream]) => [name, addressesOf(upstream)]));
  let library: PriceLibrary | undefined;
  let opening: Promise<void> | undefined;

  const read = (place: PricedPlace) => asked(place, upstreams.get(place.upstream));
  const listed = (upstream: string, { model }: Asked) => lists.get(upstream)?.get(model)?.prices ?? {};
  const addressOf = (place: PricedPlace) => addresses.get(place.upstream)?.(place, read(place));

  function of(place: PricedPlace, inputTokens = 0): Price | undefined {
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

  /** Where nothing else knows the price, and the place is one that the library may know. */
  function openFor(place: PricedPlace): Promise<void> | undefined {
    if (library || !openLibrary || addressOf(place) === undefined || of(place)) return undefined;
    return opening ??= openLibrary().then((opened) => void (library = opened), () => {}); // then nothing is priced by it
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
  /** Who serves: as the answer says, else as the model's name asks for. */
  provider?: string;
}

/** What follows the last colon of a name asks for a provider where there is a choice; elsewhere it is part of the name. */
function asked({ model, provider }: PricedPlace, { choosesProvider }: Partial<PricedUpstream> = {}): Asked {
  const plain = choosesProvider ? withoutPolicy(model) : model;
  return { model: plain, provider: provider ?? (plain === model ? undefined : model.slice(plain.length + 1)) };
}

/**
 * The public addresses that its models are asked at; nothing for one on a private network. A service that chooses among
 * providers has each of them below a path of its own.
 */
function addressesOf(
  { baseUrl, choosesProvider }: PricedUpstream,
): ((place: PricedPlace, asked: Asked) => string | undefined) | undefined {
  const url = baseUrl === undefined ? null : URL.parse(baseUrl);
  if (url?.protocol !== "https:" || !/\.[a-z][a-z0-9-]*$/i.test(url.hostname)) return undefined;
  const { origin, pathname } = url;
  return (place, { provider }) => {
    if (place.path !== undefined) return `${baseUrl}/${place.path}`;
    if (!choosesProvider) return baseUrl;
    return provider === undefined ? undefined : `${origin}/${provider}${pathname}`;
  };
}

/** The highest of each kind: no single one of them costs more. */
function highestOf(prices: readonly Price[]): Price | undefined {
  if (prices.length === 0) return undefined;
  const most = (kind: keyof Price) => Math.max(...prices.map((price) => price[kind] ?? 0));
  return { input: most("input"), output: most("output") };
}
