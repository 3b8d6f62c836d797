/** What an answer cost. */
import type { Usage } from "../canonical/usage.ts";
import type { Price } from "../contract/planned_target.ts";
import { formatDollars, picoDollars } from "../util/dollars.ts";

export interface Cost {
  pico: bigint;
  /** Whether it rests on tokens that the gateway estimated. */
  isEstimated: boolean;
}

/** No answer costs more, in pico-dollars: what seems to rests on counts or amounts that are wrong. */
const MOST = 100_000n * 10n ** 12n;

/** For clients: `0.00125`, or `0.00125; estimated`. */
export function formatCost({ pico, isEstimated }: Cost): string {
  return `${formatDollars(pico)}${isEstimated ? "; estimated" : ""}`;
}

/** What lists of prices say, for an input of so many tokens. */
export type ListedPrice = (inputTokens: number) => Price | undefined;

/**
 * By the configured price where there is one, else what the upstream reported, else by the listed price. Nothing where none is
 * known: an upstream that reports 0 for tokens has not said what they cost.
 */
export function costOf(
  usage: Usage,
  price: Price | undefined,
  listed?: ListedPrice,
): Cost | undefined {
  const pico = price && priceOf(usage, price);
  if (pico !== undefined) return inBounds(pico, usage);
  const reported = usage.reportedCost === undefined ? undefined : picoDollars(usage.reportedCost);
  if (reported) return inBounds(reported, {});
  const listing = listed?.(usage.inputTokens);
  const byList = listing && priceOf(usage, listing);
  return byList === undefined ? undefined : inBounds(byList, usage);
}

function inBounds(pico: bigint, { estimated }: Pick<Usage, "estimated">): Cost | undefined {
  return pico <= MOST ? { pico, isEstimated: estimated === true } : undefined;
}

/** The same of sound that is paid by its length. */
export function costOfSound(seconds: number, { audioMinute, request }: Price): Cost | undefined {
  if (audioMinute === undefined) {
    return request === undefined ? undefined : { pico: amount(request), isEstimated: false };
  }
  if (!(seconds >= 0 && seconds < 1e9)) return undefined;
  return inBounds(amount(audioMinute) * BigInt(Math.round(seconds * 1_000)) / 60_000n + amount(request), {});
}

/** What several answers cost together. Where one of them has no price the sum is no more than an estimate. */
export function addCosts(answers: readonly { usage?: Usage; cost?: Cost }[]): Cost | undefined {
  let sum: Cost | undefined;
  let lacksPrice = false;
  for (const { usage, cost } of answers) {
    if (!cost) lacksPrice ||= usage !== undefined;
    else sum = sum ? { pico: sum.pico + cost.pico, isEstimated: sum.isEstimated || cost.isEstimated } : cost;
  }
  return sum && lacksPrice ? { ...sum, isEstimated: true } : sum;
}

/** In pico-dollars; nothing where a part of it has no price. */
export function priceOf(usage: Usage, price: Price): bigint | undefined {
  let sum = amount(price.request) + amount(price.search) * BigInt(usage.hostedUses?.webSearch ?? 0);
  for (const [tokens, perMillion] of partsOf(usage, price)) {
    if (tokens === 0) continue;
    // Who pays by the request pays nothing for tokens.
    const isFree = perMillion === undefined && price.request !== undefined;
    if (!Number.isSafeInteger(tokens) || (perMillion === undefined && !isFree)) return undefined;
    sum += BigInt(tokens) * amount(perMillion) / 1_000_000n;
  }
  return sum;
}

/** The tokens of each kind, and what a million of them costs. */
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
