/** What every check works with. */
import type { Plugins } from "../../compose/plugins.ts";
import type { Config } from "../../config/schema.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { upstreamsWithoutSecret } from "../../config/secrets.ts";
import type { Descriptors } from "../../http/descriptors.ts";
import type { Platform } from "../../platform/platform.ts";
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
  /** How long a server has for one answer, in milliseconds. */
  patienceMs: number;
  /** The only lane, or the only model, whose models are asked. */
  only: { lane?: string; model?: string };
}

/** The same once there is a configuration. */
export interface Examined extends Examination, Omit<LoadedConfig, "config"> {
  config: Config;
}

/** Names as a subject: `upstream "router"`. */
export const upstreamNamed = (name: string) => `upstream "${name}"`;

/**
 * The upstreams that nobody has set up: their secret is not set, and they are in the configuration only because the built-in one
 * has them. Who asks for a lane or a model wants what it needs.
 */
export function notSetUp({ config, inherited, only, platform: { env } }: Examined): Set<string> {
  if (only.lane !== undefined || only.model !== undefined) return new Set();
  const missing = upstreamsWithoutSecret(config, env).map(({ upstream }) => upstream);
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
