import type { CustomTool, FunctionTool, GenerateRequest, ToolCallPart } from "../../src/canonical/generate.ts";
import { asObject, isJsonObject } from "../../src/canonical/json.ts";
import type { Conversation } from "./conversation.ts";
import { exampleOf, type Wording } from "./example.ts";
import { textMatching } from "./pattern.ts";
import { prefix, wordsOf } from "./words.ts";

type CallableTool = FunctionTool | CustomTool;

/** The most tools that are called for one message, however many it names. */
const MAX_CALLS = 4;

/**
 * The tool calls that answer the request. Empty if the answer is text. The tools run on a person's machine, and the sandbox invents
 * their inputs, so without being asked it calls only tools that cannot change anything: see `unasked`.
 */
export function chooseCalls(request: GenerateRequest, conversation: Conversation): ToolCallPart[] {
  const tools = chooseTools(request, conversation);
  const taken = new Set([...conversation.calls, ...conversation.results].map((part) => part.id));
  let number = conversation.calls.length;
  return tools.map((tool) => {
    do number++; while (taken.has(`call_sandbox_${number}`));
    const input = tool.type === "function"
      ? argumentsFor(tool, conversation.text)
      : freeTextFor(tool, conversation.text);
    return { type: "tool-call", kind: tool.type, id: `call_sandbox_${number}`, name: tool.name, input };
  });
}

function chooseTools(request: GenerateRequest, { text, usersTurn, results }: Conversation): CallableTool[] {
  const { tools = [], toolChoice = { type: "auto" }, parallelToolCalls = true } = request;
  // An answer in text always follows a result, so that an agent's loop ends.
  if (!usersTurn || results.length > 0 || toolChoice.type === "none") return [];
  const callable = tools.filter((tool): tool is CallableTool => tool.type !== "hosted");
  if (toolChoice.type === "tool") {
    return callable.filter((tool) => tool.name === toolChoice.name && tool.type === toolChoice.kind).slice(0, 1);
  }
  const names = toolChoice.type === "allowed" ? new Set(toolChoice.names) : undefined;
  const allowed = names ? callable.filter((tool) => names.has(tool.name)) : callable;
  const named = namedIn(text, allowed);
  if (named.length > 0) return named.slice(0, parallelToolCalls ? MAX_CALLS : 1);
  const required = toolChoice.type === "required" || (toolChoice.type === "allowed" && toolChoice.mode === "required");
  const chosen = unasked(allowed) ?? (required ? leastHarmful(allowed) : undefined);
  return chosen ? [chosen] : [];
}

// The effect of a tool, as far as its name and schema show it

/** `commands` runs a given command, and the sandbox gives it a harmless one. */
type Effect = "reads" | "unknown" | "commands" | "changes";
const FROM_HARMLESS: readonly Effect[] = ["reads", "unknown", "commands", "changes"];

const READING = new Set("check count describe find get glob grep list lookup ls read search show view".split(" "));
const CHANGING = new Set(
  ("agent append apply approve book buy cancel clear commit create delete deploy edit enter exit insert install " +
    "kill merge modify move multiedit order patch pay post publish purchase push put remove rename replace reset restart " +
    "save schedule send set skill spawn start stop submit task transfer update upload write").split(" "),
);
const EXECUTING = new Set(
  "bash cmd command eval exec execute invoke powershell python run script sh shell terminal".split(" "),
);
const COMMAND_PROPERTIES = ["command", "cmd"];

function effectOf(tool: CallableTool): Effect {
  // `mcp__server__tool`: the server's name says nothing about the tool's effect.
  const words = wordsOf(tool.name.split("__").at(-1) ?? "");
  if (words.some((word) => CHANGING.has(word))) return "changes";
  if (tool.type === "function" && isJsonObject(tool.parameters?.properties)) {
    const { properties } = tool.parameters;
    if (COMMAND_PROPERTIES.some((name) => Object.hasOwn(properties, name))) return "commands";
  }
  if (words.some((word) => EXECUTING.has(word))) return "changes";
  // The sandbox cannot see images, and agents give none to a model that does not accept them.
  if (words.includes("image") || words.includes("screenshot")) return "unknown";
  // `read_file`, `listTasks`, `TodoRead`: the verb is the first word, or the last of two.
  const verbs = words.length === 2 ? words : words.slice(0, 1);
  return verbs.some((word) => READING.has(word)) ? "reads" : "unknown";
}

/**
 * The function that is called if the user named none. A tool that only reads is preferred. Without one it is the first tool, because
 * a user who offers a few functions wants to see one called. But tools that change things or run commands belong to an agent on a
 * person's machine, where a tool of unknown effect may do anything. There only a command is run, because it is `echo`.
 */
function unasked(tools: readonly CallableTool[]): CallableTool | undefined {
  const functions = tools.filter((tool) => tool.type === "function");
  const withEffect = (effect: Effect) => functions.find((tool) => effectOf(tool) === effect);
  const reader = withEffect("reads");
  if (reader) return reader;
  return functions.every((tool) => effectOf(tool) === "unknown") ? functions[0] : withEffect("commands");
}

function leastHarmful(tools: readonly CallableTool[]): CallableTool | undefined {
  return FROM_HARMLESS.map((effect) => tools.find((tool) => effectOf(tool) === effect)).find((tool) =>
    tool !== undefined
  );
}

// Tools that the user names

/** How much of a message, from its end, is searched for names. */
const MAX_SEARCHED = 10_000;

/** The tools that are named in the text, in its order. */
function namedIn(text: string, tools: readonly CallableTool[]): CallableTool[] {
  const searched = text.slice(-MAX_SEARCHED).toLowerCase();
  const found = new Map<string, { tool: CallableTool; at: number }>();
  for (const tool of tools) {
    // Such tools have names like `Write` and `edit`, which are also ordinary words.
    const mustBeMeant = /^[A-Za-z][a-z]*$/.test(tool.name) && effectOf(tool) === "changes";
    const at = positionOf(tool.name.toLowerCase(), searched, mustBeMeant);
    if (at !== undefined && !found.has(tool.name)) found.set(tool.name, { tool, at });
  }
  return [...found.values()].sort((a, b) => a.at - b.at).map(({ tool }) => tool);
}

/** The position of the name in the text, as a separate word. `meant`: it must be quoted, or beside a word that means a tool. */
function positionOf(name: string, text: string, meant: boolean): number | undefined {
  if (name === "") return undefined;
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
    const before = text.slice(Math.max(0, at - 20), at);
    const after = text.slice(at + name.length, at + name.length + 20);
    if (/[\p{L}\p{N}_-]$/u.test(before) || /^[\p{L}\p{N}_-]/u.test(after)) continue;
    if (!meant) return at;
    const isQuoted = /[`'"“‘*]$/.test(before) && /^[`'"”’*]/.test(after);
    if (isQuoted || /^ tool\b/.test(after) || /\b(?:call|invoke|tool|use|using) $/.test(before)) return at;
  }
  return undefined;
}

// The input of a tool

const MAX_INPUT = 200;
const COMMAND = "echo sandbox";
const FILE = "laneway-sandbox.txt";
const NOTE = "Written by the Laneway sandbox";
/** A patch that adds a file, which says where it comes from. */
const PATCH = `*** Begin Patch\n*** Add File: ${FILE}\n+${NOTE}\n*** End Patch\n`;

/** Values of properties by the last word of their names. */
const TEXTS: Record<string, string> = {
  cwd: ".",
  dir: ".",
  directory: ".",
  email: "sandbox@example.com",
  file: FILE,
  filename: FILE,
  filepath: FILE,
  folder: ".",
  path: FILE,
  // Valid both as a glob and as a regular expression.
  pattern: "README*",
  uri: "https://example.com/",
  url: "https://example.com/",
  workdir: ".",
};
const USER_TEXT = new Set("content input message prompt q query question search text".split(" "));
/** Commands are harmless, whatever the schema suggests. */
const RUN: Record<string, string> = { cmd: COMMAND, command: COMMAND, script: COMMAND };
/** Code that does nothing, in most languages. */
const CODE = '"sandbox"';

function lastWordOf(property: string): string {
  return wordsOf(property).at(-1) ?? "";
}

function argumentsFor(tool: FunctionTool, userText: string): string {
  const words = wordsOf(tool.name);
  const isPatch = words.includes("patch");
  const runsCode = words.some((word) => EXECUTING.has(word));
  // A user's message to the model must not be sent, stored or run as it is.
  const text = effectOf(tool) === "reads" || effectOf(tool) === "unknown" ? wordingOf(userText) : NOTE;
  const wording: Wording = {
    requiredOnly: true,
    fixed(property) {
      const word = lastWordOf(property);
      return runsCode && word === "code" ? CODE : lookUp(RUN, word);
    },
    text(property) {
      const word = lastWordOf(property);
      if (isPatch && (/^patch/i.test(property) || word === "input")) return PATCH;
      return lookUp(TEXTS, word) ?? (USER_TEXT.has(word) ? text : property);
    },
  };
  const example = exampleOf(tool.parameters, wording);
  return JSON.stringify(asObject(example));
}

function freeTextFor(tool: CustomTool, userText: string): string {
  const words = wordsOf(tool.name);
  const { grammar } = tool;
  if (words.includes("patch") || grammar?.definition.includes("*** Begin Patch")) return PATCH;
  const matching = grammar?.syntax === "regex" ? textMatching(grammar.definition) : undefined;
  if (matching !== undefined) return matching;
  if (effectOf(tool) !== "changes") return wordingOf(userText);
  return words.some((word) => EXECUTING.has(word)) ? COMMAND : NOTE;
}

function wordingOf(userText: string): string {
  return prefix(userText, MAX_INPUT).toWellFormed() || "sandbox";
}

function lookUp(table: Record<string, string>, key: string): string | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
