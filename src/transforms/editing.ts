/**
 * Edits of a conversation that its client asks for. The same history always gives the same edit, and a longer one changes
 * nothing before the first part that it clears anew, so that the upstream's prefix cache still applies.
 */
import type { AppliedEdit, ClearThinking, ClearToolUses, Edit } from "../canonical/editing.ts";
import { estimateInputTokens, estimatePartTokens, estimateTextTokens, weighText } from "../canonical/estimate.ts";
import type {
  GenerateRequest,
  HostedPart,
  Message,
  OutputPart,
  Tool,
  ToolCallPart,
  ToolResultPart,
} from "../canonical/generate.ts";
import type { HostedResult } from "../canonical/hosted.ts";
import type { SlicedWork } from "../util/sliced_work.ts";

/** Stands in place of a cleared result. */
export const CLEARED = "[Old tool result content cleared]";
const CLEARED_INPUT = "{}";
const PLACEHOLDER = { type: "text" as const, text: CLEARED };
/** Results of so few bytes are not worth a placeholder. The number is the vendor's whose clients ask for edits. */
const SHORT_RESULT_BYTES = 46;

export interface Edited {
  messages: Message[];
  /** The edits that changed something. */
  applied: AppliedEdit[];
}

type Conversation = Pick<GenerateRequest, "messages" | "tools" | "outputSchema">;

/** Applies the edits in order. Triggers look at the whole history: a result that was cleared never comes back. */
export function* applyEdits(request: Conversation, edits: readonly Edit[]): SlicedWork<Edited> {
  let { messages } = request;
  const applied: AppliedEdit[] = [];
  const isCounted = edits.some((edit) => edit.kind === "tool uses" && "inputTokens" in edit.trigger);
  const tokens = isCounted ? estimateInputTokens(request) : 0;
  for (const edit of edits) {
    yield;
    const done = edit.kind === "thinking"
      ? clearThinking(messages, edit)
      : clearToolUses({ ...request, messages }, edit, tokens);
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

type ToolPart = OutputPart | ToolResultPart;

/** A call with its result. */
interface Use {
  name: string;
  /** The parts that change if the use is cleared, each with the part in its place. None if it is not worth clearing. */
  changes: [ToolPart, ToolPart][];
  isEmpty: boolean;
}

function clearToolUses(request: Conversation, edit: ClearToolUses, tokens: number): Effect | undefined {
  const uses = usesIn(request, edit);
  const excluded = new Set(edit.exclude);
  const own = uses.filter(({ name }) => !excluded.has(name));
  const { trigger } = edit;
  const isDue = "inputTokens" in trigger
    ? tokens > trigger.inputTokens
    : own.filter((use) => isWorthIt(use) || use.isEmpty).length > trigger.toolUses;
  if (!isDue) return undefined;
  const worthy = own.filter(isWorthIt);
  const latest = uses.at(-1);
  const old = worthy.slice(0, Math.max(0, worthy.length - edit.keep)).filter((use) => use !== latest);
  const cleared = wholeBatches(old, edit.clearAtLeast);
  if (cleared.length === 0) return undefined;
  const parts = new Map<object, ToolPart>(cleared.flatMap(({ changes }) => changes));
  return {
    messages: request.messages.map((message) => withParts(message, parts)),
    count: cleared.length,
    inputTokens: cleared.reduce((sum, use) => sum + freedBy(use), 0),
  };
}

/** Completed uses, in the order of their results. */
function usesIn({ messages, tools = [] }: Conversation, { inputs }: ClearToolUses): Use[] {
  const open = new Map<string, ToolCallPart>();
  const uses: Use[] = [];
  const named = typeof inputs === "boolean" ? undefined : new Set(inputs);
  const clearsInputOf = (call: ToolCallPart) =>
    call.kind === "function" && weighText(call.input) > weighText(CLEARED_INPUT) &&
    (named ? named.has(call.name) : inputs === true);
  for (const { role, content } of messages) {
    for (const part of content) {
      if (role === "assistant" && part.type === "tool-call") open.set(part.id, part);
      if (part.type === "hosted" && part.result) uses.push(hostedUse(part, part.result, tools));
      if (part.type !== "tool-result") continue;
      const call = open.get(part.id);
      if (!call) continue;
      open.delete(part.id);
      const changes: Use["changes"] = [];
      if (clearsInputOf(call)) changes.push([call, { ...call, input: CLEARED_INPUT }]);
      if (isLong(part.content)) changes.push([part, { ...part, content: [PLACEHOLDER] }]);
      uses.push({ name: call.name, changes, isEmpty: isEmpty(part.content) });
    }
  }
  return uses;
}

/** A use of a tool that the gateway ran. A result that another server ran stays as that server wrote it. */
function hostedUse(part: HostedPart, result: HostedResult, tools: readonly Tool[]): Use {
  const { call } = part;
  const tool = tools.find((one) => one.type === "hosted" && one.work?.kind === call.kind);
  const short = part.extra ? undefined : withoutText(result);
  return {
    name: call.kind === "mcp" ? call.name : tool?.name ?? call.kind,
    changes: short ? [[part, { ...part, result: short }]] : [],
    isEmpty: false,
  };
}

/** The result without the text that its model has read, if that is long. Hits keep the numbers that citations name. */
function withoutText(result: HostedResult): HostedResult | undefined {
  switch (result.kind) {
    case "hits": {
      const isDue = result.hits.some(({ text }) => bytesOf(text) > SHORT_RESULT_BYTES);
      return isDue
        ? { ...result, hits: result.hits.map(({ sealed: _, ...hit }) => ({ ...hit, text: "" })) }
        : undefined;
    }
    case "page": {
      const isDue = bytesOf(result.page.text) > SHORT_RESULT_BYTES;
      return isDue ? { ...result, page: { ...result.page, text: CLEARED } } : undefined;
    }
    case "content":
      return isLong(result.content) ? { ...result, content: [PLACEHOLDER] } : undefined;
    case "executed": {
      const isDue = bytesOf(result.stdout + result.stderr) > SHORT_RESULT_BYTES;
      return isDue ? { ...result, stdout: CLEARED, stderr: "" } : undefined;
    }
    default:
      return undefined;
  }
}

function isWorthIt({ changes }: Use): boolean {
  return changes.length > 0;
}

type Content = readonly { type: string; text?: string }[];

function isLong(content: Content): boolean {
  return content.some(({ type }) => type !== "text") ||
    content.reduce((sum, { text = "" }) => sum + bytesOf(text), 0) > SHORT_RESULT_BYTES;
}

function isEmpty(content: Content): boolean {
  return content.every(({ type, text }) => type === "text" && text === "");
}

function bytesOf(text: string): number {
  return weighText(text) * 4;
}

/** The tokens that clearing the use frees. */
function freedBy({ changes }: Use): number {
  const freed = changes.reduce((sum, [from, to]) => sum + estimatePartTokens(from) - estimatePartTokens(to), 0);
  return Math.max(0, freed);
}

/** The uses up to the last one that completes a batch. They are counted from the oldest one on, whatever comes later. */
function wholeBatches(uses: readonly Use[], atLeast: number | undefined): readonly Use[] {
  if (atLeast === undefined) return uses;
  let end = 0;
  let freed = 0;
  for (const [index, use] of uses.entries()) {
    freed += freedBy(use);
    if (freed < atLeast) continue;
    end = index + 1;
    freed = 0;
  }
  return uses.slice(0, end);
}

function withParts(message: Message, parts: ReadonlyMap<object, ToolPart>): Message {
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
