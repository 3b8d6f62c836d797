/** Public prices of models at providers that are known by their addresses. They come with the gateway and need no network. */
import { calcPrice, findProvider } from "genai-prices";
import type { Price } from "../canonical/price.ts";

type Rates = NonNullable<ReturnType<typeof calcPrice>>["model_price"];
type Rate = Rates[string];

/** The library's names for the rates that the gateway uses. They are per million tokens. */
const RATES = {
  input: "input_mtok",
  output: "output_mtok",
  cached: "cache_read_mtok",
  cacheWrite: "cache_write_mtok",
  reasoning: "output_reasoning_mtok",
} as const;

/** A listed price may hold for a part of the day only. */
const FRESH_MS = 60_000;
const MOST_KEPT = 500;

/** A look-up takes a tenth of a millisecond, so the results of the last minute are kept. */
export class KnownPrices {
  #kept = new Map<string, Rates | undefined>();
  #minute = 0;

  priceOf(address: string, model: string, inputTokens: number, at: number): Price | undefined {
    const minute = Math.floor(at / FRESH_MS);
    if (minute !== this.#minute || this.#kept.size >= MOST_KEPT) this.#kept.clear();
    this.#minute = minute;
    const key = `${address} ${model}`;
    if (!this.#kept.has(key)) this.#kept.set(key, ratesOf(address, model, at));
    const rates = this.#kept.get(key);
    return rates && priceBy(rates, inputTokens);
  }
}

function ratesOf(address: string, model: string, at: number): Rates | undefined {
  const provider = findProvider({ providerApiUrl: address });
  if (!provider || !isAt(address, provider.api_pattern)) return undefined;
  try {
    // The library validates a usage. Without one it returns only the rates.
    return calcPrice({}, model, { provider, timestamp: new Date(at) })?.model_price;
  } catch {
    // Rates that contradict each other are ignored.
    return undefined;
  }
}

/** The library compares only the beginning of an address, and another host may begin with the same letters. */
function isAt(address: string, pattern: string): boolean {
  const end = pattern.endsWith("\\.") ? "[a-z]{2,}(?=[/:]|$)" : "(?:(?<=/)|(?=[/:]|$))";
  return new RegExp(`^(?:${pattern.replaceAll(".*", "[^/]*")})${end}`).test(address);
}

function priceBy(rates: Rates, inputTokens: number): Price | undefined {
  const price: Price = {};
  for (const [kind, name] of Object.entries(RATES)) {
    const amount = amountIn(rates[name], inputTokens);
    if (amount !== undefined) price[kind as keyof typeof RATES] = amount;
  }
  const requests = amountIn(rates.requests_kcount, inputTokens);
  if (requests !== undefined) price.request = requests / 1000;
  return Object.keys(price).length > 0 ? price : undefined;
}

/** A rate may depend on the length of the input. */
function amountIn(rate: Rate, inputTokens: number): number | undefined {
  if (rate === undefined || typeof rate === "number") return rate;
  return rate.tiers.filter(({ start }) => inputTokens > start).reduce(
    (highest, tier) => tier.start >= highest.start ? tier : highest,
    { start: 0, price: rate.base },
  ).price;
}
