import { GatewayError } from "../errors.ts";
import { formatDollars, picoDollars } from "../util/dollars.ts";

/** The number of hosted calls that an answer made. */
export interface HostedUses {
  webSearch?: number;
  webFetch?: number;
  mcp?: number;
  code?: number;
  image?: number;
}

/** Token counts. The totals include their parts: `inputTokens` the cached tokens, `outputTokens` the reasoning. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
  /** The cost of the summary from which the conversation continues. */
  compaction?: Usage;
  /** Calls of tools that the server ran. */
  hostedUses?: HostedUses;
  /** The number of pictures in an answer that has pictures. */
  pictures?: number;
  /** The cost that the upstream reported, in dollars as decimal text. */
  reportedCost?: string;
  /** Set if a total is the gateway's estimate, because the upstream did not report it. */
  estimated?: true;
}

/** The token counts that an upstream reported: all, some or none. */
export type ReportedUsage = Partial<Usage>;

/**
 * How the tokens of a request were counted: by the upstream, by the model's own chat template and vocabulary, by the
 * gateway with a calibration from counts that upstreams reported for the model, or by the length of the texts alone.
 */
export type CountedBy = "upstream" | "tokenizer" | "calibrated" | "estimated";

export interface Count {
  /** Never 0. */
  inputTokens: number;
  by: CountedBy;
}

/** A token count from an upstream. Throws if the value is not one. */
export function reportedCount(reported: unknown): { inputTokens: number } {
  if (typeof reported === "number" && Number.isSafeInteger(reported) && reported > 0) return { inputTokens: reported };
  throw new GatewayError("upstream_error", "The upstream's answer is not a token count", { retryable: false });
}

/** A reported number of tokens, which may be 0. */
export function asTotal(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/**
 * The reported totals of an answer. Servers that count nothing leave them out or send 0. No conversation has 0 tokens,
 * but an answer may.
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
    // Servers that did not count send 0 here and no input tokens.
    ...(outputTokens !== undefined && (inputTokens > 0 || outputTokens > 0) && { outputTokens }),
  };
}

/** The gateway's own count of the conversation. `note` reports what had to be estimated. */
interface Estimate {
  readonly inputTokens: number;
  note?(text: string): void;
}

/** All reported counts, with estimates of missing totals. `outputWeight`: the estimate for the whole answer. */
export function completeUsage(reported: ReportedUsage, estimate: Estimate, outputWeight: number): Usage {
  const { inputTokens, outputTokens } = reported;
  if (inputTokens !== undefined && outputTokens !== undefined) return { ...reported, inputTokens, outputTokens };
  const missing = inputTokens !== undefined ? "output tokens" : outputTokens !== undefined ? "input tokens" : "usage";
  estimate.note?.(`estimated ${missing}`);
  // The totals include their parts.
  const parts = (reported.cachedInputTokens ?? 0) + (reported.cacheWriteTokens ?? 0);
  return {
    ...reported,
    inputTokens: inputTokens ?? Math.max(estimate.inputTokens, parts),
    outputTokens: outputTokens ?? Math.max(1, Math.ceil(outputWeight), reported.reasoningTokens ?? 0),
    estimated: true,
  };
}

/** The sum of the reports of several calls, without estimates. A total or a cost is left out unless all calls reported it. */
export function sumReported(usages: readonly (ReportedUsage | undefined)[]): ReportedUsage {
  const sum: ReportedUsage = {};
  const reports = usages.map((one) => one?.estimated ? undefined : one);
  const names = ["inputTokens", "outputTokens", "cachedInputTokens", "cacheWriteTokens", "reasoningTokens"] as const;
  for (const name of names) {
    const values = reports.flatMap((one) => one?.[name] ?? []);
    const isTotal = name === "inputTokens" || name === "outputTokens";
    if (isTotal ? values.length === reports.length : values.length > 0) {
      sum[name] = values.reduce((all, one) => all + one, 0);
    }
  }
  const costs = reports.flatMap((one) => picoDollars(one?.reportedCost ?? "") ?? []);
  if (costs.length === reports.length) sum.reportedCost = formatDollars(costs.reduce((all, one) => all + one, 0n));
  return sum;
}

/** The sum of the usage of several attempts. */
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

/** Attempts whose upstream reported no cost are left out. */
function addCosts(one: string | undefined, other: string | undefined): Pick<Usage, "reportedCost"> {
  const costs = [one, other].flatMap((cost) => cost === undefined ? [] : picoDollars(cost) ?? []);
  return costs.length === 0 ? {} : { reportedCost: formatDollars(costs.reduce((sum, cost) => sum + cost)) };
}

function addUses(one: HostedUses | undefined, other: HostedUses | undefined): { hostedUses?: HostedUses } {
  if (!one || !other) return one || other ? { hostedUses: one ?? other } : {};
  const sum = (key: keyof HostedUses) =>
    one[key] === undefined && other[key] === undefined ? {} : { [key]: (one[key] ?? 0) + (other[key] ?? 0) };
  return {
    hostedUses: { ...sum("webSearch"), ...sum("webFetch"), ...sum("code"), ...sum("mcp"), ...sum("image") },
  };
}
