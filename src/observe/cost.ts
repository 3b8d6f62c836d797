/** The cost of an answer. */
import type { Usage } from "../canonical/usage.ts";
import type { Price } from "../contract/planned_target.ts";
import { formatDollars, picoDollars } from "../util/dollars.ts";

export interface Cost {
  pico: bigint;
  /** Whether it is based on tokens that the gateway estimated. */
  isEstimated: boolean;
}

/** The most that an answer can cost, in pico-dollars. A higher cost would come from wrong counts or prices. */
const MOST = 100_000n * 10n ** 12n;

/** The text for clients: `0.00125`, or `0.00125; estimated`. */
export function formatCost({ pico, isEstimated }: Cost): string {
  return `${formatDollars(pico)}${isEstimated ? "; estimated" : ""}`;
}

/** The price in public lists, which may depend on the number of input tokens. */
export type ListedPrice = (inputTokens: number) => Price | undefined;

/**
 * The cost by the configured price, or else as the upstream reported it, or else by the listed price. Absent if none of them is
 * known. A reported cost of 0 counts as unknown.
 */
export function costOf(
  usage: Usage,
  price: Price | undefined,
  listed?: ListedPrice,
): Cost | undefined {
  const pico = price && priceOf(usage, price);
  if (price && pico !== undefined) return inBounds(pico, price.image === undefined || countsTokens(price) ? usage : {});
  const reported = usage.reportedCost === undefined ? undefined : picoDollars(usage.reportedCost);
  if (reported) return inBounds(reported, {});
  const listing = listed?.(usage.inputTokens);
  const byList = listing && priceOf(usage, listing);
  return byList === undefined ? undefined : inBounds(byList, usage);
}

/** Whether estimated tokens make the cost an estimate. A price of pictures alone does not depend on them. */
function countsTokens({ input, output }: Price): boolean {
  return input !== undefined || output !== undefined;
}

function inBounds(pico: bigint, { estimated }: Pick<Usage, "estimated">): Cost | undefined {
  return pico <= MOST ? { pico, isEstimated: estimated === true } : undefined;
}

/** The cost of audio that is billed by its length. */
export function costOfSound(seconds: number, { audioMinute, request }: Price): Cost | undefined {
  if (audioMinute === undefined) {
    return request === undefined ? undefined : { pico: amount(request), isEstimated: false };
  }
  if (!(seconds >= 0 && seconds < 1e9)) return undefined;
  return inBounds(amount(audioMinute) * BigInt(Math.round(seconds * 1_000)) / 60_000n + amount(request), {});
}

/** The cost of several answers together. If one of them has no price, the sum is an estimate. */
export function addCosts(answers: readonly { usage?: Usage; cost?: Cost }[]): Cost | undefined {
  let sum: Cost | undefined;
  let lacksPrice = false;
  for (const { usage, cost } of answers) {
    if (!cost) lacksPrice ||= usage !== undefined;
    else sum = sum ? { pico: sum.pico + cost.pico, isEstimated: sum.isEstimated || cost.isEstimated } : cost;
  }
  return sum && lacksPrice ? { ...sum, isEstimated: true } : sum;
}

/** The cost in pico-dollars. Absent if a part of the usage has no price. */
export function priceOf(usage: Usage, price: Price): bigint | undefined {
  let sum = amount(price.request) + amount(price.search) * BigInt(usage.hostedUses?.webSearch ?? 0) +
    amount(price.image) * BigInt(usage.pictures ?? 0);
  for (const [tokens, perMillion] of partsOf(usage, price)) {
    if (tokens === 0) continue;
    // With a price per request or picture, tokens without a price are free.
    const isFree = perMillion === undefined && (price.request ?? price.image) !== undefined;
    if (!Number.isSafeInteger(tokens) || (perMillion === undefined && !isFree)) return undefined;
    sum += BigInt(tokens) * amount(perMillion) / 1_000_000n;
  }
  return sum;
}

/** The tokens of each kind, and the price of a million of them. */
function partsOf(usage: Usage, { input, output, cached = input, cacheWrite = input, reasoning = output }: Price) {
  const { cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0, inputTokens, outputTokens } = usage;
  const read = Math.min(cachedInputTokens, inputTokens);
  const written = Math.min(cacheWriteTokens, inputTokens - read);
  const thought = Math.min(reasoningTokens, outputTokens);
  const parts: [tokens: number, perMillion: number | undefined][] = [
    [inputTokens - read - written, input],
    [read, cached],
    [written, cacheWrite],
    [outputTokens - thought, output],
    [thought, reasoning],
  ];
  return parts;
}

function amount(dollars = 0): bigint {
  return picoDollars(dollars) ?? 0n;
}
