/** The command `permissions` prints the runtime's options, for containers and other starts without the launcher. */
import { pluginFacts } from "../app.ts";
import { DEFAULT_PATH, loadConfig } from "../config/load.ts";
import { isThere } from "../config/is_there.ts";
import { codeFolder, flagsOf, permissionsOf } from "../config/permissions.ts";
import { PERMISSIONS } from "../programs/commands/mod.ts";
import { type Listen, readArguments } from "../programs/flags.ts";
import { printJson } from "../programs/json_output.ts";
import { type Program, UsageError } from "../programs/program.ts";

/** Throws `UsageError`. */
export function printPermissions(
  args: readonly string[],
  path: string | undefined,
  listen: Listen,
  { platform: { env, os, optionsFor, readText }, plugins, streams }: Program,
): number {
  const { values: { json, node }, positionals: [word] } = readArguments(args, PERMISSIONS.options);
  if (word !== undefined) throw new UsageError(`Unexpected argument "${word}"`);
  if (node && !optionsFor) {
    throw new UsageError("Only Node knows its own options: run node src/node.ts permissions --node");
  }
  const { config, file } = loadConfig({ path, listen, ...pluginFacts(plugins), env, secretText: readText });
  // The gateway looks for the file even if there is none.
  const place = {
    config,
    file: file ?? DEFAULT_PATH,
    listen: {},
    env,
    os,
    code: codeFolder(),
    database: node ? "sqlite" as const : "kv" as const,
    isThere,
    readText,
  };
  const permissions = permissionsOf(place);
  const flags = flagsOf(permissions);
  const options = node ? optionsFor!(flags) : flags;
  if (json) printJson(streams, { permissions, options });
  else streams.print(options.map(quoted).join(" "));
  return 0;
}

/** Quotes an option for a shell. */
function quoted(option: string): string {
  return /^[\w@%+=:,./-]+$/.test(option) ? option : `'${option.replaceAll("'", "'\\''")}'`;
}
