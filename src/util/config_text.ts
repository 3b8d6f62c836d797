const STRING = /"(?:[^"\\\n]|\\.)*"?/;
const COMMENTS = new RegExp(`${STRING.source}|//[^\\r\\n]*|/\\*[^]*?\\*/`, "g");
const TRAILING_COMMAS = new RegExp(`${STRING.source}|(?<=[\\w"\\]}]\\s*),(?=\\s*[}\\]])`, "g");

/**
 * JSON from a text that may have comments and trailing commas. Both become blanks, so that every other character keeps its
 * offset and a mistake is found where it was written.
 */
export function withoutComments(text: string): string {
  return [COMMENTS, TRAILING_COMMAS].reduce((json, unwanted) => json.replace(unwanted, blankUnlessString), text);
}

function blankUnlessString(token: string): string {
  return token.startsWith('"') ? token : token.replace(/[^\r\n]/g, " ");
}

/** Merges `changes` into `base` key by key. Objects are merged, everything else is replaced, and `null` removes a key. */
export function mergeJson(base: unknown, changes: unknown): unknown {
  if (!isObject(changes)) return changes;
  const merged = new Map(isObject(base) ? Object.entries(base) : []);
  for (const [key, change] of Object.entries(changes)) {
    if (change === null) merged.delete(key);
    else if (change !== undefined) merged.set(key, mergeJson(merged.get(key), change));
  }
  return Object.fromEntries(merged);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
