/** An upstream's message may quote the credential that it received. It is hidden from everyone. */
import { GatewayError } from "../errors.ts";

/**
 * Shorter ones are placeholders for local servers, such as "none". Nobody keeps them secret, and ordinary text is full of them.
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

/** Returns a function that hides these secrets in every spelling, and all bearer tokens. */
export function hiderFor(plain: readonly string[]): Hide {
  const secrets = spellingsFor(plain);
  return (text) => {
    // Too short for a secret and not cut off. Most field names are.
    if (text.length < SHORTEST_MASKED && !text.endsWith("…")) return text;
    const masked = secrets.reduce(mask, text);
    return /earer\s/i.test(masked) ? masked.replace(BEARER, "$1 ***") : masked;
  };
}

/** The same for these secrets alone: tokens of others may stand in what a tool quotes. */
export function maskerFor(plain: readonly string[]): Hide {
  const secrets = spellingsFor(plain);
  return (text) => text.length < SHORTEST_MASKED && !text.endsWith("…") ? text : secrets.reduce(mask, text);
}

/** The spellings to search for, longest first, because one may contain another. */
export function spellingsFor(plain: readonly string[]): string[] {
  return [...new Set(plain.flatMap(spellingsOf))]
    .filter(({ length }) => length >= SHORTEST_MASKED)
    .sort((a, b) => b.length - a.length);
}

/** The spellings of a secret in JSON inside a JSON string, and in a URL. */
function spellingsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const inUrl = encodeURIComponent(secret);
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

function mask(text: string, secret: string): string {
  return maskEnd(text.includes(secret) ? text.replaceAll(secret, "***") : text, secret);
}

/** The text without the beginning of a secret that is cut off at its end. */
export function maskEnd(text: string, secret: string): string {
  if (!text.endsWith("…")) return text;
  for (let length = secret.length - 1; length >= SHORTEST_BEGINNING; length--) {
    const cut = `${secret.slice(0, length)}…`;
    if (text.endsWith(cut)) return `${text.slice(0, -cut.length)}***`;
  }
  return text;
}
