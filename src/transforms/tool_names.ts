/** Replaces tool names that servers refuse, and maps them back. */
import type { AssistantMessage, GenerateRequest, Message, Tool, ToolChoice } from "../canonical/generate.ts";

/**
 * Names that every server accepts. Some accept more, such as longer names and dots, and clients of tool servers use
 * those.
 */
const TAKEN = /^[\w-]{1,64}$/;
const KEPT_LENGTH = 55;

/**
 * The name for an upstream: the client's own, or its beginning with a hash of the whole name. It is the same in every
 * request.
 */
export function upstreamName(name: string): string {
  return TAKEN.test(name) ? name : `${name.replace(/[^\w-]/g, "_").slice(0, KEPT_LENGTH)}_${markOf(name)}`;
}

/** FNV-1a as eight hexadecimal digits. */
function markOf(name: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, "0");
}

/** The request with names that the upstream accepts; the same object if all of them are accepted. */
export function withUpstreamNames<T extends GenerateRequest>(request: T): T {
  const { tools, messages, toolChoice } = request;
  if (!tools?.some(isRenamed) && !messages.some(callsRenamed)) return request;
  return {
    ...request,
    ...(tools && { tools: tools.map((tool) => isRenamed(tool) ? { ...tool, name: upstreamName(tool.name) } : tool) }),
    ...(toolChoice && { toolChoice: renameChoice(toolChoice) }),
    messages: messages.map((message) => callsRenamed(message) ? renameCalls(message) : message),
  };
}

/** A tool that the server runs has no client-defined name. */
function isRenamed({ type, name }: Tool): boolean {
  return type !== "hosted" && !TAKEN.test(name);
}

function callsRenamed(message: Message): message is AssistantMessage {
  return message.role === "assistant" &&
    message.content.some((part) => part.type === "tool-call" && !TAKEN.test(part.name));
}

function renameCalls(message: AssistantMessage): AssistantMessage {
  const content = message.content.map((part) =>
    part.type === "tool-call" ? { ...part, name: upstreamName(part.name) } : part
  );
  return { ...message, content };
}

function renameChoice(choice: ToolChoice): ToolChoice {
  if (choice.type === "tool") return { ...choice, name: upstreamName(choice.name) };
  return choice.type === "allowed" ? { ...choice, names: choice.names.map(upstreamName) } : choice;
}
