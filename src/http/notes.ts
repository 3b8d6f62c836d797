const LONGEST = 4_096;

/**
 * The notes of what the gateway dropped, clamped or changed, without duplicates, as header text: printable ASCII, at most 4 kB.
 */
export function formatNotes(notes: readonly string[]): string {
  const text = [...new Set(notes)].join("; ").replace(/[^\x20-\x7e]/g, "?");
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 3)}...` : text;
}
