/** Estimates of token counts by the length of the texts, for counts that no upstream reported. */
import { builtin } from "../util/builtin.ts";
import type { GenerateRequest, InputPart, OutputPart, Tool, ToolResultPart } from "./generate.ts";

const NOT_ASCII = /[\u0080-\uffff]/;

/**
 * Estimates the tokens of a text without a vocabulary: one for every four bytes of UTF-8. That is four ASCII
 * characters, two letters with accents or from another alphabet, or one and a third CJK characters. The byte-pair
 * vocabularies of open models produce about as many. Overcounting is the safe side, because agents compact on this
 * number.
 */
export function estimateTextTokens(text: string): number {
  return Math.ceil(weighText(text));
}

/** The estimate before rounding, so that the pieces of a text add up to the whole. */
export function weighText(text: string): number {
  const isAscii = text.length < LONG && !NOT_ASCII.test(text);
  return (isAscii ? text.length : builtin("node:buffer").Buffer.byteLength(text)) / 4;
}

/** From this length on, in characters, Node's buffers count faster than a pattern searches. For less they need not be loaded. */
const LONG = 1_024;

// The tokens that chat templates add to each message, and the usual cost of an image in open vision models.
const TOKENS_PER_MESSAGE = 4;
export const TOKENS_PER_FILE = 1_000;

/** Estimates the tokens of a whole request: system, messages, tools and files together. Never 0. */
export function estimateInputTokens(request: Pick<GenerateRequest, "messages" | "tools" | "outputSchema">): number {
  let tokens = 3;
  for (const message of request.messages) {
    tokens += TOKENS_PER_MESSAGE;
    for (const part of message.content) {
      // Nearly all parts are texts.
      tokens += part.type === "text" ? Math.ceil(weighText(part.text)) : estimatePartTokens(part);
    }
  }
  for (const tool of request.tools ?? []) {
    // The model reads nothing of a tool that it has not found.
    if (tool.type !== "function" || tool.deferred !== true) {
      tokens += estimateTextTokens(JSON.stringify(withoutWork(tool)));
    }
  }
  if (request.outputSchema?.schema) tokens += estimateTextTokens(JSON.stringify(request.outputSchema.schema));
  return tokens;
}

/** A hosted tool without `work`, which repeats what its `extra` already has. */
function withoutWork(tool: Tool): Tool {
  return tool.type === "hosted" && tool.work ? { ...tool, work: undefined } : tool;
}

/** The estimated tokens of a part, without the overhead of its message. */
export function estimatePartTokens(part: InputPart | OutputPart | ToolResultPart): number {
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
    case "hosted":
      return estimateTextTokens(JSON.stringify(part.call)) +
        (part.result ? estimateTextTokens(JSON.stringify(part.result)) : 0);
    case "opaque":
      return estimateTextTokens(JSON.stringify(part.extra.fields));
    default:
      part satisfies never;
      return 0;
  }
}

/** The number of images and other files for the model, including those in tool results. */
export function countFiles({ messages }: Pick<GenerateRequest, "messages">): number {
  const filesIn = (parts: readonly (InputPart | OutputPart | ToolResultPart)[]): number =>
    parts.reduce((sum, part) => {
      if (part.type === "tool-result") return sum + filesIn(part.content);
      return part.type === "file" ? sum + 1 : sum;
    }, 0);
  return messages.reduce((sum, { content }) => sum + filesIn(content), 0);
}
