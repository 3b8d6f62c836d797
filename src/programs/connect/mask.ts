/** Hides secrets: the key that is written, and any secret in a client's file. */

const HIDDEN = "***";
const VALUE = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,"'}\]]+/.source;
/** A name with one of these endings, and its value. */
const NAMED = new RegExp(
  `([\\w-]*(?:key|token|secret|password|authorization)["']?\\s*[:=]\\s*)(${VALUE})`,
  "gi",
);
/** fish's syntax for variables. */
const EXPORTED = new RegExp(`(\\bset\\s(?:-\\w+\\s+)*\\w*(?:KEY|TOKEN|SECRET|PASSWORD)\\s+)(${VALUE})`, "g");
/** References to secrets, and values that are not secrets. */
const IS_PLAIN = /^(?:any|true|false|null|\d{1,7}|\{env:\w+\}|\$.*|[A-Z][A-Z\d_]*)$/;

/** The text without the key, in the spelling of any format. */
export function withoutKey(text: string, key: string | undefined): string {
  if (key === undefined) return text;
  const forms = [key, JSON.stringify(key).slice(1, -1), key.replaceAll("'", "'\\''"), key.replaceAll("'", "''")];
  return forms.reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
}

/** The text without values whose names mean secrets. */
export function withoutSecrets(text: string, key: string | undefined): string {
  const hidden = (all: string, before: string, value: string) => {
    const quote = /^["']/.exec(value)?.[0] ?? "";
    const plain = quote === "" ? value : value.slice(1, -1);
    return IS_PLAIN.test(plain) ? all : `${before}${quote}${HIDDEN}${quote}`;
  };
  return withoutKey(text, key).replace(NAMED, hidden).replace(EXPORTED, hidden);
}
