/** The secrets of a configuration. */
import { isJsonObject } from "../canonical/json.ts";
import type { Config } from "./schema.ts";

/** Stands for a variable whose value is not needed. It is long enough for any secret. */
export const PLACEHOLDER_SECRET = "x".repeat(64);

/** The variable or the file that holds a service's secret. It names one of the two. */
export interface SecretReference {
  env?: string;
  file?: string;
}

/** Reads what references name. */
export interface SecretSource {
  env(name: string): string | undefined;
  /** The text of a file. Throws if it cannot be read. */
  readText(path: string): string;
}

/** The secret of a reference. `undefined` if its variable is not set, or its file holds no secret. */
export function secretAt({ env: name, file }: SecretReference, { env, readText }: SecretSource): string | undefined {
  if (file === undefined) return env(name ?? "") || undefined;
  try {
    const text = readText(file).trim();
    return /^[\x21-\x7e]+$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

/** An upstream without its secret: the variable that is not set, or the file that holds none. */
export interface Lacking {
  upstream: string;
  variable?: string;
  file?: string;
}

/** The upstreams whose secret is missing. Requests to them get 503. */
export function upstreamsWithoutSecret(config: Config, source: SecretSource): Lacking[] {
  return Object.entries(config.upstreams).flatMap(([upstream, { secret }]) => {
    if (!secret || secret === "client" || secretAt(secret, source)) return [];
    return [secret.file === undefined ? { upstream, variable: secret.env } : { upstream, file: secret.file }];
  });
}

/** The secrets that are in files, as one text. Empty if there are none. */
export function secretsInFiles(
  { upstreams, catalogs }: Pick<Config, "upstreams" | "catalogs">,
  source: SecretSource,
): string {
  const services = [...Object.values(upstreams), ...Object.values(catalogs)];
  const inFiles = services.flatMap(({ secret }) => secret && secret !== "client" && secret.file ? [secret] : []);
  return inFiles.map((secret) => secretAt(secret, source) ?? "").join("\n");
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
