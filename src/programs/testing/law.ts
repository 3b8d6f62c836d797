/** A law that holds, or whose `check` throws and says where it does not. */
export interface Law {
  name: string;
  check(): void | Promise<void>;
}

/** Throws where it does not hold. */
export function must(holds: boolean, rule: string, shown: unknown): asserts holds {
  if (!holds) throw new Error(`${rule}, but: ${typeof shown === "string" ? shown : JSON.stringify(shown, null, 1)}`);
}

/** Throws where the two are not the same JSON. */
export function mustEqual(actual: unknown, expected: unknown, rule: string): void {
  const [one, other] = [JSON.stringify(sorted(actual)), JSON.stringify(sorted(expected))];
  must(one === other, rule, `${one} is not ${other}`);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).sort(([one], [other]) => one < other ? -1 : 1).map(
      ([key, inner]) => [key, sorted(inner)],
    ),
  );
}
