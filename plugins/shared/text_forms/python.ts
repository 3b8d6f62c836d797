/** Calls as Python writes them: `[get_weather(city="Paris", days=2), get_time()]`. */
import { readNearJson } from "../../../src/transforms/near_json.ts";
import { type CallableTools, type TextCall, toolName } from "./callable_tools.ts";
import { peek, type Reading, skipSpace, type Source, word } from "./source.ts";

/** A list of calls; its first bracket is next. */
export function* readPython(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  if (!(yield* word(source, "["))) return undefined;
  const calls: TextCall[] = [];
  for (;;) {
    yield* skipSpace(source);
    const name = yield* toolName(source, tools);
    if (name === undefined || !(yield* word(source, "("))) return undefined;
    const input = yield* readArguments(source);
    if (input === undefined) return undefined;
    calls.push({ name, input });
    const next = yield* skipSpace(source);
    if (next !== "," && next !== "]") return undefined;
    source.at++;
    if (next === "]") return calls;
  }
}

/** Arguments by name, to the bracket that closes them, as the text of an object. */
function* readArguments(source: Source): Reading<string | undefined> {
  const members: string[] = [];
  for (;;) {
    if ((yield* skipSpace(source)) === ")") {
      source.at++;
      return readNearJson(`{${members.join(",")}}`)?.text;
    }
    const written = yield* literal(source, "=");
    const key = written?.trim() ?? "";
    if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(key)) return undefined;
    source.at++;
    const value = yield* literal(source, ",)");
    if (value === undefined) return undefined;
    members.push(`${JSON.stringify(key)}:${value}`);
    if ((yield* peek(source)) === ",") source.at++;
  }
}

/** The text to one of the characters that is neither in a string nor in brackets. */
function* literal(source: Source, ends: string): Reading<string | undefined> {
  let text = "";
  let depth = 0;
  for (;;) {
    const next = yield* peek(source);
    if (next === "" || (depth === 0 && ends.includes(next))) return next === "" ? undefined : text;
    source.at++;
    text += next;
    if ("([{".includes(next)) depth++;
    else if (")]}".includes(next)) depth--;
    else if (next === '"' || next === "'") text += yield* rest(source, next);
    if (depth < 0) return undefined;
  }
}

/** The rest of a string, up to its closing quote. */
function* rest(source: Source, quote: string): Reading<string> {
  let text = "";
  let isEscaped = false;
  for (;;) {
    const next = yield* peek(source);
    if (next === "") return text;
    source.at++;
    text += next;
    if (next === quote && !isEscaped) return text;
    isEscaped = next === "\\" && !isEscaped;
  }
}
