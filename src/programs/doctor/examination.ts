/** The input of every check. */
import type { Plugins } from "../../compose/plugins.ts";
import type { Config } from "../../config/schema.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { upstreamsWithoutSecret } from "../../config/secrets.ts";
import type { Descriptors } from "../../http/descriptors.ts";
import type { Platform } from "../../platform/platform.ts";
import type { Store } from "../../state/store.ts";
import type { Listen } from "../flags.ts";

export interface Examination {
  platform: Platform;
  plugins: Partial<Plugins>;
  /** The configuration that the command line names. */
  path: string | undefined;
  listen: Listen;
  descriptors: Descriptors;
  /** Milliseconds since the epoch. */
  now(): number;
  /** How long a server may take for one answer, in milliseconds. */
  patienceMs: number;
  /** The only lane or model to check. */
  only: { lane?: string; model?: string };
  /** The address on which this process itself serves. Absent for a command. */
  serving?: { hostname: string; port: number };
  /** The store that this process has open. Absent for a command. */
  store?: Store;
  /** Aborted when nobody waits for the findings any more. */
  signal?: AbortSignal;
}

/** The input of checks that need a configuration. */
export interface Examined extends Examination, Omit<LoadedConfig, "config"> {
  config: Config;
}

/** The subject of a finding: `upstream "router"`. */
export const upstreamNamed = (name: string) => `upstream "${name}"`;

/**
 * The upstreams that are not set up: their secret is not set, and they are only in the built-in configuration. Empty if a lane or a
 * model was named, because then all that it needs is checked.
 */
export function notSetUp({ config, inherited, only, platform }: Examined): Set<string> {
  if (only.lane !== undefined || only.model !== undefined) return new Set();
  const missing = upstreamsWithoutSecret(config, platform).map(({ upstream }) => upstream);
  return new Set(missing.filter((name) => inherited.includes(name)));
}

/** The upstreams to which a lane sends requests. */
export function usedUpstreams({ lanes }: Config): Set<string> {
  return new Set(
    Object.values(lanes).flatMap(({ models, upstreams }) => [
      ...Object.values(models).flatMap(({ targets }) => targets.map(({ upstream }) => upstream)),
      ...Object.values(upstreams),
    ]),
  );
}
