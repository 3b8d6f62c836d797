const LONGEST = 4_096;

/** What the gateway dropped, clamped or changed, each once, as header text: printable ASCII, 4 kB at most. */
export function formatNotes(notes: readonly string[]): string {
  const text = [...new Set(notes)].join("; ").replace(/[^\x20-\x7e]/g, "?");
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 3)}...` : text;
}
