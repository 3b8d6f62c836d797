/** Chunks that are like the one before but for one text. */
import type { ChatAnswer, ChatDelta, ToolCallFragment } from "./wire.ts";

const TEXTS = ["content", "reasoning_content", "reasoning", "reasoning_text"] as const;

/** The place of the only text in an increment. */
export interface TextPlace {
  delta: ChatDelta;
  name: typeof TEXTS[number] | "tool_calls";
  text: string;
  /** The kind of the text, if all other fields of the increment are empty. */
  only?: "text" | "reasoning" | "input";
}

/** The place of the only text in a chunk. `undefined` if the chunk has more than that, or something that an answer has only once. */
export function textPlaceIn({ choices, usage }: ChatAnswer): TextPlace | undefined {
  const [choice] = choices ?? [];
  const delta = choice?.delta;
  if (!delta || choices?.length !== 1 || usage || choice.usage || choice.finish_reason) return undefined;
  const [name, other] = TEXTS.filter((each) => delta[each]);
  const isCalled = delta.tool_calls?.length || delta.function_call;
  if (!name) return isCalled ? argumentsIn(delta) : undefined;
  const text = delta[name];
  return typeof text === "string" && !other && !isCalled ? { delta, name, text, only: kindIn(name, delta) } : undefined;
}

function kindIn(name: string, delta: ChatDelta): TextPlace["only"] {
  const isAlone = Object.entries(delta).every(([key, value]) => key === name || key === "role" || isEmpty(value));
  if (!isAlone) return undefined;
  return name === "content" ? "text" : name === "tool_calls" ? "input" : "reasoning";
}

function isEmpty(value: unknown): boolean {
  return value === null || value === "" || Array.isArray(value) && value.length === 0;
}

function argumentsIn(delta: ChatDelta): TextPlace | undefined {
  const { tool_calls, function_call } = delta;
  const text = tool_calls?.[0]?.function?.arguments;
  const isAll = tool_calls?.length === 1 && !function_call && typeof text === "string" && text !== "";
  return isAll ? { delta, name: "tool_calls", text, only: kindIn("tool_calls", delta) } : undefined;
}

/** The same increment with another text. */
export function withText({ delta, name }: TextPlace, text: string): ChatDelta {
  if (name !== "tool_calls") return { ...delta, [name]: text };
  return { ...delta, tool_calls: [withInput(delta, text)] };
}

/** The one call of the increment with another text. */
export function withInput({ tool_calls }: ChatDelta, text: string): ToolCallFragment {
  const [call] = tool_calls!;
  return { ...call!, function: { ...call!.function, arguments: text } };
}
