import { findStringEnd } from "../canonical/json_limits.ts";

const SCALAR = /-?\d[\d.eE+-]*|true|false|null/y;

/** The position at which a value is missing. For this mistake the engine reports no position. */
export function findMissingValue(text: string): number {
  let before: string | undefined = ",";
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    switch (char) {
      case " ":
      case "\t":
      case "\n":
      case "\r":
        continue;
      case "[":
      case "{":
        break;
      case "]":
      case "}":
      case ",":
      case ":":
        if (before === "," || before === ":" || (before === "[" && char !== "]")) return at;
        break;
      case '"':
        at = findStringEnd(text, at);
        break;
      default:
        SCALAR.lastIndex = at;
        if (!SCALAR.test(text)) return at;
        at = SCALAR.lastIndex - 1;
    }
    before = char;
  }
  return text.length;
}
