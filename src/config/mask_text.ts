/** Hides what is secret in the text of a configuration, and puts it back: the rest of the text stays as it is. */
import { isSecretHeader, isSecretParameter } from "../util/urls_and_headers.ts";
import type { SlicedWork } from "../util/sliced_work.ts";

/** What stands in place of a secret. A text of the file that looks like it is hidden, too. */
const HIDDEN = /^"\*\*\*(\d+)\*\*\*"$/;
const TOKEN = /"(?:[^"\\\n]|\\.)*"?|[{}[\]]/g;
/** Where a text is a secret that should have been a reference. */
const SECRET_NAME = /^(secret|password|token|api_?key|authorization)$/i;
/** The one text that a secret may be: whatever the client brings. */
const FROM_CLIENT = '"client"';
const WITH_CREDENTIALS = /:\/\/[^/\s]*@/;

interface Hidden {
  /** As it stood in the text. */
  token: string;
  /** Whether it is secret for where it stands; else for what it is. */
  isByPlace: boolean;
}

export interface MaskedText {
  text: string;
  /** What was hidden, by its number. */
  hidden: ReadonlyMap<string, Hidden>;
}

/** `isSecret`: whether a text is hidden wherever it stands. `first`: the number of the first that is hidden. */
export function* maskText(text: string, isSecret: (plain: string) => boolean, first = 1): SlicedWork<MaskedText> {
  const hidden = new Map<string, Hidden>();
  const masked = yield* replaceStrings(text, (token, isByPlace) => {
    const plain = unquoted(token);
    const isHidden = isByPlace || HIDDEN.test(token) || isSecretUrl(plain) || isSecret(plain);
    if (!isHidden) return token;
    const number = String(first + hidden.size);
    hidden.set(number, { token, isByPlace });
    return `"***${number}***"`;
  });
  return { text: masked, hidden };
}

/**
 * What was hidden is there again; of several masked texts, whichever it comes from. What is secret for its place comes back to such
 * a place only, because elsewhere it would be shown. `lost`: stands for nothing where it is.
 */
export function* unmaskText(
  text: string,
  ...masked: readonly MaskedText[]
): SlicedWork<{ text: string; lost: string[] }> {
  const lost: string[] = [];
  const whole = yield* replaceStrings(text, (token, isByPlace) => {
    const [, number] = HIDDEN.exec(token) ?? [];
    if (number === undefined) return token;
    const found = masked.map(({ hidden }) => hidden.get(number)).find((one) => one !== undefined);
    if (found && (isByPlace || !found.isByPlace)) return found.token;
    lost.push(token);
    return token;
  });
  return { text: whole, lost };
}

/** `isByPlace`: whether whatever stands there is secret. */
function* replaceStrings(text: string, replace: (token: string, isByPlace: boolean) => string): SlicedWork<string> {
  /** The names of what is around. */
  const around: string[] = [];
  let name = "";
  let replaced = "";
  let copied = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    yield;
    const end = index + token.length;
    if (token === "{" || token === "[") around.push(name);
    if (token === "}" || token === "]") name = around.pop() ?? "";
    if (!token.startsWith('"')) continue;
    const isProperty = isName(text, end);
    if (isProperty) name = unquoted(token);
    const isHeader = around.at(-1) === "headers" && isSecretHeader(name);
    const isByPlace = !isProperty && (isHeader || SECRET_NAME.test(name) && token !== FROM_CLIENT);
    replaced += text.slice(copied, index) + replace(token, isByPlace);
    copied = end;
  }
  return replaced + text.slice(copied);
}

/** Some services want their key in the query. */
function isSecretUrl(text: string): boolean {
  const names = URL.parse(text)?.searchParams.keys() ?? [];
  return WITH_CREDENTIALS.test(text) || [...names].some(isSecretParameter);
}

/** The text that is meant: a secret can be written with escapes. A string whose end is missing is what it is. */
function unquoted(token: string): string {
  try {
    return JSON.parse(token);
  } catch {
    return token.slice(1);
  }
}

const COLON = /\s*:/y;

/** Whether what ends there is the name of a property. */
function isName(text: string, end: number): boolean {
  COLON.lastIndex = end;
  return COLON.test(text);
}
