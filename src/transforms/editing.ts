/**
 * Edits of a conversation that its client asks for. The same history always gives the same edit, and a longer one changes
 * nothing before the first part that it clears anew, so that the upstream's prefix cache still applies.
 */
import type { AppliedEdit, ClearThinking, ClearToolUses, Edit } from "../canonical/editing.ts";
import { estimateInputTokens, estimateTextTokens, TOKENS_PER_FILE, weighText } from "../canonical/estimate.ts";
import type { GenerateRequest, Message, OutputPart, ToolCallPart, ToolResultPart } from "../canonical/generate.ts";

/** Stands in place of a cleared result. */
export const CLEARED = "[Old tool result content cleared]";
const CLEARED_INPUT = "{}";
/** Results of so few bytes are not worth a placeholder. The number is the vendor's whose clients ask for edits. */
const SHORT_RESULT_BYTES = 46;

export interface Edited {
  messages: Message[];
  /** The edits that changed something. */
  applied: AppliedEdit[];
}

type Conversation = Pick<GenerateRequest, "messages" | "tools" | "outputSchema">;

/** Applies the edits in order. Triggers look at the whole history: a result that was cleared never comes back. */
export function applyEdits(request: Conversation, edits: readonly Edit[]): Edited {
  let { messages } = request;
  const applied: AppliedEdit[] = [];
  const isCounted = edits.some((edit) => edit.kind === "tool uses" && "inputTokens" in edit.trigger);
  const tokens = isCounted ? estimateInputTokens(request) : 0;
  for (const edit of edits) {
    const done = edit.kind === "thinking" ? clearThinking(messages, edit) : clearToolUses(messages, edit, tokens);
    if (!done) continue;
    messages = done.messages;
    applied.push({ kind: edit.kind, type: edit.type, count: done.count, inputTokens: done.inputTokens });
  }
  return { messages, applied };
}

interface Effect {
  messages: Message[];
  count: number;
  inputTokens: number;
}

// Tool uses

/** A call with its result. */
interface Use {
  call: ToolCallPart;
  result: ToolResultPart;
  clearsInput: boolean;
  clearsResult: boolean;
  /** The tokens that clearing it frees. */
  freed: number;
}

function clearToolUses(messages: Message[], edit: ClearToolUses, tokens: number): Effect | undefined {
  const uses = usesIn(messages, edit);
  const own = uses.filter(({ call }) => !edit.exclude.includes(call.name));
  const { trigger } = edit;
  const isDue = "inputTokens" in trigger
    ? tokens > trigger.inputTokens
    : own.filter((use) => isWorthIt(use) || isEmpty(use.result)).length > trigger.toolUses;
  if (!isDue) return undefined;
  const worthy = own.filter(isWorthIt);
  const latest = uses.at(-1);
  const old = worthy.slice(0, Math.max(0, worthy.length - edit.keep)).filter((use) => use !== latest);
  const cleared = wholeBatches(old, edit.clearAtLeast);
  if (cleared.length === 0) return undefined;
  const parts = new Map<object, OutputPart | ToolResultPart>();
  for (const { call, result, clearsInput, clearsResult } of cleared) {
    if (clearsInput) parts.set(call, { ...call, input: CLEARED_INPUT });
    if (clearsResult) parts.set(result, { ...result, content: [{ type: "text", text: CLEARED }] });
  }
  return {
    messages: messages.map((message) => withParts(message, parts)),
    count: cleared.length,
    inputTokens: cleared.reduce((sum, { freed }) => sum + freed, 0),
  };
}

/** Completed uses, in the order of their results. */
function usesIn(messages: readonly Message[], { inputs }: ClearToolUses): Use[] {
  const open = new Map<string, ToolCallPart>();
  const uses: Use[] = [];
  for (const { role, content } of messages) {
    if (role === "assistant") {
      for (const part of content) if (part.type === "tool-call") open.set(part.id, part);
    }
    if (role !== "tool") continue;
    for (const result of content) {
      const call = open.get(result.id);
      if (!call) continue;
      open.delete(result.id);
      const isListed = inputs === true || inputs !== false && inputs.includes(call.name);
      const clearsInput = isListed && call.kind === "function" && weighText(call.input) > weighText(CLEARED_INPUT);
      const clearsResult = isLong(result);
      const freed = (clearsInput ? estimateTextTokens(call.input) - estimateTextTokens(CLEARED_INPUT) : 0) +
        (clearsResult ? tokensOf(result) - estimateTextTokens(CLEARED) : 0);
      uses.push({ call, result, clearsInput, clearsResult, freed: Math.max(0, freed) });
    }
  }
  return uses;
}

function isWorthIt({ clearsInput, clearsResult }: Use): boolean {
  return clearsInput || clearsResult;
}

function isLong({ content }: ToolResultPart): boolean {
  return content.some(({ type }) => type !== "text") || bytesOf(content) > SHORT_RESULT_BYTES;
}

function isEmpty({ content }: ToolResultPart): boolean {
  return content.every((part) => part.type === "text" && part.text === "");
}

function bytesOf(content: ToolResultPart["content"]): number {
  return content.reduce((sum, part) => sum + (part.type === "text" ? weighText(part.text) * 4 : 0), 0);
}

function tokensOf({ content }: ToolResultPart): number {
  return content.reduce((sum, part) => {
    if (part.type === "text") return sum + estimateTextTokens(part.text);
    return sum + (part.type === "file" ? TOKENS_PER_FILE : estimateTextTokens(JSON.stringify(part.extra.fields)));
  }, 0);
}

/** The uses up to the last one that completes a batch. They are counted from the oldest one on, whatever comes later. */
function wholeBatches(uses: readonly Use[], atLeast: number | undefined): readonly Use[] {
  if (atLeast === undefined) return uses;
  let end = 0;
  let freed = 0;
  for (const [index, use] of uses.entries()) {
    freed += use.freed;
    if (freed < atLeast) continue;
    end = index + 1;
    freed = 0;
  }
  return uses.slice(0, end);
}

function withParts(message: Message, parts: ReadonlyMap<object, OutputPart | ToolResultPart>): Message {
  if (!(message.content as object[]).some((part) => parts.has(part))) return message;
  return { ...message, content: (message.content as OutputPart[]).map((part) => parts.get(part) ?? part) } as Message;
}

// Reasoning

/** A turn is all that the model says between two messages of the user, however many tools it calls meanwhile. */
function clearThinking(messages: Message[], { keep }: ClearThinking): Effect | undefined {
  if (keep === "all") return undefined;
  const turnOf = new Map<Message, number>();
  let turn = 0;
  for (const message of messages) {
    if (message.role === "user") turn++;
    if (message.role === "assistant" && message.content.some(isReasoning)) turnOf.set(message, turn);
  }
  const turns = [...new Set(turnOf.values())];
  const old = new Set(turns.slice(0, Math.max(0, turns.length - keep)));
  const cleared = new Set<number>();
  let inputTokens = 0;
  const left = messages.map((message) => {
    const own = turnOf.get(message);
    if (own === undefined || !old.has(own) || message.role !== "assistant") return message;
    const content = message.content.filter((part) => !isReasoning(part));
    // No turn may be left without content.
    if (content.length === 0) return message;
    cleared.add(own);
    for (const part of message.content) if (part.type === "reasoning") inputTokens += estimateTextTokens(part.text);
    return { ...message, content };
  });
  return cleared.size === 0 ? undefined : { messages: left, count: cleared.size, inputTokens };
}

function isReasoning({ type }: OutputPart): boolean {
  return type === "reasoning";
}
