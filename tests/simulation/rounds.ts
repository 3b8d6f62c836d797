/** The rounds of a model in which it calls tools of the gateway, before it answers: which ones, and how each call ends. */
import type { Said } from "../support/continuing_engine.ts";
import type { Random } from "./random.ts";

/** One that searches, and two of a remote server: the last has effects. */
export const TOOLS = ["search", "read", "write"] as const;
export type ToolName = typeof TOOLS[number];

/** How a call of a tool ends. */
export const TOOL_ENDS = [
  "found",
  "repeated",
  "failed",
  "refused",
  "failing",
  "limiting",
  "unreachable",
  "slow",
  "silent",
  "cut",
  "reset",
  "garbage",
  "other",
  "forgotten",
] as const;
export type ToolEnd = typeof TOOL_ENDS[number];
/** Those after which the model has to know what the server said. */
export const REPORTED: readonly ToolEnd[] = ["found", "repeated", "failed", "forgotten"];
/** Those that have no effect. */
export const WITHOUT_EFFECT: readonly ToolEnd[] = ["refused", "failing", "limiting", "unreachable"];

export interface Use {
  tool: ToolName;
  end: ToolEnd;
}

export interface Round {
  number: number;
  /** What the model says before the calls. */
  text?: string;
  uses: Use[];
}

export interface Servers {
  /** `modern`: without sessions. */
  era: "modern" | "legacy";
  inStream: boolean;
  /** How lists of tools end, one after the other; those beyond are found. */
  lists: ToolEnd[];
}

/** The name of one call that a model makes, wherever it turns up. */
export const markOf = (ask: number, round: number, use: number): string => `${ask}.${round}.${use}`;

export const FUNCTIONS: Record<ToolName, string> = { search: "web_search", read: "docs_read", write: "docs_write" };

export function serversFor(random: Random): Servers {
  return {
    era: random.pick(["modern", "legacy", "legacy"] as const),
    inStream: random.chance(0.5),
    lists: Array.from({ length: random.pick([0, 0, 0, 1, 3]) }, () => random.pick(TOOL_ENDS)),
  };
}

export function roundsFor(random: Random, id: number, tools: readonly ToolName[], ends: readonly ToolEnd[]): Round[] {
  return Array.from({ length: random.pick([1, 1, 2, 3]) }, (_, number) => ({
    number,
    ...(random.chance(0.4) && { text: `S${id}.${number}: let me look.` }),
    uses: Array.from({ length: random.pick([1, 1, 1, 2]) }, () => ({
      tool: random.pick(tools),
      end: random.chance(0.5) ? "found" as const : random.pick(ends),
    })),
  }));
}

/** What the model says in a round, of whose calls only those of tools that it is offered are possible. */
export function saidIn(ask: number, { number, text, uses }: Round, offered: ReadonlySet<string>): Said[] {
  const calls = uses.flatMap(({ tool }, at) => {
    const mark = markOf(ask, number, at);
    const input = tool === "search" ? { query: `#${mark} words` } : { use: mark };
    return offered.has(FUNCTIONS[tool]) ? [{ call: FUNCTIONS[tool], input: JSON.stringify(input) }] : [];
  });
  return calls.length === 0 ? [] : [...(text === undefined ? [] : [{ text }]), ...calls];
}

// deno-lint-ignore no-explicit-any -- conversations of three wires
type Loose = any;

/** What a model was told of calls in its last turn, each by its mark. */
export function resultsIn({ messages, input }: Loose): { mark: string; result: string }[] {
  const turns: Loose[] = messages ?? input;
  const inputs = new Map<string, string>();
  const results: { mark: string; result: string }[] = [];
  const add = (id: string, content: Loose) => {
    const [, mark] = /"(?:use|query)":\s*"#?(\d+\.\d+\.\d+)/.exec(inputs.get(id) ?? "") ?? [];
    if (mark !== undefined) results.push({ mark, result: textOf(content) });
  };
  const begin = turns.findLastIndex(({ role, content }) =>
    role === "user" && textOf(content).trimStart().startsWith("#")
  );
  for (const turn of turns.slice(begin + 1)) {
    for (const { id, function: { arguments: input } } of turn.tool_calls ?? []) inputs.set(id, input);
    if (turn.type === "function_call") inputs.set(turn.call_id, turn.arguments);
    if (turn.type === "function_call_output") add(turn.call_id, turn.output);
    if (turn.role === "tool") add(turn.tool_call_id, turn.content);
    for (const block of Array.isArray(turn.content) ? turn.content : []) {
      if (block.type === "tool_use") inputs.set(block.id, JSON.stringify(block.input));
      if (block.type === "tool_result") add(block.tool_use_id, block.content);
    }
  }
  return results;
}

function textOf(content: Loose): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ text = "" }: Loose) => text).join("\n");
}
