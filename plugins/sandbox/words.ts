/** The first `limit` UTF-16 units of a text, never half a character, and how many more there are. */
export function cut(text: string, limit: number): string {
  const kept = prefix(text, limit);
  const rest = text.length - kept.length;
  return rest === 0 ? kept.toWellFormed() : `${kept.toWellFormed()}… (${rest} more characters)`;
}

/** At most `length` UTF-16 units from the start, never half a surrogate pair. */
export function prefix(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  const splits = length < text.length && last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splits ? length - 1 : length);
}

/** `1 file`, `2 files`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** `a, b and c`. */
export function enumerate(items: readonly string[]): string {
  return items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

/** The words of an identifier in lower case. They are equal for `readFile`, `read_file` and `Read-File`. */
export function wordsOf(identifier: string): string[] {
  return identifier.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z0-9]+/).filter(Boolean);
}
