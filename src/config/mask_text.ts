/** Hides what is secret in the text of a configuration, and puts it back: the rest of the text stays as it is. */
import { isSecretHeader, isSecretParameter } from "../util/urls_and_headers.ts";

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

/** `secrets`: texts that are hidden wherever they stand. `first`: the number of the first that is hidden. */
export function maskText(text: string, secrets: readonly string[], first = 1): MaskedText {
  const hidden = new Map<string, Hidden>();
  const masked = replaceStrings(text, (token, isByPlace) => {
    const plain = unquoted(token);
    const isSecret = isByPlace || HIDDEN.test(token) || isSecretUrl(plain) ||
      secrets.some((secret) => plain.includes(secret));
    if (!isSecret) return token;
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
export function unmaskText(text: string, ...masked: readonly MaskedText[]): { text: string; lost: string[] } {
  const lost: string[] = [];
  const whole = replaceStrings(text, (token, isByPlace) => {
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
function replaceStrings(text: string, replace: (token: string, isByPlace: boolean) => string): string {
  /** The names of what is around. */
  const around: string[] = [];
  let name = "";
  return text.replace(TOKEN, (token, at: number) => {
    if (token === "{" || token === "[") around.push(name);
    if (token === "}" || token === "]") name = around.pop() ?? "";
    if (!token.startsWith('"')) return token;
    if (isName(text, at + token.length)) {
      name = unquoted(token);
      return replace(token, false);
    }
    const isHeader = around.at(-1) === "headers" && isSecretHeader(name);
    return replace(token, isHeader || SECRET_NAME.test(name) && token !== FROM_CLIENT);
  });
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
