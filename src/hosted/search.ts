/** Searching the web for a model, by the service that the configuration names. */
import type { HostedResult, SearchHit, SearchWork } from "../canonical/hosted.ts";
import type { FoundPage, SearchBackend, SearchQuery } from "../contract/search.ts";
import { GatewayError } from "../errors.ts";
import { type Callee, readReply, send } from "../upstream/send.ts";
import { abortAfter } from "../util/timeout.ts";
import { filterOf, plainDomains } from "./domains.ts";

export interface SearchOptions {
  find: FindPages;
  /** How long a search may take, in milliseconds. */
  timeoutMs: number;
}

/** Searches are sentences; what is longer is no query. */
const QUERY_CHARACTERS = 1_000;
const ANSWER_BYTES = 4 * 2 ** 20;

/** How much the model is given of what was found: pages, and characters of each. */
const AMOUNTS = {
  low: { count: 5, characters: 500 },
  medium: { count: 8, characters: 1_500 },
  high: { count: 12, characters: 4_000 },
} as const;

/** Finds pages. Throws a `GatewayError` where it cannot. */
export type FindPages = (query: SearchQuery, signal: AbortSignal) => Promise<FoundPage[]>;

/** Finds pages by a service of the web. */
export function findBy(backend: SearchBackend, service: Callee): FindPages {
  return async (query, signal) => {
    const reply = await readReply(await send(backend.request(query), service, signal), ANSWER_BYTES);
    const { status } = reply;
    if (status >= 200 && status < 300) return backend.parse(reply);
    throw new GatewayError(
      status === 429 ? "rate_limit" : "upstream_error",
      `The search answered with status ${status}`,
    );
  };
}

/** What the search brings. A failure is a result, too; `onFailure` is given its reason, which is for the log alone. */
export async function search(
  query: string,
  { domains, location, size = "medium" }: SearchWork,
  { find, timeoutMs }: SearchOptions,
  signal: AbortSignal,
  onFailure: (reason: unknown) => void,
): Promise<HostedResult> {
  if (query.length > QUERY_CHARACTERS) return { kind: "error", code: "too_long" };
  const plainly = plainDomains(domains);
  if (!plainly) return { kind: "error", code: "invalid_input" };
  const { count, characters } = AMOUNTS[size];
  try {
    const found = await abortAfter(
      timeoutMs,
      signal,
      (signal) => find({ query, count, domains: domains && plainly, location, size }, signal),
      () => new GatewayError("upstream_timeout", `The search did not answer within ${timeoutMs} ms`),
    );
    const isWithin = filterOf(domains);
    const fitting = found.filter(({ url }) => isAddress(url) && isWithin(url));
    return { kind: "hits", hits: unique(fitting).slice(0, count).map((page) => hitOf(page, characters)) };
  } catch (reason) {
    signal.throwIfAborted();
    onFailure(reason);
    const isBusy = reason instanceof GatewayError && reason.code === "rate_limit";
    return { kind: "error", code: isBusy ? "too_many_requests" : "unavailable" };
  }
}

function unique(pages: readonly FoundPage[]): FoundPage[] {
  return [...new Map(pages.toReversed().map((page) => [page.url, page])).values()].reverse();
}

/** Whoever has the conversation numbers the hits. */
function hitOf({ url, title, text, age }: FoundPage, characters: number): SearchHit {
  const line = (text: string, most: number) => plain(text).replace(/\s+/g, " ").slice(0, most).toWellFormed();
  return {
    number: 0,
    url,
    title: line(title, 300),
    text: cut(plain(text), characters),
    ...(age !== undefined && { age: line(age, 100) }),
  };
}

/** Without characters that only terminals obey, and some servers of models choke on. */
function plain(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, "").toWellFormed();
}

/** Addresses are as long as browsers take them, and hold nothing that could pass for another line. */
function isAddress(url: string): boolean {
  return url.length <= 2_000 && /^https?:\/\/[^\s\p{Cc}\p{Cs}]+$/iu.test(url);
}

function cut(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters).toWellFormed()} …`;
}
