/** The secrets of a configuration. */
import { isJsonObject } from "../canonical/json.ts";
import type { Config } from "./schema.ts";

/** In place of a variable whose value is not needed: as long as any secret has to be. */
export const PLACEHOLDER_SECRET = "x".repeat(64);

/** The upstreams whose secret's variable is not set: requests to them are answered 503. */
export function upstreamsWithoutSecret(
  config: Config,
  env: (name: string) => string | undefined,
): { upstream: string; variable: string }[] {
  return Object.entries(config.upstreams)
    .flatMap(([upstream, { secret }]) =>
      secret && secret !== "client" && !env(secret.env) ? [{ upstream, variable: secret.env }] : []
    );
}

/** Whether there is an upstream to which callers bring a token of their own. */
export function takesTokens(config: { upstreams?: unknown }): boolean {
  const { upstreams } = config;
  return isJsonObject(upstreams) &&
    Object.values(upstreams).some((upstream) => isJsonObject(upstream) && upstream.secret === "client");
}

/** Whether the gateway can have several callers, so that what they share is divided. */
export function hasSeveralCallers({ keys, storedKeys, oidc, ...config }: Config): boolean {
  return keys.length > 1 || storedKeys || oidc !== undefined || takesTokens(config);
}
