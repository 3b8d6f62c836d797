/** The permissions of commands that ask one server. The launcher loads this file, so it imports only files that import nothing. */
import type { Permissions } from "../config/permissions.ts";
import { host } from "../platform/host.ts";
import { commands, option } from "./arguments.ts";

/** The command `check` asks one server, plays another one on this machine, and writes its reports. */
export function forCheck(): Partial<Permissions> {
  const port = option("upstream-port");
  return {
    net: [hostAsked(), ...port === undefined ? [] : [`127.0.0.1:${port}`]],
    env: ["LANEWAY_COMMAND", "LANEWAY_LAUNCHER", option("key-env") ?? []].flat(),
    read: [],
    write: [option("markdown") ?? [], option("junit") ?? []].flat(),
  };
}

/** The host of the URL among the arguments. */
function hostAsked(): string {
  const url = URL.parse(commands().find((one) => /^https?:/.test(one)) ?? "");
  return url ? hostOf(url) : "127.0.0.1";
}

function hostOf({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

/** The command `probe` asks a server that is not configured yet, and may write the configuration, `file`. */
export function forProbe(file: string): Partial<Permissions> {
  const own = [file, `${file}.laneway-new`];
  return {
    net: [hostAsked()],
    env: ["LANEWAY_CONFIG", "LANEWAY_COMMAND", "LANEWAY_LAUNCHER", option("secret-env") ?? []].flat(),
    read: [...own, file.replace(/[^/\\]*$/, "") || "."],
    write: own,
  };
}

/** The command `version` may ask one registry. */
export async function forVersion(
  { env }: Permissions,
  read: (name: string) => string | undefined,
): Promise<Permissions> {
  const { REGISTRY_VARIABLES, registryUrl } = await import("../programs/version/registry.ts");
  const url = host().args.includes("--check") ? registryUrl(option("registry"), read) : undefined;
  return { net: url ? [hostOf(url)] : [], env: [...env, ...REGISTRY_VARIABLES], read: [], write: [] };
}
