/** The command `permissions`: for containers and for the compiled program, which have no launcher. */
import { pluginFacts } from "../app.ts";
import { loadConfig } from "../config/load.ts";
import { isThere } from "../config/is_there.ts";
import { codeFolder, flagsOf, permissionsOf } from "../config/permissions.ts";
import type { Listen } from "../programs/flags.ts";
import { type Program, UsageError } from "../programs/program.ts";

/** Throws `UsageError`. */
export function printPermissions(
  [word]: readonly string[],
  path: string | undefined,
  listen: Listen,
  { platform: { env, os }, plugins, streams: { print } }: Program,
): number {
  if (word !== undefined) throw new UsageError(`Unexpected argument "${word}"`);
  const { config, file } = loadConfig({ path, listen, ...pluginFacts(plugins), env });
  const place = { config, file, listen: {}, env, os, code: codeFolder(), isThere };
  print(flagsOf(permissionsOf(place)).map(quoted).join(" "));
  return 0;
}

/** As a shell reads it. */
function quoted(option: string): string {
  return /^[\w@%+=:,./-]+$/.test(option) ? option : `'${option.replaceAll("'", "'\\''")}'`;
}
