/** The parts of an app by name, each with what it was made from, as JSON: what outlives a change of the configuration. */
export type Parts = ReadonlyMap<string, { from: string; part: unknown }>;

/** The part of the app before this one, where it was made from the same; else a new one. */
export type Keep = <T>(name: string, from: unknown, make: () => T) => T;

export interface PartKeeper {
  keep: Keep;
  /** What the app before this one had under a name, and this one may not go on with. */
  earlier(name: string): unknown;
  /** Lets go of the app before this one: else every app would hold all those before it. */
  forgetEarlier(): void;
  readonly parts: Parts;
}

export function createPartKeeper(earlier: Parts | undefined): PartKeeper {
  const parts = new Map<string, { from: string; part: unknown }>();
  return {
    keep<T>(name: string, from: unknown, make: () => T): T {
      const known = earlier?.get(name);
      const json = JSON.stringify(from) ?? "";
      const part = known?.from === json ? known.part as T : make();
      parts.set(name, { from: json, part });
      return part;
    },
    earlier: (name) => earlier?.get(name)?.part,
    forgetEarlier() {
      earlier = undefined;
    },
    parts,
  };
}
