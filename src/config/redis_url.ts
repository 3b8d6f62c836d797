/** The address of a Redis or Valkey server. The launcher loads this file, too, so it imports nothing. */

export interface RedisAddress {
  hasTls: boolean;
  /** Several if they are sentinels, or nodes of a cluster. */
  hosts: { host: string; port: number }[];
  username?: string;
  password?: string;
  database?: number;
}

const FORM = /^(?:redis|valkey)(s?):\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/(\d*))?$/i;
const HOST = /^([\w.-]+|\[[\d:a-f.]+\])(?::(\d{1,5}))?$/i;
const PORT = 6379;
/** A host, all names below one (`*.`), or a network, with a port. */
export const SERVER_FORM = /^((\*\.)?[\w.-]+|\[[\d:a-f.]+\]|[\d.]+\/\d{1,2}):\d{1,5}$/i;

/** The address in a URL such as `rediss://user:password@host:6379/0`. Absent if it is not valid. */
export function parseRedisUrl(text: string): RedisAddress | undefined {
  const [, tls, credentials = "", hosts = "", database = ""] = FORM.exec(text) ?? [];
  const found = hosts.split(",").map((host) => HOST.exec(host));
  if (tls === undefined || found.includes(null)) return undefined;
  const colon = credentials.indexOf(":");
  const [username, password] = colon < 0
    ? [undefined, credentials]
    : [credentials.slice(0, colon), credentials.slice(colon + 1)];
  try {
    return {
      hasTls: tls !== "",
      hosts: found.map((match) => ({ host: match![1]!, port: Number(match![2] ?? PORT) })),
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(database !== "" && { database: Number(database) }),
    };
  } catch {
    return undefined; // a percent sign that begins no character
  }
}
