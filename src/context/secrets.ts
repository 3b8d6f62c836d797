/** An upstream's words may quote the credential that it was sent: it is hidden from everybody. */
import { GatewayError } from "../errors.ts";

/** Shorter ones are words that local servers want and nobody keeps, such as "none": text is full of them. */
export const SHORTEST_MASKED = 8;

/** A message that is too long is cut, perhaps within a secret: so much of one at the end is taken for it. */
const SHORTEST_BEGINNING = 4;

/** The same text without secrets. */
export type Hide = (text: string) => string;

/**
 * A bearer token, whoever's it is: after the word comes no other word, but a text with a digit in it, or a long one. Proxies
 * that debug repeat what they were sent.
 */
export const BEARER = /\b(Bearer)\s+(?:(?=[\w.~+/=-]*\d)[\w.~+/=-]{8,}|[\w.~+/=-]{20,})/gi;

/** What hides these secrets, however they are spelled, and bearer tokens of anybody. */
export function hiderFor(plain: readonly string[]): Hide {
  const secrets = spellingsFor(plain);
  return (text) => {
    // Too short for a secret, and no cut end of one: most names of fields.
    if (text.length < SHORTEST_MASKED && !text.endsWith("…")) return text;
    const masked = secrets.reduce(mask, text);
    return /earer\s/i.test(masked) ? masked.replace(BEARER, "$1 ***") : masked;
  };
}

/** What to look for. Longer ones first: one may hold another. */
export function spellingsFor(plain: readonly string[]): string[] {
  return [...new Set(plain.flatMap(spellingsOf))]
    .filter(({ length }) => length >= SHORTEST_MASKED)
    .sort((a, b) => b.length - a.length);
}

/** How a secret stands in JSON that is a text inside other JSON, and in a URL. */
function spellingsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const inUrl = encodeURIComponent(secret);
  const inLowerCase = inUrl.replaceAll(/%../g, (escape) => escape.toLowerCase());
  return [secret, inJson, inJson.replaceAll("/", "\\/"), inUrl, inLowerCase];
}

/** The same error without secrets. */
export function withoutSecrets(error: GatewayError, hide: Hide): GatewayError {
  const { code, message, details } = error;
  const param = details.param && hide(details.param);
  if (hide(message) === message && param === details.param) return error;
  return new GatewayError(code, hide(message), { ...details, param });
}

function mask(text: string, secret: string): string {
  return maskEnd(text.includes(secret) ? text.replaceAll(secret, "***") : text, secret);
}

/** The same without the beginning of a secret that is cut off at the end. */
export function maskEnd(text: string, secret: string): string {
  if (!text.endsWith("…")) return text;
  for (let length = secret.length - 1; length >= SHORTEST_BEGINNING; length--) {
    const cut = `${secret.slice(0, length)}…`;
    if (text.endsWith(cut)) return `${text.slice(0, -cut.length)}***`;
  }
  return text;
}
