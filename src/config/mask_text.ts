/** Hides the secrets in the text of a configuration, and puts them back. The rest of the text stays as it is. */
import { isSecretHeader, isSecretParameter } from "../util/urls_and_headers.ts";
import type { SlicedWork } from "../util/sliced_work.ts";

/** The placeholder for a secret. A text in the file that looks like one is hidden, too. */
const HIDDEN = /^"\*\*\*(\d+)\*\*\*"$/;
const TOKEN = /"(?:[^"\\\n]|\\.)*"?|\/\/[^\r\n]*|\/\*[^]*?\*\/|[{}[\]]/g;
/** Names of properties whose text is a secret that should have been a reference. */
const SECRET_NAME = /^(secret|password|token|api_?key|authorization)$/i;
/** The only text that a secret may be: it means the client's own secret. */
const FROM_CLIENT = '"client"';
const WITH_CREDENTIALS = /:\/\/[^/\s]*@/;
/** A name in a comment, which may be quoted, with a text behind it. */
const NAMED = /(["']?)([\w-]+)["']?\s*[:=]\s*["']?(?!client\b)[^\s{["']/g;

/** The place of a token. In `secret` any text is hidden. A `comment` is hidden whole if it has a secret. */
type Place = "secret" | "comment" | "other";

interface Hidden {
  /** A string as it is in the text, or the text between the marks of a comment. */
  token: string;
  place: Place;
}

export interface MaskedText {
  text: string;
  /** The hidden tokens by number. */
  hidden: ReadonlyMap<string, Hidden>;
}

/** `isSecret`: whether a text is hidden at any position. `first`: the number of the first hidden token. */
export function* maskText(text: string, isSecret: (plain: string) => boolean, first = 1): SlicedWork<MaskedText> {
  const hidden = new Map<string, Hidden>();
  const masked = yield* replaceStrings(text, (token, place) => {
    const plain = unquoted(token);
    const isHidden = place === "secret" || HIDDEN.test(token) || isSecretUrl(plain) || isSecret(plain) ||
      place === "comment" && isSecretComment(token, isSecret);
    if (!isHidden) return token;
    const number = String(first + hidden.size);
    hidden.set(number, { token, place });
    return `"***${number}***"`;
  });
  return { text: masked, hidden };
}

/**
 * Puts hidden tokens back, from any of the masked texts. A token that is secret because of its position is put back only at such a
 * position, because elsewhere it would be shown. `lost`: placeholders that stand for nothing at their position.
 */
export function* unmaskText(
  text: string,
  ...masked: readonly MaskedText[]
): SlicedWork<{ text: string; lost: string[] }> {
  const lost: string[] = [];
  const whole = yield* replaceStrings(text, (token, place) => {
    const [, number] = HIDDEN.exec(token) ?? [];
    if (number === undefined) return token;
    const found = masked.map(({ hidden }) => hidden.get(number)).find((one) => one !== undefined);
    if (found && (found.place === place || found.place === "other" && place === "secret")) return found.token;
    if (place === "comment") return token; // the strings in it have their turn next
    lost.push(token);
    return token;
  });
  return { text: whole, lost };
}

/** Replaces strings, names among them, and the insides of comments; where that changes nothing, the strings in the comment. */
function* replaceStrings(
  text: string,
  replace: (token: string, place: Place) => string,
  isComment = false,
): SlicedWork<string> {
  /** The names of the enclosing properties. */
  const around: string[] = [];
  let name = "";
  let replaced = "";
  let copied = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    yield;
    const end = index + token.length;
    if (token === "{" || token === "[") around.push(name);
    if (token === "}" || token === "]") name = around.pop() ?? "";
    if (/^[{}[\]]/.test(token)) continue;
    replaced += text.slice(copied, index);
    copied = end;
    if (token.startsWith("/")) {
      replaced += yield* replaceInComment(token, replace);
      continue;
    }
    const isProperty = isName(text, end);
    if (isProperty) name = unquoted(token);
    const isInHeaders = isComment || around.at(-1) === "headers";
    replaced += replace(token, isProperty ? "other" : placeOf(token, name, isInHeaders));
  }
  return replaced + text.slice(copied);
}

function placeOf(token: string, name: string, isInHeaders: boolean): Place {
  const isSecret = isInHeaders && isSecretHeader(name) || SECRET_NAME.test(name) && token !== FROM_CLIENT;
  return isSecret ? "secret" : "other";
}

function* replaceInComment(comment: string, replace: (token: string, place: Place) => string): SlicedWork<string> {
  const close = comment.startsWith("/*") ? "*/" : "";
  const inside = comment.slice(2, comment.length - close.length);
  const other = replace(inside, "comment");
  const replaced = other === inside ? yield* replaceStrings(inside, replace, true) : other;
  return comment.slice(0, 2) + replaced + close;
}

/** Whether a comment has a secret: its own text, a string or a word in it, or a text behind a name whose texts are secrets. */
function isSecretComment(inside: string, isSecret: (plain: string) => boolean): boolean {
  const strings = [...inside.matchAll(TOKEN)].map(([token]) => unquoted(token));
  return [...inside.split(/[\s"']+/), ...strings].some((text) => isSecretUrl(text) || isSecret(text)) ||
    [...inside.matchAll(NAMED)].some(([, quote, name]) =>
      SECRET_NAME.test(name!) || quote !== "" && isSecretHeader(name!)
    );
}

/** Whether a URL contains a secret: some services expect their key in the query. */
function isSecretUrl(text: string): boolean {
  const names = URL.parse(text)?.searchParams.keys() ?? [];
  return WITH_CREDENTIALS.test(text) || [...names].some(isSecretParameter);
}

/** The value of a string, because a secret can be written with escapes. A string without its end stays as it is. */
function unquoted(token: string): string {
  if (!token.startsWith('"')) return token;
  try {
    return JSON.parse(token);
  } catch {
    return token.slice(1);
  }
}

const COLON = /\s*:/y;

/** Whether the token that ends there is the name of a property. */
function isName(text: string, end: number): boolean {
  COLON.lastIndex = end;
  return COLON.test(text);
}
