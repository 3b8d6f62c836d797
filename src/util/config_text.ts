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

/**
 * Merges `changes` into `base` key by key. Objects are merged, everything else is replaced, and `null` removes a key. A secret has
 * one place, so that another place replaces it.
 */
export function mergeJson(base: unknown, changes: unknown): unknown {
  if (!isObject(changes)) return changes;
  const merged = new Map(isObject(base) ? Object.entries(base) : []);
  for (const [key, change] of Object.entries(changes)) {
    const under = merged.get(key);
    if (change === null) merged.delete(key);
    else if (change !== undefined) {
      merged.set(key, mergeJson(key === "secret" && isObject(under) ? secretBeside(change, under) : under, change));
    }
  }
  return Object.fromEntries(merged);
}

/** The settings of a known service. The first driver is the usual one. */
export interface Preset {
  readonly secret?: Readonly<Record<string, string>>;
  readonly drivers: Readonly<Record<string, PresetDriver>>;
}

export interface PresetDriver {
  readonly baseUrl?: string;
  /** Fields that replace those of the preset's secret. */
  readonly secret?: Readonly<Record<string, string>>;
  /** Further settings of the upstream. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/**
 * The configuration with the settings of each upstream's provider. What is written there itself wins, and `null` removes a setting
 * of the provider. `presets` is called only if an upstream names a provider, and an unknown one changes nothing.
 */
export function withPresets(config: unknown, presets: () => Readonly<Record<string, Preset>>): unknown {
  if (!isObject(config) || !isObject(config.upstreams)) return config;
  const entries = Object.entries(config.upstreams);
  if (!entries.some(([, entry]) => isObject(entry) && entry.provider !== undefined)) return config;
  const known = presets();
  return { ...config, upstreams: Object.fromEntries(entries.map(([name, entry]) => [name, completed(entry, known)])) };
}

function completed(entry: unknown, presets: Readonly<Record<string, Preset>>): unknown {
  if (!isObject(entry) || typeof entry.provider !== "string" || !Object.hasOwn(presets, entry.provider)) return entry;
  const { secret: usual, drivers } = presets[entry.provider]!;
  const driver = typeof entry.driver === "string" ? entry.driver : Object.keys(drivers)[0]!;
  const { baseUrl, secret: own, settings }: PresetDriver = Object.hasOwn(drivers, driver) ? drivers[driver]! : {};
  const secret = (usual ?? own) && { ...usual, ...own };
  return mergeJson({ driver, ...baseUrl !== undefined && { baseUrl }, ...secret && { secret }, ...settings }, entry);
}

/** A secret is in one place and is sent in one place: a place that is written replaces the preset's. */
const PLACES = [["env", "file"], ["header", "query"]];

function secretBeside<T>(written: unknown, preset: Readonly<Record<string, T>>): Record<string, T> {
  const isPlaced = (place: string) => isObject(written) && place in written && written[place] !== null;
  const replaced = PLACES.filter((places) => places.some(isPlaced)).flat();
  return Object.fromEntries(Object.entries(preset).filter(([place]) => !replaced.includes(place)));
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
