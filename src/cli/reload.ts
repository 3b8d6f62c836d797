/** The configuration of a running gateway, read again: all of it, or nothing. */
import type { Config } from "../config/schema.ts";
import { isThere } from "../config/is_there.ts";
import { PLACEHOLDER_SECRET } from "../config/secrets.ts";
import { describePermission, descriptorsOf, metricsAddress, permissionsOf } from "../config/permissions.ts";
import type { Platform } from "../platform/platform.ts";

export interface Reloading {
  /** The configuration to run with now, by variables that `env` gives. Throws where it cannot be used. */
  load(env: Platform["env"]): { config: Config };
  platform: Pick<Platform, "env" | "os" | "isGranted">;
}

/** The new configuration, or why the gateway goes on with what it has. */
export type Reloaded = { config: Config } | { kept: string };

/** `running`: the configuration that the gateway serves with. */
export function reload(running: Config, { load, platform: { env, os, isGranted } }: Reloading): Reloaded {
  let config: Config;
  try {
    // A variable that may not be read is reported below, with every other missing permission.
    ({ config } = load((name) => isGranted({ name: "env", variable: name }) ? env(name) : PLACEHOLDER_SECRET));
  } catch (error) {
    return { kept: (error as Error).message };
  }
  const { hostname, port } = config.listen;
  if (hostname !== running.listen.hostname || port !== running.listen.port) {
    return { kept: `Listening on ${hostname} port ${port} needs a restart` };
  }
  if (JSON.stringify(placeOf(config)) !== JSON.stringify(placeOf(running))) {
    return { kept: "Another store needs a restart" };
  }
  if (
    JSON.stringify(metricsAddress(config.observe.metrics)) !== JSON.stringify(metricsAddress(running.observe.metrics))
  ) {
    return { kept: "Serving metrics at another address needs a restart" };
  }
  if (fetcherOf(config) !== fetcherOf(running)) return { kept: "Starting the fetcher differently needs a restart" };
  const lacking = descriptorsOf(permissionsOf({ config, listen: {}, env, os, isThere }))
    .filter((permission) => !isGranted(permission));
  if (lacking.length === 0) return { config };
  const names = lacking.map(describePermission).join(", ");
  return { kept: `New permissions need a restart: ${names}` };
}

/** What the launcher has started the fetcher by. */
function fetcherOf({ hostedTools: { webFetch } }: Config): string | undefined {
  if (!webFetch || webFetch.url !== undefined) return undefined;
  const { allow, obeyRobots } = webFetch;
  return JSON.stringify({ allow, obeyRobots });
}

function placeOf({ store: { retentionDays: _, ...place } }: Config) {
  return place;
}
