/** Reads the result lists of search services. */
import { isJsonObject, isText, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { FoundPage } from "../../src/contract/search.ts";
import type { Reply } from "../../src/contract/call.ts";
import { GatewayError } from "../../src/errors.ts";

/** Where a service's list is, and its names for the fields of a page. */
export interface ListShape {
  /** The path to the list, as field names. */
  list: readonly string[];
  url: string;
  title: string;
  /** The fields with excerpts of the page: texts or lists of texts. */
  texts: readonly string[];
  age?: string;
}

/** The pages of the list. Entries without an address are left out. */
export function pagesIn({ body }: Reply, shape: ListShape): FoundPage[] {
  const list = shape.list.reduce<unknown>((value, name) => isJsonObject(value) ? value[name] : undefined, body);
  if (list === undefined && isJsonObject(body) && shape.list.length > 1) return [];
  if (!Array.isArray(list)) throw new GatewayError("upstream_error", "The answer of the search holds no list of pages");
  return list.filter(isJsonObject).flatMap((entry) => pageOf(entry, shape));
}

function pageOf(entry: JsonObject, { url, title, texts, age }: ListShape): FoundPage[] {
  const address = entry[url];
  if (typeof address !== "string" || !/^https?:/i.test(address)) return [];
  const quoted = texts.flatMap((name) => plainTexts(entry[name]));
  const date = age === undefined ? undefined : entry[age];
  return [{
    url: address,
    title: plainTexts(entry[title]).join(" ") || address,
    text: [...new Set(quoted)].join("\n"),
    ...(isText(date) && { age: date }),
  }];
}

/** Removes the tags with which some services highlight matches. */
function plainTexts(value: JsonValue | undefined): string[] {
  const texts = Array.isArray(value) ? value : [value];
  return texts.filter((one) => typeof one === "string").map((text) =>
    unescape(text.replace(/<\/?[a-z][^<>]*>/gi, "")).trim()
  )
    .filter((text) => text !== "");
}

const CHARACTERS: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'",
  "#x27": "'",
  nbsp: " ",
};

function unescape(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|#x27|nbsp);/g, (_, name: string) => CHARACTERS[name]!);
}

/** A path with the query fields that are present. */
export function withQuery(path: string, fields: Record<string, string | number | undefined>): string {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  return `${path}?${new URLSearchParams(present.map(([name, value]) => [name, String(value)]))}`;
}

/**
 * The query with its domains as words that most search engines know. Those that stand below a path cannot be said so; the core
 * leaves out what does not fit.
 */
export function withSites(
  query: string,
  { allowed = [], blocked = [] }: { allowed?: readonly string[]; blocked?: readonly string[] } = {},
): string {
  const sites = allowed.slice(0, MOST_SITES).map((domain) => `site:${hostOf(domain)}`).join(" OR ");
  const others = blocked.slice(0, MOST_SITES).filter((domain) => domain === hostOf(domain)).map((domain) =>
    `-site:${domain}`
  );
  return [query, sites, ...others].filter((part) => part !== "").join(" ");
}

/** Engines accept queries of about thirty words. */
const MOST_SITES = 10;

function hostOf(domain: string): string {
  return domain.split("/", 1)[0]!;
}
