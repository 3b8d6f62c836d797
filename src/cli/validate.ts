/** The command `validate` checks a configuration without starting a gateway. */
import { pluginFacts } from "../app.ts";
import { loadConfig } from "../config/load.ts";
import { PLACEHOLDER_SECRET, upstreamsWithoutSecret } from "../config/secrets.ts";
import type { Listen } from "../programs/flags.ts";
import { type Program, UsageError } from "../programs/program.ts";

/** The variables of secrets may be set where the gateway will run, so a missing one is no mistake. Throws `ConfigError`. */
export function validate(
  [file, more]: readonly string[],
  path: string | undefined,
  listen: Listen,
  { platform, plugins, streams: { print } }: Program,
): number {
  if (more !== undefined) throw new UsageError(`Unexpected argument "${more}"`);
  const unset = new Set<string>();
  const withPlaceholders = (name: string) => {
    const value = platform.env(name);
    if (value || name === "LANEWAY_CONFIG") return value;
    unset.add(name);
    return PLACEHOLDER_SECRET;
  };
  const { config, source } = loadConfig({ path: file ?? path, listen, ...pluginFacts(plugins), env: withPlaceholders });
  for (const { variable, file: lacking } of upstreamsWithoutSecret(config, platform)) {
    unset.add(lacking === undefined ? variable! : `a secret in ${lacking}`);
  }
  const counts = [
    counted(Object.keys(config.lanes).length, "lane"),
    counted(Object.keys(config.upstreams).length, "upstream"),
    counted(config.keys.length, "key"),
  ];
  print(`The configuration in ${source} is valid: ${counts.join(", ")}`);
  if (unset.size > 0) print(`Not set here: ${[...unset].sort().join(", ")}`);
  return 0;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
