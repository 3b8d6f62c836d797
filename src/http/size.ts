import type { GenerateRequest } from "../canonical/generate.ts";
import { GatewayError } from "../errors.ts";

/** How large one conversation may be. */
export interface SizeLimits {
  /** Turns. */
  messages: number;
  /** Pieces of content, those inside results among them. */
  parts: number;
  tools: number;
}

/** Refuses a conversation that no model could be told. Throws `invalid_request`. */
export function checkSize({ messages, tools = [] }: GenerateRequest, limits: SizeLimits): void {
  const refuse = (param: string, count: number, most: number) => {
    throw new GatewayError("invalid_request", `There are ${count} ${param}, and the limit is ${most}`, { param });
  };
  if (messages.length > limits.messages) refuse("messages", messages.length, limits.messages);
  if (tools.length > limits.tools) refuse("tools", tools.length, limits.tools);
  let parts = 0;
  for (const { content } of messages) {
    parts += content.length;
    for (const part of content) if (part.type === "tool-result") parts += part.content.length;
  }
  if (parts > limits.parts) refuse("parts", parts, limits.parts);
}
