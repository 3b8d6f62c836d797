/** The secrets of a configuration. */
import { asObject, isJsonObject } from "../canonical/json.ts";
import { isVariableName } from "./fields.ts";
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

/** Reads what references name while a configuration is checked. */
export interface SecretLookup extends Pick<SecretSource, "env"> {
  /** The text of a file that holds a secret. Throws if it cannot be read. Without it, such secrets are not checked. */
  secretText?(path: string): string;
}

/** A secret that a configuration names, and the words for its place. */
export interface NamedSecret {
  /** The rest of the setting's path. */
  at: ".env" | ".file";
  /** `Environment variable "NAME"`. */
  subject: string;
  /** The problem if there is no secret. */
  missing: string;
  value?: string;
}

/** The secret of an unchecked reference. `undefined` for what the schema refuses, and where files are not read. */
export function namedSecret(reference: unknown, { env, secretText }: SecretLookup): NamedSecret | undefined {
  const { env: variable, file } = asObject(reference);
  if (typeof variable === "string" && isVariableName(variable)) {
    const subject = `Environment variable "${variable}"`;
    return {
      at: ".env",
      subject,
      missing: `${subject} is not set: export ${variable}=...`,
      value: env(variable) || undefined,
    };
  }
  if (typeof file !== "string" || file === "" || !secretText) return undefined;
  const subject = `File "${file}"`;
  const missing = `${subject} holds no secret: write it there, and let the gateway's user read it`;
  return { at: ".file", subject, missing, value: secretAt({ file }, { env, readText: secretText }) };
}

/** The problem of a secret that is not there. */
export function* missingProblems(path: string, reference: unknown, lookup: SecretLookup) {
  const { at, missing, value } = namedSecret(reference, lookup) ?? {};
  if (at !== undefined && value === undefined) yield { path: `${path}${at}`, message: missing! };
}

/** Has a placeholder for each secret that is not there. `onMissing` gets its name. */
export function withPlaceholders(
  { env, readText }: SecretSource,
  onMissing: (name: string) => void = () => {},
): Required<SecretLookup> {
  const placeholder = (name: string) => {
    onMissing(name);
    return PLACEHOLDER_SECRET;
  };
  return {
    env: (name) => env(name) || (name === "LANEWAY_CONFIG" ? undefined : placeholder(name)),
    secretText: (file) => secretAt({ file }, { env, readText }) ?? placeholder(`a secret in ${file}`),
  };
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

/** The secrets in files that take effect when they change, as one text. Empty if there are none. */
export function secretsInFiles(config: Config, source: SecretSource): string {
  const { upstreams, catalogs, oidc, hostedTools: { webSearch, webFetch, mcp } } = config;
  const services = [...Object.values(upstreams), ...Object.values(catalogs), webSearch, webFetch];
  const secrets = [...services, ...Object.values(mcp.servers)].map((service) => service?.secret);
  const inFiles = [...secrets, oidc?.console?.secret, ...neededSecrets(config)]
    .flatMap((secret) => secret && secret !== "client" && secret.file ? [secret] : []);
  return inFiles.map((secret) => secretAt(secret, source) ?? "").join("\n");
}

/** The secrets without which a gateway does not start. */
function neededSecrets({ keys, sealing }: Config): SecretReference[] {
  return [...keys.map(({ secret }) => secret), ...sealing.key ? [sealing.key] : []];
}

/** The first file that lacks a secret without which a gateway does not start. */
export function fileWithoutSecret(config: Config, source: SecretSource): string | undefined {
  return neededSecrets(config).find((secret) => secret.file !== undefined && !secretAt(secret, source))?.file;
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
