import type {
  FilePart,
  GenerateRequest,
  InputPart,
  Message,
  OutputPart,
  ToolCallPart,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import { count, cut, enumerate } from "./words.ts";

/** The parts of a request's messages that the sandbox uses. */
export interface Conversation {
  /** The user's last text. Empty if there is none. */
  text: string;
  /** Whether the user spoke last. */
  usersTurn: boolean;
  /** The tool results that are not answered yet. */
  results: ToolResultPart[];
  /** Every earlier tool call, in order. */
  calls: ToolCallPart[];
}

export function readConversation(messages: readonly Message[]): Conversation {
  // System messages are left out: an agent may put one after the user's message.
  const spoken = messages.filter((message) => message.role !== "system");
  // A client may add text after its tool results, so everything after the assistant's last message is one turn.
  const turn = spoken.slice(spoken.findLastIndex((message) => message.role === "assistant") + 1);
  return {
    text: lastUserText(turn.length > 0 ? turn : spoken),
    usersTurn: turn.at(-1)?.role === "user",
    results: turn.flatMap((message) => message.role === "tool" ? message.content : []),
    calls: spoken.flatMap((message) => message.role === "assistant" ? message.content.filter(isToolCall) : []),
  };
}

function isToolCall(part: OutputPart): part is ToolCallPart {
  return part.type === "tool-call";
}

/** The last text part of the user. Agents send their own notices as further text parts of the user's message. */
function lastUserText(messages: readonly Message[]): string {
  for (const message of messages.toReversed()) {
    if (message.role !== "user") continue;
    for (const part of message.content.toReversed()) {
      if (part.type !== "text") continue;
      const text = part.text.trim();
      if (text !== "" && !text.startsWith("<system-reminder>")) return text;
    }
  }
  return "";
}

const MAX_LIST = 200;

/** `2 messages, a system prompt of 28 characters, 1 tool (get_weather) and 1 file (image/png)`. */
export function describeRequest({ messages, tools = [] }: GenerateRequest): string {
  const system = messages.flatMap((message) => message.role === "system" ? message.content : []);
  const spoken = messages.filter((message) => message.role !== "system");
  const files = spoken.flatMap((message): (InputPart | OutputPart | ToolResultPart)[] => message.content)
    .flatMap((part) => part.type === "tool-result" ? part.content : [part])
    .filter((part): part is FilePart => part.type === "file");
  const systemLength = system.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  const mediaTypes = [...new Set(files.map((file) => file.mediaType))];

  const items = [count(spoken.length, "message")];
  if (system.length > 0) items.push(`a system prompt of ${count(systemLength, "character")}`);
  if (tools.length > 0) {
    items.push(`${count(tools.length, "tool")} (${cut(tools.map((tool) => tool.name).join(", "), MAX_LIST)})`);
  }
  if (files.length > 0) items.push(`${count(files.length, "file")} (${cut(mediaTypes.join(", "), MAX_LIST)})`);
  return enumerate(items);
}
