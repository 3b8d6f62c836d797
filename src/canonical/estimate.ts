/** Token counts that no upstream reported: estimates by the length of the texts. */
import { builtin } from "../util/builtin.ts";
import type { GenerateRequest, InputPart, OutputPart, Tool, ToolResultPart } from "./generate.ts";

const NOT_ASCII = /[\u0080-\uffff]/;

/**
 * Tokens of a text, estimated without a vocabulary: a token for each four bytes of UTF-8. That is four ASCII characters, two
 * letters with accents or of another alphabet, or one CJK character and a third, of which the byte-pair vocabularies of open
 * models make about as many. Over-counting is the safe side: agents compact on this number.
 */
export function estimateTextTokens(text: string): number {
  return Math.ceil(weighText(text));
}

/** The same before it is rounded, so that the pieces of a text weigh as much as the whole. */
export function weighText(text: string): number {
  // Most texts are ASCII, for which Node's buffers need not be loaded.
  return (NOT_ASCII.test(text) ? builtin("node:buffer").Buffer.byteLength(text) : text.length) / 4;
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
  for (const tool of request.tools ?? []) tokens += estimateTextTokens(JSON.stringify(withoutWork(tool)));
  if (request.outputSchema?.schema) tokens += estimateTextTokens(JSON.stringify(request.outputSchema.schema));
  return tokens;
}

/** What a hosted tool is to do stands in the client's own words already. */
function withoutWork(tool: Tool): Tool {
  return tool.type === "hosted" && tool.work ? { ...tool, work: undefined } : tool;
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

/** How many pictures and other files a model would be shown, those in results of tools among them. */
export function countFiles({ messages }: Pick<GenerateRequest, "messages">): number {
  const filesIn = (parts: readonly (InputPart | OutputPart | ToolResultPart)[]): number =>
    parts.reduce((sum, part) => {
      if (part.type === "tool-result") return sum + filesIn(part.content);
      return part.type === "file" ? sum + 1 : sum;
    }, 0);
  return messages.reduce((sum, { content }) => sum + filesIn(content), 0);
}
