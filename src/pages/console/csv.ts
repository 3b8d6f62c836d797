/** A table for spreadsheets, in which no name becomes a formula. */

export function csvTable(rows: Iterable<readonly (string | number | null | undefined)[]>): string {
  return Array.from(rows, (row) => `${row.map(cellOf).join(",")}\r\n`).join("");
}

function cellOf(value: string | number | null | undefined): string {
  if (typeof value !== "string") return String(value ?? "");
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
