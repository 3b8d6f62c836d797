/** Conversations in which each call has its result right after it, and nothing else has one: what every server asks for. */
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";

/** Turns of the chat wire: results that answer nothing are left out, and those that are missing put in. */
export function pairedChat(messages: readonly JsonObject[]): JsonObject[] {
  const paired: JsonObject[] = [];
  let open = new Set<unknown>();
  let isLegacy = false;
  const settle = () => {
    for (const id of open) paired.push({ role: "tool", tool_call_id: String(id), content: "a" });
    if (isLegacy) paired.push({ role: "function", name: "a", content: "a" });
    open = new Set();
    isLegacy = false;
  };
  for (const message of messages) {
    if (message.role === "tool" ? !open.delete(message.tool_call_id) : message.role === "function" && !isLegacy) {
      continue;
    }
    if (message.role === "function") isLegacy = false;
    else if (message.role !== "tool") settle();
    paired.push(message);
    if (message.role !== "assistant") continue;
    open = idsIn(message.tool_calls, () => true);
    isLegacy = isJsonObject(message.function_call);
  }
  return paired.length > 0 ? paired : [{ role: "user", content: "a" }];
}

/** Like `pairedChat`, for the messages wire. */
export function pairedMessages(messages: readonly JsonObject[]): JsonObject[] {
  const paired: JsonObject[] = [];
  let open = new Set<unknown>();
  for (const message of messages) {
    const isFitting = (block: unknown) =>
      !isJsonObject(block) || block.type !== "tool_result" ||
      (message.role === "user" && open.delete(block.tool_use_id));
    const content = Array.isArray(message.content) ? message.content.filter(isFitting) : message.content;
    if (open.size > 0) {
      const missing = [...open].map((id) => ({ type: "tool_result", tool_use_id: String(id), content: "a" }));
      paired.push({ role: "user", content: missing });
    }
    open = message.role === "assistant" ? idsIn(content, ({ type }) => type === "tool_use") : new Set();
    paired.push({ ...message, content });
  }
  return paired;
}

/** Like `pairedChat`, for the responses wire, where a result may stand anywhere after its call. */
export function pairedResponses(items: readonly JsonObject[]): JsonObject[] {
  const open = new Map<unknown, JsonObject>();
  const paired = items.filter((item) => {
    if (isCallItem(item)) return !open.has(item.call_id) && open.set(item.call_id, item);
    return !String(item.type).match(/^(function|custom_tool)_call_output$/) || open.delete(item.call_id);
  });
  const missing = [...open.values()].map(({ call_id, type }): JsonObject => ({
    type: `${type}_output`,
    call_id,
    output: "a",
  }));
  return [...paired, ...missing];
}

function isCallItem({ type }: JsonObject): boolean {
  return type === "function_call" || type === "custom_tool_call";
}

function idsIn(list: unknown, isCall: (value: JsonObject) => boolean): Set<unknown> {
  return new Set(Array.isArray(list) ? list.filter(isCall).map(({ id }) => id) : []);
}
