/**
 * JSON with the habits of other languages: single quotes, trailing commas, Python's words, bare names, line breaks inside a text,
 * or a code fence; without its first brace, with a brace too many, or written several times. Each of these has only one reading. Ambiguous input is rejected: an unterminated text, quotes inside quotes,
 * an escape that JSON does not have.
 *
 * Existing libraries guess: they complete a truncated command, and lose the backslash of `\d`.
 */
import { isJsonObject, type JsonObject, parseJson } from "../canonical/json.ts";
import { runUnsliced, type SlicedWork } from "../util/sliced_work.ts";

export interface NearJson {
  /** The token in JSON syntax. */
  text: string;
  value: JsonObject;
  /** Whether the last brace was missing, and possibly more. */
  isOpen: boolean;
}

const FENCE = "```";
const TOKEN = /\s+|"[^"\\]*(?:\\[^][^"\\]*)*"|'[^'\\]*(?:\\[^][^'\\]*)*'|[{}[\]:,]|[\w$.+-]+/y;
const NAME = /^[A-Za-z_$][\w$-]*$/;
const WORDS: ReadonlyMap<string, string> = new Map([["True", "true"], ["False", "false"], ["None", "null"]]);

/** No model writes longer arguments for one call, in characters. Longer texts are not examined. */
const LONGEST = 1_000_000;
/** How many tokens are read before the work yields. */
const SLICE = 1_000;

/** The object that the text means; `undefined` if that is not certain. */
export function readNearJson(written: string): NearJson | undefined {
  return runUnsliced(readLongNearJson(written));
}

/** `readNearJson` in slices. */
export function* readLongNearJson(written: string): SlicedWork<NearJson | undefined> {
  if (written.length > LONGEST) return undefined;
  const found = yield* tokensOf(unfenced(written));
  if (!found || found.length === 0) return undefined;
  return yield* readTokens(yield* onlyObject(yield* withoutExtraBraces(withFirstBrace(found))));
}

function* readTokens(tokens: readonly string[]): SlicedWork<NearJson | undefined> {
  let [objects, lists] = [0, 0];
  let text = "";
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!;
    objects += token === "{" ? 1 : token === "}" ? -1 : 0;
    lists += token === "[" ? 1 : token === "]" ? -1 : 0;
    text += spell(token, tokens[at - 1], tokens[at + 1]);
    if (at % SLICE === 0) yield;
  }
  // A number or word may be incomplete.
  const isOpen = objects === 1 && lists === 0 && /["'\]}]$/.test(tokens.at(-1)!);
  if (isOpen) text += "}";
  const value = parseJson(text);
  return isJsonObject(value) ? { text, value, isOpen } : undefined;
}

/**
 * The content of a fence, or the text itself. A regular expression for all of it would take hours for some texts that a
 * model can write.
 */
function unfenced(written: string): string {
  const text = written.trim();
  if (!text.startsWith(FENCE) || !text.endsWith(FENCE) || text.length < 2 * FENCE.length) return written;
  const inner = text.slice(FENCE.length, -FENCE.length);
  const end = inner.indexOf("\n");
  return end >= 0 && /^(json)?$/.test(inner.slice(0, end).trim()) ? inner.slice(end + 1) : written;
}

/** The tokens of the text without white space; `undefined` if a character is out of place. */
function* tokensOf(text: string): SlicedWork<string[] | undefined> {
  const tokens: string[] = [];
  for (let at = 0; at < text.length;) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text)?.[0];
    if (token === undefined) return undefined;
    if (token.trim() !== "") tokens.push(token);
    at += token.length;
    if (tokens.length % SLICE === 0) yield;
  }
  return tokens;
}

/** The tokens with the first brace, where they begin with a name and its value. */
function withFirstBrace(tokens: string[]): string[] {
  return tokens[1] === ":" && /^["'\w$]/.test(tokens[0]!) ? ["{", ...tokens] : tokens;
}

/** The tokens without a second brace at their beginning or their end. */
function* withoutExtraBraces(tokens: string[]): SlicedWork<string[]> {
  const from = tokens[0] === "{" && tokens[1] === "{" ? 1 : 0;
  const { depth } = yield* countBraces(tokens);
  const isOver = depth === from - 1 && tokens.at(-1) === "}";
  return from > 0 || isOver ? tokens.slice(from, isOver ? -1 : undefined) : tokens;
}

/** The tokens of one object, where they are the same object several times, or that and empty ones. */
function* onlyObject(tokens: string[]): SlicedWork<string[]> {
  const { ends } = yield* countBraces(tokens);
  if (ends.length < 2) return tokens;
  let only: string[] | undefined;
  let from = 0;
  for (const end of ends) {
    const object = tokens.slice(from, end);
    from = end;
    if (object.length === 2) continue;
    if (only && object.join("") !== only.join("")) return tokens;
    only ??= object;
    yield;
  }
  const isAll = from === tokens.length;
  return isAll ? only ?? tokens.slice(0, 2) : tokens;
}

/** How many braces stay open, and the places behind those that close all. */
function* countBraces(tokens: readonly string[]): SlicedWork<{ depth: number; ends: number[] }> {
  const ends: number[] = [];
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    depth += token === "{" ? 1 : token === "}" ? -1 : 0;
    if (token === "}" && depth === 0) ends.push(at + 1);
    if (at % SLICE === 0) yield;
  }
  return { depth, ends };
}

/** A token in JSON syntax. */
function spell(token: string, before: string | undefined, after: string | undefined): string {
  if (token === ",") return after === "}" || after === "]" ? "" : token;
  if (token[0] === '"' || token[0] === "'") return spellText(token.slice(1, -1), token[0]);
  const isKey = after === ":" && (before === "{" || before === ",") && NAME.test(token);
  return isKey ? `"${token}"` : WORDS.get(token) ?? token;
}

/** An escape that JSON does not have stays as it is and fails, because its meaning is unknown. */
function spellText(text: string, quote: string): string {
  // deno-lint-ignore no-control-regex
  const spelled = text.replace(/\\([^])|[\x00-\x1f"]/g, (found, escaped?: string) => {
    if (escaped === undefined) return JSON.stringify(found).slice(1, -1);
    if (quote === '"') return found;
    // Python keeps the backslash before a slash.
    return escaped === "'" ? "'" : escaped === "/" ? "\\?" : found;
  });
  return `"${spelled}"`;
}
