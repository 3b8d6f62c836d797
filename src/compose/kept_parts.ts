/**
 * The parts of an app that outlive a change of the configuration, by name. `from`: the settings that a part was made
 * from, as JSON.
 */
export type Parts = ReadonlyMap<string, { from: string; part: unknown }>;

/** Returns the part of the earlier app if it was made from the same settings, or else a new part. */
export type Keep = <T>(name: string, from: unknown, make: () => T) => T;

export interface PartKeeper {
  keep: Keep;
  /** The part of the earlier app under a name, whether or not it was kept. */
  earlier(name: string): unknown;
  /** Lets go of the earlier app. Otherwise every app would hold all those before it. */
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
