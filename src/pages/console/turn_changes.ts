/** Compares a turn of a conversation with the one before, and weighs what its context consists of. */
import { estimateInputTokens } from "../../canonical/estimate.ts";
import type { GenerateRequest, Message, Tool } from "../../canonical/generate.ts";
import type { SlicedWork } from "../../util/sliced_work.ts";

export interface TurnChanges {
  /** How many messages at the beginning are the same, without instructions. */
  same: number;
  /** How many the turn before had, without instructions. If not all are the same, its end was rewritten. */
  before: number;
  /** Whether the instructions differ. */
  system: boolean;
  /** The tools that were added, removed or redefined. Another order counts as well. */
  tools: { added: string[]; removed: string[]; changed: string[]; isReordered: boolean };
}

/** The text of a value without fields that only its own wire reads, such as marks for the cache. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (name, inner) => name === "extra" ? undefined : inner) ?? "";
}

function isTurn({ role }: Message): boolean {
  return role !== "system";
}

export function* changesBetween(earlier: GenerateRequest, later: GenerateRequest): SlicedWork<TurnChanges> {
  const [one, other] = [earlier.messages.filter(isTurn), later.messages.filter(isTurn)];
  let same = 0;
  while (same < one.length && same < other.length && textOf(one[same]) === textOf(other[same])) {
    same++;
    yield;
  }
  return {
    same,
    before: one.length,
    system: textOf(earlier.messages.filter(isInstruction)) !== textOf(later.messages.filter(isInstruction)),
    tools: toolChanges(earlier.tools ?? [], later.tools ?? []),
  };
}

function isInstruction({ role }: Message): boolean {
  return role === "system";
}

function toolChanges(earlier: readonly Tool[], later: readonly Tool[]): TurnChanges["tools"] {
  const [before, after] = [earlier, later].map((tools) => new Map(tools.map((tool) => [tool.name, textOf(tool)])));
  const kept = [...after!.keys()].filter((name) => before!.has(name));
  return {
    added: [...after!.keys()].filter((name) => !before!.has(name)),
    removed: [...before!.keys()].filter((name) => !after!.has(name)),
    changed: kept.filter((name) => before!.get(name) !== after!.get(name)),
    isReordered: textOf(kept) !== textOf([...before!.keys()].filter((name) => after!.has(name))),
  };
}

/**
 * The messages that this turn added. If the history was rewritten, they are those beyond its earlier length. The answer of the turn
 * before is left out, because that turn shows it.
 */
export function newMessages(
  { messages }: GenerateRequest,
  same: number | undefined,
  earlier: GenerateRequest | undefined,
): { from: number; messages: Message[] } {
  if (same === undefined || !earlier) return { from: 0, messages };
  const turns = messages.filter(isTurn);
  const before = earlier.messages.filter(isTurn).length;
  let from = same < before && turns.length > before ? before : same;
  while (from === before && turns[from]?.role === "assistant") from++;
  return { from, messages: turns.slice(from) };
}

/** The longest text and file of a message that the page gets, in characters. Inspect has the whole. */
const [LONGEST_TEXT, LONGEST_FILE] = [40_000, 1_500_000];

/** A copy whose long texts and files are cut. */
export function shortened<T>(value: T): T {
  return JSON.parse(JSON.stringify(value, (name, inner) => {
    if (name === "extra" || name === "opaque") return undefined;
    if (typeof inner !== "string") return inner;
    const most = name === "data" ? LONGEST_FILE : LONGEST_TEXT;
    if (inner.length <= most) return inner;
    return name === "data" ? "" : `${inner.slice(0, most)}… (${inner.length - most} more characters)`;
  }));
}

/** The estimated tokens of a kind of content, the largest first. */
export interface Share {
  /** `system`, `tools`, `user`, `assistant`, `reasoning`, `calls`, `results` or `files`. */
  kind: string;
  /** The name of the tool whose results these are. */
  tool?: string;
  tokens: number;
}

const MOST_SHARES = 30;

export function* compositionOf({ messages, tools = [] }: GenerateRequest): SlicedWork<Share[]> {
  const shares = new Map<string, Share>();
  const add = (kind: string, tokens: number, tool?: string) => {
    const name = JSON.stringify([kind, tool]);
    const share = shares.get(name) ?? { kind, tokens: 0, ...(tool !== undefined && { tool }) };
    share.tokens += tokens;
    shares.set(name, share);
  };
  if (tools.length > 0) add("tools", weigh({ messages: [], tools: [...tools] }));
  const calls = new Map<string, string>();
  for (const message of messages) {
    for (const part of message.content) {
      if (part.type === "tool-call") calls.set(part.id, part.name);
      const tokens = weigh({ messages: [{ ...message, content: [part] } as Message] });
      add(kindOf(message, part.type), tokens, part.type === "tool-result" ? calls.get(part.id) : undefined);
    }
    yield;
  }
  return [...shares.values()].sort((one, other) => other.tokens - one.tokens).slice(0, MOST_SHARES);
}

/** The tokens that every request has, whatever its content. */
const LEAST_TOKENS = estimateInputTokens({ messages: [] });

function weigh(request: Pick<GenerateRequest, "messages" | "tools">): number {
  return estimateInputTokens(request) - LEAST_TOKENS;
}

const KIND_OF_PART: Readonly<Record<string, string>> = {
  "tool-call": "calls",
  "tool-result": "results",
  reasoning: "reasoning",
  file: "files",
};

function kindOf({ role }: Message, type: string): string {
  return KIND_OF_PART[type] ?? role;
}
