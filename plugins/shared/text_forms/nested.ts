/** Objects and lists that are written as nested tags, each after a mark. */
import { isJsonText } from "../../../src/canonical/json.ts";

/** Deeper values stay texts. */
const DEEPEST = 32;

/** The value as JSON. `undefined` if it is not made of tags. Tags that are all `item` make a list, others an object. */
export function nestedValue(text: string, mark: string, depth = 0): string | undefined {
  const members: { key: string; value: string }[] = [];
  const open = `${mark}<`;
  let rest = text.trim();
  if (depth > DEEPEST) return undefined;
  while (rest !== "") {
    const keyEnd = rest.indexOf(">", open.length);
    const key = rest.startsWith(open) && keyEnd > 0 ? rest.slice(open.length, keyEnd) : "/";
    if (key.startsWith("/")) return undefined;
    const [begin, close] = [`${open}${key}>`, `${open}/${key}>`];
    const end = closing(rest, begin, close);
    if (end < 0) return undefined;
    const inner = rest.slice(begin.length, end);
    const leaf = isJsonText(inner) ? inner.trim() : JSON.stringify(inner);
    members.push({ key, value: nestedValue(inner, mark, depth + 1) ?? leaf });
    rest = rest.slice(end + close.length).trimStart();
  }
  if (members.length === 0) return undefined;
  const isList = members.every(({ key }) => key === "item");
  const values = members.map(({ key, value }) => isList ? value : `${JSON.stringify(key)}:${value}`).join(",");
  return isList ? `[${values}]` : `{${values}}`;
}

/** Where the tag that opens the text is closed. */
function closing(text: string, begin: string, close: string): number {
  let depth = 1;
  let at = begin.length;
  for (;;) {
    const end = text.indexOf(close, at);
    if (end < 0) return -1;
    const next = text.indexOf(begin, at);
    const isOpened = next >= 0 && next < end;
    depth += isOpened ? 1 : -1;
    if (depth === 0) return end;
    at = isOpened ? next + begin.length : end + close.length;
  }
}
