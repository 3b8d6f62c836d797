/** An upstream's message may quote the credential that it received. It is hidden from everyone. */
import { GatewayError } from "../errors.ts";
import { addPlace, NOTHING_READ, WordFinder } from "../util/word_finder.ts";
import { runUnsliced } from "../util/sliced_work.ts";

/**
 * Shorter secrets are not masked. They are placeholders for local servers, such as "none", and ordinary text is full of
 * such words.
 */
export const SHORTEST_MASKED = 8;

/** A long message is cut off, possibly inside a secret. A beginning of at least this length at the end is treated as one. */
const SHORTEST_BEGINNING = 4;

/** Returns the text without secrets. */
export type Hide = (text: string) => string;

/**
 * Any bearer token. The word must be followed by a text with a digit or by a long text, not by an ordinary word. Debugging
 * proxies echo what they received.
 */
export const BEARER = /\b(Bearer)\s+(?:(?=[\w.~+/=-]*\d)[\w.~+/=-]{8,}|[\w.~+/=-]{20,})/gi;

/** The finders of lists of secrets, because a gateway's list is the same for all of its requests. */
const finders = new WeakMap<readonly string[], WordFinder>();

/** The finder of these secrets in every spelling. It is made once for each list. */
export function finderOf(secrets: readonly string[]): WordFinder {
  let finder = finders.get(secrets);
  if (!finder) finders.set(secrets, finder = runUnsliced(WordFinder.of(spellingsFor(secrets))));
  return finder;
}

/** Returns a function that hides the secrets of these lists in every spelling, and all bearer tokens. */
export function hiderFor(...lists: readonly (readonly string[])[]): Hide {
  return (text) => {
    // Too short for a secret and not cut off. Most field names are.
    if (text.length < SHORTEST_MASKED && !text.endsWith("…")) return text;
    let masked = text;
    for (const list of lists) if (list.length > 0) masked = maskFound(masked, finderOf(list));
    return /earer\s/i.test(masked) ? masked.replace(BEARER, "$1 ***") : masked;
  };
}

function maskFound(text: string, finder: WordFinder): string {
  const places: number[] = [];
  const state = finder.find(text, 0, endOf(text), NOTHING_READ, places);
  return maskPlaces(text, places, finder.lengthOf(state));
}

/** The length of a text without the mark that it is cut off. */
export function endOf(text: string): number {
  return text.endsWith("…") ? text.length - 1 : text.length;
}

/** The text without its secrets. `begun`: the length of the beginning of a secret with which it ends. */
export function maskPlaces(text: string, places: number[], begun: number): string {
  const end = endOf(text);
  if (end < text.length && begun >= SHORTEST_BEGINNING) addPlace(places, end - begun, end);
  if (places.length === 0) return text;
  let masked = "";
  let copied = 0;
  for (let at = 0; at < places.length; at += 2) {
    masked += `${text.slice(copied, places[at])}***`;
    copied = places[at + 1]!;
  }
  return masked + text.slice(copied);
}

/** Hides these secrets and nothing else: tokens of others may stand in what a tool quotes. */
export function maskerFor(plain: readonly string[]): Hide {
  return (text) => text.length < SHORTEST_MASKED && !text.endsWith("…") ? text : maskFound(text, finderOf(plain));
}

/** The spellings to search for. */
export function spellingsFor(plain: readonly string[]): string[] {
  return [...new Set(plain.flatMap(spellingsOf))].filter(({ length }) => length >= SHORTEST_MASKED);
}

/** The spellings of a secret in JSON inside a JSON string, and in a URL. */
function spellingsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const inUrl = encodeURIComponent(secret.toWellFormed());
  const inLowerCase = inUrl.replaceAll(/%../g, (escape) => escape.toLowerCase());
  return [secret, inJson, inJson.replaceAll("/", "\\/"), inUrl, inLowerCase];
}

/** The error without secrets in its message. */
export function withoutSecrets(error: GatewayError, hide: Hide): GatewayError {
  const { code, message, details } = error;
  const param = details.param && hide(details.param);
  if (hide(message) === message && param === details.param) return error;
  return new GatewayError(code, hide(message), { ...details, param });
}
