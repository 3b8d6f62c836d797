/** The sums of the requests of one stretch of time, by the names that they have in common. */
import type { Usage } from "../../canonical/usage.ts";
import { picoDollars } from "../../util/dollars.ts";
import { addHistogram, type Histogram, observe } from "./histogram.ts";

/** The names by which requests can be told apart. */
export const DIMENSIONS = ["model", "target", "provider", "key", "team", "client", "lane"] as const;
export type Dimension = typeof DIMENSIONS[number];

/** The names of a row, in the order of `DIMENSIONS`. A name that a request does not have is empty. */
export type Names = readonly string[];

/** The sums that are plain numbers. */
export const COUNTS = [
  "requests",
  "errors",
  "inputTokens",
  "cachedTokens",
  "outputTokens",
  "reasoningTokens",
  "cacheHits",
  "notes",
  "relaxations",
  "unpriced",
  "estimated",
  // The kinds of errors. Together they are all of them.
  "rejected",
  "rateLimited",
  "closed",
  "failed",
] as const;
export type CountName = typeof COUNTS[number];

export interface Sums extends Record<CountName, number> {
  /** The cost in pico-dollars, as far as prices were known. */
  pico: bigint;
  duration: Histogram;
  firstEvent: Histogram;
}

export interface Row {
  names: Names;
  sums: Sums;
}

/** Rows by their names as JSON. */
export type Rows = Map<string, Row>;

/** The fields of a log entry from which a request is counted, and what the log does not name. */
export interface SeriesEntry {
  time: string;
  status: number;
  durationMs: number;
  firstEventMs?: number;
  usage?: Usage;
  cost?: string;
  error?: string;
  notes?: readonly string[];
  model?: string;
  target?: string;
  provider?: string;
  key?: string;
  team?: string;
  client?: string;
  lane?: string;
}

/** The name of what has no room of its own. */
export const OTHER = "other";
/** How much of a name is kept: clients can make up names of any length. */
const LONGEST_NAME = 64;
const CONTROLS = /\p{Cc}/gu;

/** The statuses of a request over a limit, and of one whose client went away. */
const [TOO_MANY, CLOSED] = [429, 499];

/** The beginning of the gateway's notes about relaxations. */
const RELAXED = "relaxed ";

export function namesOf(entry: SeriesEntry): Names {
  return DIMENSIONS.map((dimension) =>
    shortened(dimension === "client" ? programOf(entry.client) : entry[dimension] ?? "")
  );
}

/** Without the characters that JSON writes as six. */
function shortened(name: string): string {
  return name.slice(0, LONGEST_NAME).toWellFormed().replaceAll(CONTROLS, "?");
}

/** The program's name without its version: `some-agent`. Each version would otherwise be a client of its own. */
export function programOf(client: string | undefined): string {
  return /^[^/\s(;,]+/.exec(client ?? "")?.[0] ?? "";
}

export function sumsOf({ status, durationMs, firstEventMs, usage, cost, error, notes = [] }: SeriesEntry): Sums {
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, reasoningTokens = 0, estimated } = usage ?? {};
  // A request that failed before it gave anything costs nothing, whatever the price.
  const isFree = error !== undefined && usage === undefined;
  const pico = cost === undefined ? isFree ? 0n : undefined : picoDollars(cost);
  const sums: Sums = {
    requests: 1,
    errors: status >= 400 ? 1 : 0,
    inputTokens,
    cachedTokens: cachedInputTokens,
    outputTokens,
    reasoningTokens,
    cacheHits: cachedInputTokens > 0 ? 1 : 0,
    notes: notes.length,
    relaxations: notes.filter((note) => note.startsWith(RELAXED)).length,
    unpriced: pico === undefined ? 1 : 0,
    estimated: estimated ? 1 : 0,
    ...kindOf(status),
    pico: pico ?? 0n,
    duration: new Map(),
    firstEvent: new Map(),
  };
  observe(sums.duration, durationMs);
  if (firstEventMs !== undefined) observe(sums.firstEvent, firstEventMs);
  return sums;
}

function kindOf(status: number): Pick<Sums, "rejected" | "rateLimited" | "closed" | "failed"> {
  const is = (isSo: boolean) => isSo ? 1 : 0;
  return {
    rejected: is(status >= 400 && status < 500 && status !== TOO_MANY && status !== CLOSED),
    rateLimited: is(status === TOO_MANY),
    closed: is(status === CLOSED),
    failed: is(status >= 500),
  };
}

export function noSums(): Sums {
  const counts = Object.fromEntries(COUNTS.map((name) => [name, 0])) as Record<CountName, number>;
  return { ...counts, pico: 0n, duration: new Map(), firstEvent: new Map() };
}

export function addSums(into: Sums, other: Sums): void {
  // An upstream may report any number of tokens, so a sum is limited to a safe integer.
  for (const name of COUNTS) into[name] = Math.min(into[name] + other[name], Number.MAX_SAFE_INTEGER);
  into.pico += other.pico;
  addHistogram(into.duration, other.duration);
  addHistogram(into.firstEvent, other.firstEvent);
}

/**
 * The names that are given up where there is no more room, step by step: first those that clients choose freely. The room
 * at each step is a multiple of that for whole rows, so that the sums by key outlast a client that makes up names.
 */
const STEPS: readonly { folded: readonly Dimension[]; room: number }[] = [
  { folded: [], room: 1 },
  { folded: ["client"], room: 1.25 },
  { folded: ["client", "model", "provider"], room: 1.5 },
  { folded: DIMENSIONS, room: Infinity },
];

/** The most rows that `addTo` makes of any number of names. */
export function mostRows(room: number): number {
  return Math.floor(room * 1.5) + 1;
}

/** Adds the sums to the row of these names, or to one that they share with others if there is no room. */
export function addTo(rows: Rows, names: Names, sums: Sums, room: number): void {
  for (const { folded, room: factor } of STEPS) {
    const own = names.map((name, index) => folded.includes(DIMENSIONS[index]!) ? OTHER : name);
    const key = JSON.stringify(own);
    const row = rows.get(key);
    if (row) return addSums(row.sums, sums);
    if (rows.size >= room * factor) continue;
    const made = { names: own, sums: noSums() };
    rows.set(key, made);
    return addSums(made.sums, sums);
  }
}
