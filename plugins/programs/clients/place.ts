/** The paths of clients' settings, and values for them. */
import type { ClientMachine, Connection } from "../../../src/contract/client.ts";

/** The address below which clients append `/v1` themselves. */
export function laneUrl({ gateway, lane }: Connection): string {
  return `${gateway}/${lane}`;
}

export function baseUrl(connection: Connection): string {
  return `${laneUrl(connection)}/v1`;
}

/** For clients that insist on a key. A gateway without keys accepts any text. */
export const ANY_KEY = "any";

/** The key itself if it was given, or a placeholder if none is needed. `undefined` if a variable holds it. */
export function literalKey({ key }: Connection): string | undefined {
  if (!key) return ANY_KEY;
  return "value" in key ? key.value : undefined;
}

export function keyVariable({ key }: Connection): string | undefined {
  return key && "env" in key ? key.env : undefined;
}

/** The context window for clients if the gateway does not know the model's. */
export const USUAL_CONTEXT = 131_072;
export const USUAL_OUTPUT = 8_192;

/** The path below the user's folder. */
export function inHome({ home, os }: ClientMachine, ...steps: string[]): string {
  return [home, ...steps].join(os === "windows" ? "\\" : "/");
}

/** The path below the folder in a variable, or else below the usual folder in the user's folder. */
export function inFolder(machine: ClientMachine, variable: string, usual: readonly string[], file: string): string {
  const named = machine.env(variable);
  if (!named) return inHome(machine, ...usual, file);
  return `${named.replace(/[\\/]$/, "")}${machine.os === "windows" ? "\\" : "/"}${file}`;
}

/** The path below the settings folder. Clients that follow the XDG specification do so on every system except Windows. */
export function inConfig(machine: ClientMachine, ...steps: string[]): string {
  const named = machine.os === "windows" ? undefined : machine.env("XDG_CONFIG_HOME");
  return named?.startsWith("/") ? [named, ...steps].join("/") : inHome(machine, ".config", ...steps);
}

/** The path below the folder where Windows programs keep what stays on this machine. */
export function inLocalAppData(machine: ClientMachine, ...steps: string[]): string {
  const named = machine.env("LOCALAPPDATA");
  return named ? [named, ...steps].join("\\") : inHome(machine, "AppData", "Local", ...steps);
}

/** The path below the folder where Windows programs keep a user's settings. */
export function inAppData(machine: ClientMachine, ...steps: string[]): string {
  const named = machine.env("APPDATA");
  return named ? [named, ...steps].join("\\") : inHome(machine, "AppData", "Roaming", ...steps);
}
