/** Reads the configuration of a running gateway again. It takes effect as a whole or not at all. */
import type { Config } from "../config/schema.ts";
import { isThere } from "../config/is_there.ts";
import { PLACEHOLDER_SECRET, type SecretLookup } from "../config/secrets.ts";
import { describePermission, descriptorsOf, metricsAddress, permissionsOf } from "../config/permissions.ts";
import type { Platform } from "../platform/platform.ts";

type Asking = Pick<Platform, "env" | "isGranted"> & Partial<Pick<Platform, "readText" | "database">>;

/** The secrets that this process may read, and placeholders for the others, which are reported as missing permissions. */
export function permittedSecrets({ env, isGranted, readText }: Asking): Required<SecretLookup> {
  return {
    env: (name) => isGranted({ name: "env", variable: name }) ? env(name) : PLACEHOLDER_SECRET,
    secretText: (path) => readText && isGranted({ name: "read", path }) ? readText(path) : PLACEHOLDER_SECRET,
  };
}

export interface Reloading {
  /** The new configuration, with variables from `env`. Throws if it cannot be used. */
  load(env: Platform["env"], readText: undefined, secretText: Platform["readText"]): { config: Config };
  platform: Asking & Pick<Platform, "os">;
}

/** The new configuration, or why the gateway goes on with the old one. */
export type Reloaded = { config: Config } | { kept: string };

/** `running`: the configuration that the gateway serves with. */
export function reload(running: Config, { load, platform }: Reloading): Reloaded {
  const { env, os, database, isGranted, readText } = platform;
  let config: Config;
  try {
    const { env, secretText } = permittedSecrets(platform);
    ({ config } = load(env, undefined, secretText));
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
  if (JSON.stringify(config.hostedTools.codeExecution) !== JSON.stringify(running.hostedTools.codeExecution)) {
    return { kept: "Executing code differently needs a restart" };
  }
  const lacking = descriptorsOf(permissionsOf({ config, listen: {}, env, os, database, isThere, readText }))
    .filter((permission) => !isGranted(permission));
  if (lacking.length === 0) return { config };
  const names = lacking.map(describePermission).join(", ");
  return { kept: `New permissions need a restart: ${names}` };
}

/** The settings by which the launcher has started the fetcher. */
function fetcherOf({ hostedTools: { webFetch }, documents }: Config): string | undefined {
  const readsDocuments = documents !== undefined;
  if (!webFetch && !readsDocuments || webFetch?.url !== undefined) return undefined;
  const { allow, obeyRobots } = webFetch ?? {};
  return JSON.stringify({ allow, obeyRobots, readsDocuments });
}

function placeOf({ store: { retentionDays: _, ...place } }: Config) {
  return place;
}
