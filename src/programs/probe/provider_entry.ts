/** Shortens the entry of a server that is a known provider. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../canonical/json.ts";
import type { Provider, Providers } from "../../contract/provider.ts";
import { isLoopback } from "../../util/urls_and_headers.ts";
import { withPresets } from "../../util/config_text.ts";

export interface Entry {
  /** The entry of `upstreams`. */
  entry: JsonObject;
  /** The reason for each of its settings. */
  reasons: Readonly<Record<string, string>>;
}

/**
 * The entry with its provider instead of the settings that the provider has. The entry itself if its base URL is no
 * provider's. `title`: how the server identifies itself, for an address that any server of this machine may have.
 */
export function byProvider({ entry, reasons }: Entry, title: string | undefined, providers: Providers): Entry {
  const { driver, baseUrl, ...settings } = entry;
  const name = Object.keys(providers).find((one) => isAt(providers[one]!, String(driver), String(baseUrl), title));
  if (name === undefined) return { entry, reasons };
  const { title: known, drivers } = providers[name]!;
  const start = { provider: name, ...Object.keys(drivers)[0] !== driver && { driver: driver! } };
  const given = settingsOf(start, providers);
  const differing = Object.entries(settings).filter(([key, value]) => !isSame(value, given[key]));
  const short = { ...start, ...Object.fromEntries(differing) };
  const because = { ...reasons, provider: `it is ${known}; docs/providers.md says what this sets` };
  return {
    entry: short,
    reasons: Object.fromEntries(Object.entries(because).filter(([key]) => key in short)),
  };
}

function isAt({ title, drivers }: Provider, driver: string, baseUrl: string, found: string | undefined): boolean {
  const known = Object.hasOwn(drivers, driver) ? drivers[driver]!.baseUrl : undefined;
  if (known !== baseUrl) return false;
  return !isLoopback(new URL(known).hostname) || (found !== undefined && title.startsWith(found.split(" ")[0]!));
}

/** All settings of an upstream that has these. */
function settingsOf(upstream: JsonObject, providers: Providers): JsonObject {
  const config = withPresets({ upstreams: { upstream } }, () => providers) as { upstreams: { upstream: JsonObject } };
  return config.upstreams.upstream;
}

function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (!isJsonObject(one) || !isJsonObject(other)) return JSON.stringify(one) === JSON.stringify(other);
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return keys.every((key) => isSame(one[key], other[key]));
}
