// @ts-check
/** Numbers with their units, as people read them. */

/** @param {number | undefined} ms */
export function inTime(ms) {
  if (ms === undefined) return "–";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round(ms % 60_000 / 1_000)} s`;
}

/** A number that fits a figure or an axis: 1,234, 12.3K, 4.56M. @param {number} value */
export function inShort(value) {
  if (Number.isInteger(value) && Math.abs(value) < 10_000) return value.toLocaleString("en");
  return new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(value);
}

/** Small amounts keep two digits that say something. @param {number | string | undefined} dollars */
export function inDollars(dollars) {
  if (dollars === undefined || dollars === "") return "–";
  const value = Number(dollars);
  if (value === 0) return "$0";
  if (value > 0 && value < 1e-6) return "<$0.000001";
  if (value >= 1_000) return `$${inShort(value)}`;
  if (value >= 0.1) return `$${value.toFixed(2)}`;
  return `$${Number(value.toPrecision(2)).toFixed(Math.min(6, 1 - Math.floor(Math.log10(value))))}`;
}

/** A client's program and version, without the rest of what it says about itself. @param {string | undefined} client */
export function programIn(client) {
  return client?.match(/^\S+\/\d\S*/)?.[0] ?? client;
}

/** @param {number} part @param {number} whole */
export function inPercent(part, whole) {
  if (whole === 0) return "–";
  const value = (part / whole) * 100;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  return `${value > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} %`;
}

/** How long ago, in the largest unit that fits. @param {string | number} time @param {number} [now] */
export function ago(time, now = Date.now()) {
  const seconds = Math.round((now - new Date(time).getTime()) / 1_000);
  if (Number.isNaN(seconds)) return "";
  const ways = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
  for (const [unit, size] of /** @type {const} */ ([["day", 86_400], ["hour", 3_600], ["minute", 60]])) {
    if (Math.abs(seconds) >= size) return ways.format(-Math.floor(seconds / size), unit);
  }
  return ways.format(-seconds, "second");
}

/** How long something has lasted, in its two largest units: 3 d 4 h. @param {number} ms */
export function inSpan(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const units = /** @type {const} */ ([["d", 86_400, 1e9], ["h", 3_600, 24], ["min", 60, 60], ["s", 1, 60]]);
  const parts = units.map(([unit, size, most]) => [Math.floor(seconds / size) % most, unit]);
  const first = parts.findIndex(([value]) => value !== 0);
  return parts.slice(Math.max(0, first), first + 2).filter(([value]) => value !== 0).map((part) => part.join(" ")).join(
    " ",
  ) || "0 s";
}

/** Bytes as people buy them. @param {number} bytes */
export function inBytes(bytes) {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  return bytes >= 1e6 ? `${Math.round(bytes / 1e6)} MB` : `${Math.ceil(bytes / 1e3)} kB`;
}

/** The whole time, for whoever points at a short one. @param {string | number} time */
export function exactly(time) {
  if (Number.isNaN(new Date(time).getTime())) return "";
  return new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "long" });
}

/** The path of a setting: `*` stands for a name that somebody chooses, and `#` for a place in a list. @param {readonly string[]} path */
export function settingInWords(path) {
  return path.map((name) => name === "*" ? "<name>" : name).join(".").replaceAll(/\.#(?=\.|$)/g, "[]");
}

/**
 * The next round number above a value, so that the axis stays while the values move.
 * @param {number} value
 */
export function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.5, 2, 3, 4, 5, 6, 8].find((step) => step * power >= value) ?? 10;
  return Number((step * power).toPrecision(12));
}

/** The words for what is no conversation alone. @type {Readonly<Record<string, string>>} */
const KINDS = {
  complete: "completion",
  thread: "thread",
  decide: "decision",
  embed: "embedding",
  rerank: "rerank",
  speak: "speech",
  transcribe: "transcription",
  draw: "picture",
  countTokens: "token count",
  listModels: "model list",
  getModel: "model facts",
  getResponse: "stored answer",
  deleteResponse: "stored answer deleted",
  cancelResponse: "answer canceled",
  conversation: "conversation",
  files: "files",
  connect: "WebSocket",
  ping: "sign of life",
};

/** The word for a kind of request. @param {string | undefined} kind */
export function kindIn(kind) {
  return kind && (KINDS[kind] ?? kind);
}
