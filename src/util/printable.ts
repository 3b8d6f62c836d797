/** Text from elsewhere for a terminal: in one line, and without what would move its cursor. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ");
}
