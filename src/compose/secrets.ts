import type { Config } from "../config/schema.ts";
import { SHORTEST_MASKED } from "../context/secrets.ts";
import { isSecretHeader } from "../upstream/explain.ts";

type Env = (name: string) => string | undefined;

interface Secret {
  /** The variable that holds it, or the header's place in the configuration. */
  name: string;
  value: string;
}

/** All that is secret: what the configuration names, and each word of the headers that an upstream is given. */
export function secretsOf({ upstreams, catalogs, keys, sealing }: Config, env: Env): Secret[] {
  const services = [...Object.values(upstreams), ...Object.values(catalogs), ...keys];
  const named = [...services.map(({ secret }) => secret), sealing.key]
    .flatMap((secret) => secret && secret !== "client" ? [{ name: secret.env, value: env(secret.env) ?? "" }] : []);
  const given = Object.entries(upstreams).flatMap(([upstream, { headers }]) =>
    Object.entries(headers).filter(([header]) => isSecretHeader(header)).flatMap(([header, words]) =>
      words.split(/\s+/).map((value) => ({ name: `upstreams.${upstream}.headers.${header}`, value }))
    )
  );
  return [...named, ...given].filter(({ value }) => value !== "");
}

/** The names of secrets that are not masked in what upstreams send, because they are as short as plain words. */
export function unmaskedSecrets(config: Config, env: Env): string[] {
  // Of a header the last word counts: the others say what kind it is.
  const last = new Map(secretsOf(config, env).map(({ name, value }) => [name, value]));
  return [...last].filter(([, value]) => value.length < SHORTEST_MASKED).map(([name]) => name);
}
