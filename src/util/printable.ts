/** The one place that makes foreign text safe for a terminal. */

/** Control characters (those of ASCII JSON escapes by itself), line ends, turns of the direction, and what formats unseen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text with what steers a terminal, or cannot be seen, as JSON would escape it. It is one line then. */
export function visible(text: string): string {
  return text.replace(UNSEEN, escaped);
}

/** The same for output: its lines stay lines, and its tabs tabs. */
export function shown(text: string): string {
  return text.replace(/[^\n\t]+/g, (run) => visible(run));
}

/** A quotation in one line, for a sentence: spaces stand where its lines end. */
export function printable(text: string): string {
  return visible(text.replace(/\p{Cc}+/gu, " "));
}

/** In the units of JSON, of which a character may take two. */
function escaped(char: string): string {
  return char.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}
