/** Makes foreign text safe for a terminal: on one line and without control characters. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ");
}
