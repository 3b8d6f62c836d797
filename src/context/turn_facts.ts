/** The facts about a turn of a conversation, taken from its request. */
import type { GenerateRequest, Message } from "../canonical/generate.ts";
import type { TurnFacts } from "../observe/conversations.ts";
import { conversationKey } from "../routing/session_affinity.ts";

/** The longest session name that is kept. */
const LONGEST_NAME = 100;
const MOST_TOOLS = 40;

/** `undefined` if the request is not a conversation. */
export function turnFactsOf(request: unknown): TurnFacts | undefined {
  const { messages, cacheKey } = request as Partial<GenerateRequest>;
  if (!messages) return undefined;
  return {
    session: cacheKey?.slice(0, LONGEST_NAME) ?? conversationKey([], { messages }, NO_HEADERS, []),
    isNamed: cacheKey !== undefined,
    messages: messages.length,
    tools: toolsAdded(messages),
  };
}

const NO_HEADERS = new Headers();

/** The names of the tools whose results come after the last answer. */
function toolsAdded(messages: readonly Message[]): string[] {
  const ids: string[] = [];
  for (let at = messages.length - 1; at >= 0 && ids.length < MOST_TOOLS; at--) {
    const { role, content } = messages[at]!;
    if (role === "tool") ids.push(...content.map(({ id }) => id));
    if (role !== "assistant") continue;
    const names = new Map(content.flatMap((part) => part.type === "tool-call" ? [[part.id, part.name]] : []));
    return ids.flatMap((id) => names.get(id) ?? []);
  }
  return [];
}
