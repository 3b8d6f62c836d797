/** Arguments in braces, whose texts stand between marks: `{path:<|"|>a.txt<|"|>,lines:[1,2]}`. */
import { isJsonText } from "../../../src/canonical/json.ts";
import { LONGEST_NAME } from "./callable_tools.ts";
import { jsonString, oneOf, peek, type Reading, skipSpace, type Source, until, word } from "./source.ts";

/** Deeper values are no arguments. */
const DEEPEST = 64;
/** The longest number or word, in characters. */
const LONGEST_WORD = 10_000;

/** An object, whose first brace is next, as JSON. `mark` begins and ends a text. */
export function* readBraces(source: Source, mark: string, depth = 0): Reading<string | undefined> {
  if (depth > DEEPEST || !(yield* word(source, "{"))) return undefined;
  const members: string[] = [];
  for (;;) {
    if ((yield* skipSpace(source)) === "}") {
      source.at++;
      return `{${members.join(",")}}`;
    }
    const key = yield* readKey(source, mark);
    const value = key === undefined ? undefined : yield* readValue(source, mark, depth);
    if (value === undefined) return undefined;
    members.push(`${JSON.stringify(key)}:${value}`);
    if (!(yield* passComma(source, "}"))) return undefined;
  }
}

function* readKey(source: Source, mark: string): Reading<string | undefined> {
  const written = yield* until(source, ":", LONGEST_NAME);
  const key = written?.trim().replaceAll(mark, "").replace(/^(["'])(.*)\1$/, "$2");
  return key === "" ? undefined : key;
}

function* readValue(source: Source, mark: string, depth: number): Reading<string | undefined> {
  const next = yield* skipSpace(source);
  if (next === "{") return yield* readBraces(source, mark, depth + 1);
  if (next === "[") return yield* readList(source, mark, depth + 1);
  if (next === '"') {
    const text = yield* jsonString(source);
    return text !== undefined && isJsonText(text) ? text : undefined;
  }
  if ((yield* oneOf(source, [mark])) !== undefined) {
    const text = yield* until(source, mark);
    return text === undefined ? undefined : JSON.stringify(text);
  }
  return yield* readWord(source);
}

function* readList(source: Source, mark: string, depth: number): Reading<string | undefined> {
  if (depth > DEEPEST) return undefined;
  source.at++;
  const values: string[] = [];
  for (;;) {
    if ((yield* skipSpace(source)) === "]") {
      source.at++;
      return `[${values.join(",")}]`;
    }
    const value = yield* readValue(source, mark, depth);
    if (value === undefined) return undefined;
    values.push(value);
    if (!(yield* passComma(source, "]"))) return undefined;
  }
}

/** Whether a comma or the end comes; a comma is read. */
function* passComma(source: Source, end: string): Reading<boolean> {
  const next = yield* skipSpace(source);
  if (next === ",") source.at++;
  return next === "," || next === end;
}

/** A number, `true`, `false` or `null`; any other word is a text. */
function* readWord(source: Source): Reading<string | undefined> {
  let text = "";
  for (;;) {
    const next = yield* peek(source);
    if (next === "" || text.length > LONGEST_WORD) return undefined;
    if (",}]".includes(next)) break;
    text += next;
    source.at++;
  }
  const trimmed = text.trim();
  return trimmed === "" ? undefined : isJsonText(trimmed) ? trimmed : JSON.stringify(trimmed);
}
