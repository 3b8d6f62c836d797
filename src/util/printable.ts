/** Makes text from outside safe for a terminal, or for a sentence that a model reads. */

/** Control characters, line ends, and format characters such as those that turn the direction of text. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Escapes control sequences and invisible characters as JSON does. The result is one line. */
export function visible(text: string): string {
  return text.replace(UNSEEN, escaped);
}

/** Escapes the same characters in output of several lines, but no line ends and tabs. */
export function shown(text: string): string {
  return text.replace(/[^\n\t]+/g, (run) => visible(run));
}

/** The text in one line, to be quoted in a sentence. Line ends become spaces. */
export function printable(text: string): string {
  return visible(text.replace(/\p{Cc}+/gu, " "));
}

const LONGEST_NAME = 255;

/** A name in one line without tags, for a model. Otherwise it could pass for words of the user, or of the system. */
export function nameLine(name: string): string {
  return printable(name.slice(0, LONGEST_NAME).toWellFormed()).replace(/[<>]/g, "_");
}

/** JSON escapes UTF-16 units, of which a character may take two. */
function escaped(char: string): string {
  return char.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}
