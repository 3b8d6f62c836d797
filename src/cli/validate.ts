/** The command `validate` checks a configuration without starting a gateway. */
import { pluginFacts } from "../app.ts";
import { loadConfig } from "../config/load.ts";
import { upstreamsWithoutSecret, withPlaceholders } from "../config/secrets.ts";
import { VALIDATE } from "../programs/commands/mod.ts";
import { type Listen, readArguments } from "../programs/flags.ts";
import { printJson } from "../programs/json_output.ts";
import { type Program, UsageError } from "../programs/program.ts";

/** The variables of secrets may be set where the gateway will run, so a missing one is no mistake. Throws `ConfigError`. */
export function validate(
  args: readonly string[],
  path: string | undefined,
  listen: Listen,
  { platform, plugins, streams }: Program,
): number {
  const { values: { json }, positionals: [file, more] } = readArguments(args, VALIDATE.options);
  if (more !== undefined) throw new UsageError(`Unexpected argument "${more}"`);
  const unset = new Set<string>();
  const lookup = withPlaceholders(platform, (name) => unset.add(name));
  const { config, source } = loadConfig({ path: file ?? path, listen, ...pluginFacts(plugins), ...lookup });
  for (const { variable, file: lacking } of upstreamsWithoutSecret(config, platform)) {
    unset.add(lacking === undefined ? variable! : `a secret in ${lacking}`);
  }
  const [lanes, upstreams] = [Object.keys(config.lanes), Object.keys(config.upstreams)];
  const keys = config.keys.map(({ name }) => name);
  const missing = [...unset].sort();
  if (json) {
    printJson(streams, { source, lanes, upstreams, keys, unset: missing });
    return 0;
  }
  const counts = [counted(lanes.length, "lane"), counted(upstreams.length, "upstream"), counted(keys.length, "key")];
  streams.print(`The configuration in ${source} is valid: ${counts.join(", ")}`);
  if (missing.length > 0) streams.print(`Not set here: ${missing.join(", ")}`);
  return 0;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
