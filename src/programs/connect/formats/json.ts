import {
  applyEdits,
  type FormattingOptions,
  modify,
  parse,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import type { JsonValue } from "../../../canonical/json.ts";
import { type Format, FormatError, placeIn } from "./format.ts";

/** JSON. With `isLoose`, comments and trailing commas are allowed. */
export function jsonFormat(isLoose: boolean): Format {
  return {
    read(text) {
      if (text.trim() === "") return undefined;
      const errors: ParseError[] = [];
      const value = parse(text, errors, { allowTrailingComma: isLoose, disallowComments: !isLoose });
      const [error] = errors;
      if (error) throw new FormatError(`${printParseErrorCode(error.error)} at ${placeIn(text, error.offset)}`);
      return value as JsonValue;
    },
    change(text, change) {
      const formattingOptions = layoutOf(text);
      const value = change.kind === "remove" ? undefined : change.value;
      const isArrayInsertion = change.kind === "append";
      const path = isArrayInsertion ? [...change.path, -1] : [...change.path];
      if (text.trim() === "") {
        return `${JSON.stringify(nested(path, value), null, 2)}\n`.replaceAll("\n", formattingOptions.eol!);
      }
      checkNames(text, path);
      return applyEdits(text, modify(text, path, value, { formattingOptions, isArrayInsertion }));
    },
  };
}

/** Refuses duplicate names: the client would read the last property, and an edit would change the first. */
export function checkNames(text: string, path: readonly (string | number)[]): void {
  let node = parseTree(text);
  for (const step of path) {
    const named = node?.type === "object"
      ? (node.children ?? []).filter(({ children }) => children?.[0]?.value === step)
      : [];
    if (named.length > 1) {
      throw new FormatError(`"${step}" stands there twice, again at ${placeIn(text, named[1]!.offset)}`);
    }
    node = node?.type === "array" ? node.children?.[Number(step)] : named[0]?.children?.[1];
  }
}

/** Wraps a value in the objects and lists of a path that does not exist yet. */
function nested(path: readonly (string | number)[], value: unknown): unknown {
  return path.reduceRight((inner, step) => typeof step === "number" ? [inner] : { [step]: inner }, value);
}

/** The file's indentation and line breaks. */
export function layoutOf(text: string): FormattingOptions {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  return {
    insertSpaces: !indent.startsWith("\t"),
    tabSize: indent.startsWith("\t") ? 1 : indent.length,
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
}
