/** The secrets of a configuration. */
import { isJsonObject } from "../canonical/json.ts";
import type { Config } from "./schema.ts";

/** Stands for a variable whose value is not needed. It is long enough for any secret. */
export const PLACEHOLDER_SECRET = "x".repeat(64);

/** The upstreams whose secret's variable is not set. Requests to them get 503. */
export function upstreamsWithoutSecret(
  config: Config,
  env: (name: string) => string | undefined,
): { upstream: string; variable: string }[] {
  return Object.entries(config.upstreams)
    .flatMap(([upstream, { secret }]) =>
      secret && secret !== "client" && !env(secret.env) ? [{ upstream, variable: secret.env }] : []
    );
}

/** Whether there is an upstream for which callers send a token of their own. */
export function takesTokens(config: { upstreams?: unknown }): boolean {
  const { upstreams } = config;
  return isJsonObject(upstreams) &&
    Object.values(upstreams).some((upstream) => isJsonObject(upstream) && upstream.secret === "client");
}

/** Whether the gateway can have several callers, so that shared resources are divided among them. */
export function hasSeveralCallers({ keys, storedKeys, oidc, ...config }: Config): boolean {
  return keys.length > 1 || storedKeys || oidc !== undefined || takesTokens(config);
}
