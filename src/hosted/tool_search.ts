/** Searches the tools of a request that its model does not see yet. Loaded with the first search. */
import type { FunctionTool, Tool } from "../canonical/generate.ts";
import type { HostedResult, ToolSearchCall } from "../canonical/hosted.ts";
import { isJsonObject } from "../canonical/json.ts";
import { runSliced, type SlicedWork } from "../util/sliced_work.ts";
import { LinearPattern, PatternError } from "./linear_pattern.ts";

/** How many tools a search finds, unless it asks for another number, and at most. */
const FOUND = 5;
const MOST_FOUND = 20;
/** The longest text of a tool that is searched, and the longest question, in characters. */
const LONGEST_TEXT = 4_000;
const LONGEST_QUERY = 1_000;
/** The steps that one search by a pattern may take, which are less than a second. */
const STEPS = 20_000_000;

/**
 * The tools that the call finds, among those that wait to be found. A failure is a result. It throws only if `signal` is aborted.
 */
export async function searchTools(
  call: ToolSearchCall,
  tools: readonly Tool[],
  signal: AbortSignal,
): Promise<HostedResult> {
  return await runSliced(search(call, tools), signal);
}

function* search(call: ToolSearchCall, tools: readonly Tool[]): SlicedWork<HostedResult> {
  const { query, method, limit = FOUND } = call;
  const most = Math.max(1, Math.min(limit, MOST_FOUND));
  const hidden = tools.filter((tool): tool is FunctionTool => tool.type === "function" && tool.deferred === true);
  if (query.trim() === "") return invalid("The search needs a text to look for");
  if (query.length > LONGEST_QUERY) return invalid(`The search is longer than ${LONGEST_QUERY} characters`);
  try {
    const found = yield* method === "regex" ? byPattern(query, hidden, most) : byWords(query, hidden, most);
    return { kind: "found", tools: found.map(({ name }) => name) };
  } catch (thrown) {
    if (!(thrown instanceof PatternError)) throw thrown;
    return thrown.isSlow ? { kind: "error", code: "too_large", message: thrown.message } : invalid(thrown.message);
  }
}

function invalid(message: string): HostedResult {
  return { kind: "error", code: "invalid_input", message };
}

function* byPattern(query: string, tools: readonly FunctionTool[], most: number): SlicedWork<FunctionTool[]> {
  const pattern = new LinearPattern(query);
  const budget = { steps: STEPS };
  const found: FunctionTool[] = [];
  for (const tool of tools) {
    if (found.length >= most) break;
    if (textsOf(tool).some((text) => pattern.occursIn(text, budget))) found.push(tool);
    yield;
  }
  return found;
}

/** The searched texts of a tool: its name, its description, and its arguments with theirs. */
function textsOf({ name, description = "", parameters }: FunctionTool): string[] {
  const properties = isJsonObject(parameters?.properties) ? parameters.properties : {};
  const texts = [name, description];
  let length = 0;
  for (const [key, schema] of Object.entries(properties)) {
    const words = isJsonObject(schema) && typeof schema.description === "string" ? schema.description : "";
    texts.push(key, words);
    length += key.length + words.length;
    if (length > LONGEST_TEXT) break;
  }
  return texts.map((text) => text.slice(0, LONGEST_TEXT));
}

// The usual constants of BM25: how soon repetition counts no more, and how much long texts are discounted.
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;
/** A word of the name says more than one of the description. */
const NAME_WEIGHT = 3;

/** Ranks the tools by the words that they share with the question (Okapi BM25). Equals stay in their order. */
function* byWords(query: string, tools: readonly FunctionTool[], most: number): SlicedWork<FunctionTool[]> {
  const asked = [...new Set(wordsOf(query))];
  const counts: Map<string, number>[] = [];
  const lengths: number[] = [];
  const having = new Map<string, number>();
  for (const tool of tools) {
    const [name, ...others] = textsOf(tool);
    const words = [...Array.from({ length: NAME_WEIGHT }, () => wordsOf(name!)).flat(), ...others.flatMap(wordsOf)];
    const all = new Map<string, number>();
    for (const word of words) all.set(word, (all.get(word) ?? 0) + 1);
    const own = new Map(asked.flatMap((word) => all.has(word) ? [[word, all.get(word)!]] : []));
    for (const word of own.keys()) having.set(word, (having.get(word) ?? 0) + 1);
    counts.push(own);
    lengths.push(words.length);
    yield;
  }
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, tools.length);
  const scored = counts.map((own, at) => {
    let score = 0;
    for (const [word, count] of own) {
      const rarity = Math.log(1 + (tools.length - having.get(word)! + 0.5) / (having.get(word)! + 0.5));
      const length = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * lengths[at]! / average;
      score += rarity * count * (SATURATION + 1) / (count + SATURATION * length);
    }
    return { tool: tools[at]!, score };
  });
  return scored.filter(({ score }) => score > 0).toSorted((a, b) => b.score - a.score).slice(0, most)
    .map(({ tool }) => tool);
}

/** The words of a text, also those of names like `get_weather` and `getWeather`, without a plural's ending. */
function wordsOf(text: string): string[] {
  const words = text.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.map((word) => word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word);
}
