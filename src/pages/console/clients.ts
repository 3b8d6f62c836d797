/** The clients of the last day: what each has asked for, with which keys. */
import type { RequestContext } from "../../context/request_context.ts";
import type { Feed } from "../../observe/feed.ts";
import type { SeriesBook } from "../../state/series/book.ts";
import { programOf, sumsOf } from "../../state/series/rows.ts";
import { DAY_MS, positionsIn, tierFor } from "../../state/series/tiers.ts";

/** The most clients, and the most names of each, because clients can make up any number. */
const [MOST_CLIENTS, MOST_NAMES, MOST_LANGUAGES] = [200, 20, 3];

interface Connected {
  client: string;
  /** Those that are running now. */
  running: number;
  requests: number;
  errors: number;
  inputTokens: number;
  outputTokens: number;
  /** Milliseconds since the epoch. */
  lastSeen: number;
  keys: Set<string>;
  lanes: Set<string>;
  models: Set<string>;
  /** The languages that libraries name: `some-sdk/Python 1.2`. */
  languages: Set<string>;
}

type All = Map<string, Connected>;

/** By what usage has kept of the last day. Without usage, by the latest requests that the process remembers. */
export async function clients({ gateway, hide }: RequestContext): Promise<Response> {
  const { observe: { usage, feed }, clocks: { now } } = gateway;
  const at = now();
  const from = at - DAY_MS + 1;
  const all: All = new Map();
  // The page shows the latest requests if the store does not answer.
  const book = await usage?.series?.book().catch(() => undefined);
  const isKept = book !== undefined && await addKept(all, book, from, at).then(() => true, () => false);
  if (feed) addLatest(all, feed, from, at, !isKept);
  const { setupDesk } = await gateway.console!.parts();
  const titles = await setupDesk?.titles();
  const data = [...all.values()].sort((one, other) => other.lastSeen - one.lastSeen).slice(0, MOST_CLIENTS);
  const view = data.map(({ keys, lanes, models, languages, ...rest }) => ({
    ...rest,
    title: titled(titles?.get(rest.client), languages),
    keys: [...keys],
    lanes: [...lanes],
    models: [...models],
  }));
  return new Response(hide(JSON.stringify({ now: at, isKept, data: view })), {
    headers: { "content-type": "application/json" },
  });
}

function titled(title: string | undefined, languages: ReadonlySet<string>): string | undefined {
  return title !== undefined && languages.size > 0 ? `${title} (${[...languages].sort().join(", ")})` : title;
}

const LANGUAGE = /^[^/\s]+\/([A-Za-z]{1,12}) v?\d/;

async function addKept(all: All, book: SeriesBook, from: number, now: number): Promise<void> {
  const range = { from, to: now + 1 };
  const tier = tierFor(book.tiers, range, now, false);
  const { first, last } = positionsIn(range, tier);
  for await (const { position, rows } of book.read(tier, first, last)) {
    for (const { names, sums } of rows) {
      const [model, , , key, , client, lane] = names;
      add(all, { client, key, lane, model }, { ...sums, at: position * tier.ms });
    }
  }
}

/** Those that ended or run now, from which it is known when exactly a client was seen. `isCounted`: whether they are the only source. */
function addLatest(all: All, feed: Feed, from: number, now: number, isCounted: boolean): void {
  for (const { client, key, lane, model, ...entry } of feed.since(0)) {
    const at = Date.parse(entry.time) + entry.durationMs;
    const isRecent = at >= from;
    const sums = isCounted && model !== undefined ? sumsOf(entry) : NOTHING;
    if (!isRecent) continue;
    const { languages } = add(all, { client: programOf(client), key, lane, model }, { ...sums, at });
    const language = LANGUAGE.exec(client ?? "")?.[1];
    if (language && languages.size < MOST_LANGUAGES) languages.add(language);
  }
  for (const { client, entry: { key, lane, model } } of feed.running()) {
    add(all, { client: programOf(client), key, lane, model }, { ...NOTHING, at: now }).running++;
  }
}

const NOTHING = { requests: 0, errors: 0, inputTokens: 0, outputTokens: 0 };

function add(
  all: All,
  { client = "", ...own }: { client?: string; key?: string; lane?: string; model?: string },
  { requests, errors, inputTokens, outputTokens, at }: typeof NOTHING & { at: number },
): Connected {
  let one = all.get(client);
  if (!one) {
    const names = () => new Set<string>();
    const sets = { keys: names(), lanes: names(), models: names(), languages: names() };
    all.set(client, one = { client, running: 0, ...NOTHING, lastSeen: 0, ...sets });
  }
  one.requests += requests;
  one.errors += errors;
  one.inputTokens += inputTokens;
  one.outputTokens += outputTokens;
  one.lastSeen = Math.max(one.lastSeen, at);
  for (const [set, name] of [[one.keys, own.key], [one.lanes, own.lane], [one.models, own.model]] as const) {
    if (name && set.size < MOST_NAMES) set.add(name);
  }
  return one;
}
