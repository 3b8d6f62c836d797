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
