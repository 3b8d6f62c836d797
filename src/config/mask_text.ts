/** Hides what is secret in the text of a configuration, and puts it back: the rest of the text stays as it is. */

/** What stands in place of a secret. No secret looks like it. */
const HIDDEN = /"\*\*\*(\d+)\*\*\*"/g;
const TOKEN = /"(?:[^"\\\n]|\\.)*"?|[{}[\]]/g;
/** Where a text is a secret that should have been a reference. */
const SECRET_NAME = /^(secret|password|token|api_?key|authorization)$/i;
const SECRET_HEADER = /auth|key|token|secret|cookie|password/i;
const WITH_CREDENTIALS = /:\/\/[^/\s"]*@/;

export interface MaskedText {
  text: string;
  /** What was hidden, as it stood in the text, by its number. */
  hidden: ReadonlyMap<string, string>;
}

/** `secrets`: texts that are hidden wherever they stand. `first`: the number of the first that is hidden. */
export function maskText(text: string, secrets: readonly string[], first = 1): MaskedText {
  const hidden = new Map<string, string>();
  /** The names of what is around. */
  const around: string[] = [];
  let name = "";
  const masked = text.replace(TOKEN, (token, at: number) => {
    if (token === "{" || token === "[") around.push(name);
    if (token === "}" || token === "]") name = around.pop() ?? "";
    if (!/^".*"$/.test(token)) return token;
    if (isName(text, at + token.length)) {
      name = token.slice(1, -1);
      return token;
    }
    const isHeader = around.at(-1) === "headers" && SECRET_HEADER.test(name);
    const isSecret = isHeader || SECRET_NAME.test(name) || WITH_CREDENTIALS.test(token) ||
      secrets.some((secret) => token.includes(secret));
    if (!isSecret) return token;
    const number = String(first + hidden.size);
    hidden.set(number, token);
    return `"***${number}***"`;
  });
  return { text: masked, hidden };
}

const COLON = /\s*:/y;

/** Whether what ends there is the name of a property. */
function isName(text: string, end: number): boolean {
  COLON.lastIndex = end;
  return COLON.test(text);
}

/** What was hidden is there again; of several masked texts, whichever it comes from. */
export function unmaskText(text: string, ...masked: readonly Pick<MaskedText, "hidden">[]): string {
  return text.replace(HIDDEN, (found, number: string) => {
    for (const { hidden } of masked) if (hidden.has(number)) return hidden.get(number)!;
    return found;
  });
}
