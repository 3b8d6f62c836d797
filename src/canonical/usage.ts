import { GatewayError } from "../errors.ts";
import type { GenerateRequest, InputPart, OutputPart, ToolResultPart, Usage } from "./generate.ts";

/**
 * Who counted the tokens of a request: the upstream that is asked, the model's own chat template and vocabulary, the gateway
 * by what upstreams told of the model before, or the gateway by the length of the texts alone.
 */
export type CountedBy = "upstream" | "tokenizer" | "calibrated" | "estimated";

export interface Count {
  /** Never 0. */
  inputTokens: number;
  by: CountedBy;
}

/** A count that an upstream gave. Throws where it is none. */
export function toldCount(told: unknown): { inputTokens: number } {
  if (typeof told === "number" && Number.isSafeInteger(told) && told > 0) return { inputTokens: told };
  throw new GatewayError("upstream_error", "The upstream's answer is no count of tokens", { retryable: false });
}

const NOT_ASCII = /[\u0080-\uffff]/;

/**
 * Tokens of a text, estimated without a vocabulary: about four ASCII characters to a token, and a token for every other
 * character (the byte-pair vocabularies of open models spend one to two on a CJK character, one on an accented letter).
 * Over-counting is the safe side: agents compact on this number.
 */
export function estimateTextTokens(text: string): number {
  return Math.ceil(weighText(text));
}

/** The same before it is rounded, so that the pieces of a text weigh as much as the whole. */
export function weighText(text: string): number {
  // Most texts are ASCII, and are found to be so several times faster than they are counted.
  if (!NOT_ASCII.test(text)) return text.length / 4;
  let other = 0;
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0x7f) other++;
  return (text.length - other) / 4 + other * 0.75;
}

// What chat templates spend around each message, and the usual cost of a picture in open vision models.
const TOKENS_PER_MESSAGE = 4;
export const TOKENS_PER_FILE = 1_000;

/** Tokens of a whole request, estimated: system, messages, tools and files together. Never 0. */
export function estimateInputTokens(request: Pick<GenerateRequest, "messages" | "tools" | "outputSchema">): number {
  let tokens = 3;
  for (const message of request.messages) {
    tokens += TOKENS_PER_MESSAGE;
    for (const part of message.content) tokens += estimatePartTokens(part);
  }
  for (const tool of request.tools ?? []) tokens += estimateTextTokens(JSON.stringify(tool));
  if (request.outputSchema?.schema) tokens += estimateTextTokens(JSON.stringify(request.outputSchema.schema));
  return tokens;
}

function estimatePartTokens(part: InputPart | OutputPart | ToolResultPart): number {
  switch (part.type) {
    case "text":
    case "reasoning":
    case "refusal":
      return estimateTextTokens(part.text);
    case "tool-call":
      return estimateTextTokens(part.name) + estimateTextTokens(part.input) + TOKENS_PER_MESSAGE;
    case "tool-result":
      return part.content.reduce((sum, inner) => sum + estimatePartTokens(inner), TOKENS_PER_MESSAGE);
    case "file":
      return TOKENS_PER_FILE;
    case "opaque":
      return estimateTextTokens(JSON.stringify(part.extra.fields));
    default:
      part satisfies never;
      return 0;
  }
}

/** How many pictures and other files a model would be shown, those in results of tools among them. */
export function countFiles({ messages }: Pick<GenerateRequest, "messages">): number {
  const filesIn = (parts: readonly (InputPart | OutputPart | ToolResultPart)[]): number =>
    parts.reduce((sum, part) => {
      if (part.type === "tool-result") return sum + filesIn(part.content);
      return part.type === "file" ? sum + 1 : sum;
    }, 0);
  return messages.reduce((sum, { content }) => sum + filesIn(content), 0);
}

/** What an upstream told of an answer's tokens: all of the counts, some, or none. */
export type ToldUsage = Partial<Usage>;

/**
 * The totals of an answer, as far as they are told. Servers that count nothing leave them out or say 0; no conversation has
 * 0 tokens, but an answer may.
 */
export function toldTotals(
  input: number | null | undefined,
  output: number | null | undefined,
  total: number | null | undefined,
): ToldUsage {
  const inputTokens = input || Math.max(0, (total ?? 0) - (output ?? 0));
  const outputTokens = output ?? (input && total ? Math.max(0, total - input) : undefined);
  return {
    ...(inputTokens > 0 && { inputTokens }),
    // 0 beside no input is how servers say that they did not count.
    ...(outputTokens !== undefined && (inputTokens > 0 || outputTokens > 0) && { outputTokens }),
  };
}

/** What the gateway knows itself: how many tokens it counts in the conversation. `note` hears what had to be estimated. */
interface Estimate {
  readonly inputTokens: number;
  note?(text: string): void;
}

/** Every count that was told, and estimates of the totals that were not. `outputWeight`: of the whole answer. */
export function completeUsage(told: ToldUsage, estimate: Estimate, outputWeight: number): Usage {
  const missing = [told.inputTokens === undefined && "input", told.outputTokens === undefined && "output"];
  const [first, second] = missing.filter(Boolean);
  if (first) estimate.note?.(second ? "estimated usage" : `estimated ${first} tokens`);
  // The totals hold their parts.
  const parts = (told.cachedInputTokens ?? 0) + (told.cacheWriteTokens ?? 0);
  return {
    ...told,
    inputTokens: told.inputTokens ?? Math.max(estimate.inputTokens, parts),
    outputTokens: told.outputTokens ?? Math.max(1, Math.ceil(outputWeight), told.reasoningTokens ?? 0),
    ...(first && { estimated: true as const }),
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
    ...((one.estimated || other.estimated) && { estimated: true }),
  };
}
