/** The forms in which models write calls of tools, each with its reader. */
import { parseJson } from "../../../src/canonical/json.ts";
import {
  asCall,
  asCalls,
  type CallableTools,
  LONGEST_NAME,
  memberOf,
  membersOf,
  type TextCall,
  toolName,
} from "./callable_tools.ts";
import { readBraces } from "./braces.ts";
import { ARGUMENT_TAGS, FUNCTION_TAG, readTagged, type Tagged } from "./tagged.ts";
import { jsonText, oneOf, peek, type Reading, skipSpace, type Source, until, word } from "./source.ts";

/** Reads the text after a form's opening mark. `undefined` if it is not a call of one of the tools. */
export type CallReader = (source: Source, tools: CallableTools) => Reading<TextCall[] | undefined>;

export interface CallForm {
  open: string;
  read: CallReader;
  /** The mark is a token that a model does not write as a text, so that it may follow one at any place. */
  isToken?: true;
  /** The mark is usually inside another tag. If the tag before it is text, the mark is text, too. */
  isInner?: true;
}

/** Calls between a mark that opens them all and one that ends them all, which is left out where the answer ends. */
export function section(open: string, item: string, close: string, read: CallReader): CallForm {
  return {
    open,
    isToken: true,
    *read(source, tools) {
      const calls: TextCall[] = [];
      for (;;) {
        if ((yield* skipSpace(source)) === "" && calls.length > 0) return calls;
        const mark = yield* oneOf(source, [item, close]);
        if (mark === close) return calls.length > 0 ? calls : undefined;
        const found = mark && (yield* read(source, tools));
        if (!found) return undefined;
        for (const call of found) calls.push(call);
      }
    },
  };
}

/** One call, or a list of them, between two marks. The second one is left out where the answer ends. */
export function between(open: string, close: string, read: CallReader): CallForm {
  return {
    open,
    isToken: true,
    *read(source, tools) {
      yield* skipSpace(source);
      const calls = yield* read(source, tools);
      return calls && (yield* ends(source, close)) ? calls : undefined;
    },
  };
}

/** Arguments between tags. */
export function tagged(tags: Tagged): CallReader {
  return (source, tools) => readTagged(source, tools, tags);
}

/** `call:name{…}`, once or several times. `mark` begins and ends a text in the braces. */
export function called(mark: string): CallReader {
  return function* (source, tools) {
    const calls: TextCall[] = [];
    while (yield* word(source, "call:")) {
      const name = yield* toolName(source, tools);
      const input = name === undefined ? undefined : yield* readBraces(source, mark);
      if (name === undefined || input === undefined) return undefined;
      calls.push({ name, input });
      yield* skipSpace(source);
    }
    return calls.length > 0 ? calls : undefined;
  };
}

/** The mark that ends a call; models that stop with it leave it out. */
function* ends(source: Source, mark: string): Reading<boolean> {
  return (yield* skipSpace(source)) === "" || (yield* word(source, mark));
}

export function* readToolCall(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  const next = yield* skipSpace(source);
  if (next !== "{" && next !== "<") return yield* readTagged(source, tools, ARGUMENT_TAGS);
  if (next === "<" && !(yield* word(source, "<function="))) return undefined;
  const calls = next === "{"
    ? asCalls([yield* jsonText(source)], tools)
    : yield* readTagged(source, tools, FUNCTION_TAG);
  return calls && (yield* ends(source, "</tool_call>")) ? calls : undefined;
}

/** A list of objects, or one object. */
export function* readList(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  const next = yield* skipSpace(source);
  const list = next === "[" || next === "{" ? yield* jsonText(source) : undefined;
  if (!list || !parseJson(list)) return undefined;
  return asCalls(next === "{" ? [list] : membersOf(list).map(({ value }) => value), tools);
}

/** `{…}; {…}` */
export function* readObjects(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  const texts: (string | undefined)[] = [];
  for (;;) {
    if ((yield* skipSpace(source)) !== "{") return undefined;
    texts.push(yield* jsonText(source));
    if ((yield* skipSpace(source, " ")) !== ";") return asCalls(texts, tools);
    source.at++;
  }
}

/** `[{…}, {…}]`, or `name[ARGS]{…}` with or without an id, or `name{…}`. */
export function* readToolCalls(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  if ((yield* skipSpace(source)) === "[") return yield* readList(source, tools);
  const name = yield* toolName(source, tools);
  if (name === undefined) return undefined;
  if ((yield* peek(source)) !== "{") {
    const mark = yield* oneOf(source, ["[ARGS]", "[CALL_ID]"]);
    if (mark === undefined) return undefined;
    if (mark === "[CALL_ID]" && (yield* until(source, "[ARGS]", LONGEST_NAME)) === undefined) return undefined;
  }
  yield* skipSpace(source);
  return asCall(name, yield* jsonText(source), tools);
}

/** `name<｜tool▁sep｜>{…}`, or in the older form a kind before the mark, then the name, and JSON in a fence. */
export function* readSeparated(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  let name = yield* until(source, "<｜tool▁sep｜>", LONGEST_NAME);
  const isFenced = name?.trim() === "function" && (yield* peek(source)) !== "{";
  if (isFenced) {
    name = yield* toolName(source, tools);
    yield* skipSpace(source);
    if (!(yield* word(source, "```json"))) return undefined;
  }
  yield* skipSpace(source);
  const calls = asCall(name?.trim(), yield* jsonText(source), tools);
  yield* skipSpace(source);
  if (isFenced && !(yield* word(source, "```"))) return undefined;
  return (yield* ends(source, "<｜tool▁call▁end｜>")) ? calls : undefined;
}

/** `functions.name:0<|tool_call_argument_begin|>{…}` */
export function* readNumbered(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  const header = yield* until(source, "<|tool_call_argument_begin|>", LONGEST_NAME);
  const name = header?.trim().replace(/^functions\./, "").replace(/:\d+$/, "");
  yield* skipSpace(source);
  const calls = asCall(name, yield* jsonText(source), tools);
  return calls && (yield* ends(source, "<|tool_call_end|>")) ? calls : undefined;
}

/** An answer that is one call and nothing else; its first bracket is next. What it is called comes first. */
export function* readBareObject(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  source.at++;
  for (;;) {
    yield* skipSpace(source);
    const key = yield* oneOf(source, ['"name"', '"type"'] as const);
    yield* skipSpace(source);
    if (key === undefined || !(yield* word(source, ":"))) return undefined;
    yield* skipSpace(source);
    if (key === '"name"') break;
    if (!(yield* word(source, '"function"'))) return undefined;
    yield* skipSpace(source);
    if (!(yield* word(source, ","))) return undefined;
  }
  if (!(yield* word(source, '"')) || (yield* toolName(source, tools)) === undefined) return undefined;
  if (!(yield* word(source, '"')) || (yield* jsonText(source, 1)) === undefined) return undefined;
  const text = source.held().trim();
  const hasArguments = ["arguments", "parameters"].some((key) => memberOf(text, key) !== undefined);
  return (yield* skipSpace(source)) === "" && hasArguments ? asCalls([text], tools) : undefined;
}

/** The body of a message of harmony to `functions.name`. */
export function* readAddressed(
  source: Source,
  to: string,
  tools: CallableTools,
): Reading<TextCall[] | undefined> {
  const name = to.replace(/^functions\./, "");
  if (!tools.has(name)) return undefined;
  yield* skipSpace(source);
  const calls = asCall(name, yield* jsonText(source), tools);
  return calls && (yield* ends(source, "<|call|>")) ? calls : undefined;
}
