import { GatewayError } from "../errors.ts";
import { formatDollars, picoDollars } from "../util/dollars.ts";

/** How many hosted calls an answer took. */
export interface HostedUses {
  webSearch?: number;
  webFetch?: number;
  mcp?: number;
}

/** Token counts. Totals include their parts: `inputTokens` the cached ones, `outputTokens` the reasoning. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
  /** What the summary cost with which the conversation goes on. */
  compaction?: Usage;
  /** Calls of tools that the server ran. */
  hostedUses?: HostedUses;
  /** What the upstream says that it cost, in dollars: a decimal text. */
  reportedCost?: string;
  /** A total that the upstream did not report is the gateway's estimate. */
  estimated?: true;
}

/** What an upstream reported of an answer's tokens: all of the counts, some, or none. */
export type ReportedUsage = Partial<Usage>;

/**
 * Who counted the tokens of a request: the upstream that is asked, the model's own chat template and vocabulary, the gateway
 * by what upstreams reported for the model before, or the gateway by the length of the texts alone.
 */
export type CountedBy = "upstream" | "tokenizer" | "calibrated" | "estimated";

export interface Count {
  /** Never 0. */
  inputTokens: number;
  by: CountedBy;
}

/** A count that an upstream gave. Throws where it is none. */
export function reportedCount(reported: unknown): { inputTokens: number } {
  if (typeof reported === "number" && Number.isSafeInteger(reported) && reported > 0) return { inputTokens: reported };
  throw new GatewayError("upstream_error", "The upstream's answer is not a token count", { retryable: false });
}

/**
 * The totals of an answer, as far as they are reported. Servers that count nothing leave them out or say 0; no conversation has
 * 0 tokens, but an answer may.
 */
export function reportedTotals(
  input: number | null | undefined,
  output: number | null | undefined,
  total: number | null | undefined,
): ReportedUsage {
  const inputTokens = input || Math.max(0, (total ?? 0) - (output ?? 0));
  const outputTokens = output ?? (input && total ? Math.max(0, total - input) : undefined);
  return {
    ...(inputTokens > 0 && { inputTokens }),
    // Servers that did not count send 0 and no input.
    ...(outputTokens !== undefined && (inputTokens > 0 || outputTokens > 0) && { outputTokens }),
  };
}

/** What the gateway knows itself: how many tokens it counts in the conversation. `note` reports what had to be estimated. */
interface Estimate {
  readonly inputTokens: number;
  note?(text: string): void;
}

/** Every count that was reported, and estimates of the totals that were not. `outputWeight`: of the whole answer. */
export function completeUsage(reported: ReportedUsage, estimate: Estimate, outputWeight: number): Usage {
  const { inputTokens, outputTokens } = reported;
  if (inputTokens !== undefined && outputTokens !== undefined) return { ...reported, inputTokens, outputTokens };
  const missing = inputTokens !== undefined ? "output tokens" : outputTokens !== undefined ? "input tokens" : "usage";
  estimate.note?.(`estimated ${missing}`);
  // The totals hold their parts.
  const parts = (reported.cachedInputTokens ?? 0) + (reported.cacheWriteTokens ?? 0);
  return {
    ...reported,
    inputTokens: inputTokens ?? Math.max(estimate.inputTokens, parts),
    outputTokens: outputTokens ?? Math.max(1, Math.ceil(outputWeight), reported.reasoningTokens ?? 0),
    estimated: true,
  };
}

/** What several tries cost together. */
export function addUsage(one: Usage, other: Usage): Usage {
  const sum = (key: "cachedInputTokens" | "cacheWriteTokens" | "reasoningTokens") =>
    one[key] === undefined && other[key] === undefined ? {} : { [key]: (one[key] ?? 0) + (other[key] ?? 0) };
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    ...sum("cachedInputTokens"),
    ...sum("cacheWriteTokens"),
    ...sum("reasoningTokens"),
    ...((one.compaction || other.compaction) && { compaction: one.compaction ?? other.compaction }),
    ...addUses(one.hostedUses, other.hostedUses),
    ...addCosts(one.reportedCost, other.reportedCost),
    ...((one.estimated || other.estimated) && { estimated: true }),
  };
}

/** Of tries whose upstream reported no cost, nothing is known. */
function addCosts(one: string | undefined, other: string | undefined): Pick<Usage, "reportedCost"> {
  const costs = [one, other].flatMap((cost) => cost === undefined ? [] : picoDollars(cost) ?? []);
  return costs.length === 0 ? {} : { reportedCost: formatDollars(costs.reduce((sum, cost) => sum + cost)) };
}

function addUses(one: HostedUses | undefined, other: HostedUses | undefined): { hostedUses?: HostedUses } {
  if (!one || !other) return one || other ? { hostedUses: one ?? other } : {};
  const sum = (key: keyof HostedUses) =>
    one[key] === undefined && other[key] === undefined ? {} : { [key]: (one[key] ?? 0) + (other[key] ?? 0) };
  return { hostedUses: { ...sum("webSearch"), ...sum("webFetch"), ...sum("mcp") } };
}
