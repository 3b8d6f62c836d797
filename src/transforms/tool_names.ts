/** Names of tools that servers refuse, under names that they take, and back. */
import type { AssistantMessage, GenerateRequest, Message, Tool, ToolChoice } from "../canonical/generate.ts";

/** What every server takes. Some take more, and clients of tool servers use it: longer names, and dots. */
const TAKEN = /^[\w-]{1,64}$/;
const KEPT_LENGTH = 55;

/** The name for an upstream: the client's own, or its beginning with a mark of the whole, the same in every request. */
export function upstreamName(name: string): string {
  return TAKEN.test(name) ? name : `${name.replace(/[^\w-]/g, "_").slice(0, KEPT_LENGTH)}_${markOf(name)}`;
}

/** FNV-1a, in eight hexadecimal digits. */
function markOf(name: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, "0");
}

/** The client's own name of each tool that an upstream gets under another name. */
export function clientNames(tools: readonly Tool[] = []): ReadonlyMap<string, string> {
  return new Map(tools.filter(isRenamed).map(({ name }) => [upstreamName(name), name]));
}

/** The request as an upstream gets it: the same one where all names are taken as they are. */
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

/** A tool that the server runs has no name of the client's. */
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
