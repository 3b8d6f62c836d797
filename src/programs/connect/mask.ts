/** Secrets are not shown: not the one that is written, and none that stands in a client's file. */

const HIDDEN = "***";
const VALUE = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,"'}\]]+/.source;
/** A name that ends so, and what is set by it. */
const NAMED = new RegExp(
  `([\\w-]*(?:key|token|secret|password|authorization)["']?\\s*[:=]\\s*)(${VALUE})`,
  "gi",
);
/** As fish sets variables. */
const EXPORTED = new RegExp(`(\\bset\\s(?:-\\w+\\s+)*\\w*(?:KEY|TOKEN|SECRET|PASSWORD)\\s+)(${VALUE})`, "g");
/** What stands for a secret that is elsewhere, and what is none. */
const IS_PLAIN = /^(?:any|true|false|null|\d{1,7}|\{env:\w+\}|\$.*|[A-Z][A-Z\d_]*)$/;

/** The text without the key, however a format writes it. */
export function withoutKey(text: string, key: string | undefined): string {
  if (key === undefined) return text;
  const forms = [key, JSON.stringify(key).slice(1, -1), key.replaceAll("'", "'\\''"), key.replaceAll("'", "''")];
  return forms.reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
}

/** The text without any value whose name says that it is a secret. */
export function withoutSecrets(text: string, key: string | undefined): string {
  const hidden = (all: string, before: string, value: string) => {
    const quote = /^["']/.exec(value)?.[0] ?? "";
    const plain = quote === "" ? value : value.slice(1, -1);
    return IS_PLAIN.test(plain) ? all : `${before}${quote}${HIDDEN}${quote}`;
  };
  return withoutKey(text, key).replace(NAMED, hidden).replace(EXPORTED, hidden);
}
