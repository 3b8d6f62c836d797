/** The command line: finds the command and runs it. */
import manifest from "../../deno.json" with { type: "json" };
import type { Plugins } from "../compose/plugins.ts";
import { hint } from "../config/hint.ts";
import { ConfigError } from "../config/load.ts";
import { standardStreams } from "../observe/standard.ts";
import { deno } from "../platform/deno.ts";
import type { Platform } from "../platform/platform.ts";
import { type Flags, parseFlags } from "../programs/flags.ts";
import { invocation } from "../programs/invocation.ts";
import { CommandError, type Program, UsageError } from "../programs/program.ts";
import { serve } from "./serve.ts";

const help = (program: string) =>
  `Laneway ${manifest.version}: one gateway for open models

Usage: ${program} [options]
       ${program} keys create|list|revoke ...
       ${program} catalog <lane> [file]
       ${program} usage [--by key|model|day] [--csv]
       ${program} validate [<file>]
       ${program} permissions
       ${program} fetcher
       ${program} health [fetcher]
       ${program} doctor [--json] [--quick]
       ${program} init [options]
       ${program} connect [<client>] [--undo]
       ${program} probe <base URL>
       ${program} check <base URL> --model <name>

  keys                 creates, lists and revokes keys; see keys --help
  catalog              writes the models of a lane to a file, for agents that read
                       theirs from one
  usage                prints what keys used, from the store; see usage --help
  validate             checks a configuration without starting the gateway
  permissions          prints the Deno permissions that this configuration needs
  fetcher              opens pages for gateways, as a service of its own
  health               exits with 0 if the gateway, or the fetcher, is ready
  doctor               checks the configuration, its secrets, this machine, each
                       upstream and each model; see doctor --help
  init                 asks where models come from, and writes the configuration; see
                       init --help
  connect              sets up a client for this gateway and tests it; see
                       connect --help
  probe                finds out what a server supports and how to configure it; see
                       probe --help
  check                tests any gateway or server for what its clients rely on;
                       see check --help

  --config <file>      the configuration (default: what LANEWAY_CONFIG names, or
                       ./gateway.json, or the built-in default)
  --hostname <name>    the address to listen on, instead of the configured one
  --port <number>      the port, instead of the configured one; 0 for a free one
  --workers <number>   how many processes to run, on Linux
  --help               show this text
  --version            show the version
`;

const COMMANDS = [
  "keys",
  "catalog",
  "usage",
  "validate",
  "permissions",
  "fetcher",
  "health",
  "doctor",
  "init",
  "connect",
  "probe",
  "check",
];

/** How long the last output may take to be read before the process ends, in milliseconds. */
const FLUSH_MS = 1_000;

export interface RunOptions {
  /** Lists that replace the built-in ones: `{ drivers: [...builtIn.drivers, mine] }` adds a driver. */
  plugins?: Partial<Plugins>;
  /** The runtime. Deno by default. */
  platform?: Platform;
}

/**
 * Runs the command line of this process, as the program `laneway` does, and ends the process. It serves until a signal stops it, or
 * runs the command that the arguments name. All commands use the given plugins.
 *
 * It returns no promise. While a module waits at its top level, Deno (2.9.6) sends two chunks of a stream one by one instead of
 * together, which costs a gateway a fifth more.
 */
export function run({ plugins = {}, platform = deno }: RunOptions = {}): void {
  void runToEnd({ platform, plugins, streams: standardStreams(platform) });
}

async function runToEnd(program: Program): Promise<never> {
  const code = await main(program);
  await program.streams.flush(FLUSH_MS);
  return program.platform.exit(code);
}

/** Returns the exit code. */
async function main(program: Program): Promise<number> {
  const { platform, streams: { say } } = program;
  try {
    return await perform(parseFlags(platform.args), program);
  } catch (error) {
    if (error instanceof UsageError) {
      say(`${error.message}; --help lists the options`);
      return 2;
    }
    if (error instanceof ConfigError || error instanceof CommandError) {
      say(error.message);
      return 1;
    }
    throw error;
  }
}

function perform(flags: Flags, program: Program): number | Promise<number> {
  const { commands: [command, ...rest], help: wantsHelp, version, config, workers, ...listen } = flags;
  const { platform, streams: { print } } = program;
  if (wantsHelp || version) {
    print(wantsHelp ? help(invocation(platform)).trimEnd() : manifest.version);
    return 0;
  }
  switch (command) {
    case undefined:
      return serve(config, listen, program, workers);
    case "keys":
      return import("./keys.ts").then(({ manageKeys }) => manageKeys(rest, config, program));
    case "catalog":
      return import("./catalog.ts").then(({ writeCatalog }) => writeCatalog(rest, config, program));
    case "usage":
      return import("./usage.ts").then(({ printUsage }) => printUsage(rest, config, program));
    case "validate":
      return import("./validate.ts").then(({ validate }) => validate(rest, config, listen, program));
    case "permissions":
      return import("./permissions.ts").then(({ printPermissions }) => printPermissions(rest, config, listen, program));
    case "fetcher":
      throw new UsageError("This program does not include the fetcher: start it with deno task start fetcher");
    case "health":
      return import("./health.ts").then(({ health }) => health(rest, config, listen, program));
    case "doctor":
      return import("../programs/doctor/mod.ts").then(({ doctor }) => doctor(rest, config, listen, program));
    case "init":
      return import("../programs/init/mod.ts").then(({ init }) => init(rest, config, program));
    case "connect":
      return import("../programs/connect/mod.ts").then(({ connect }) => connect(rest, program));
    case "probe":
      return import("../programs/probe/mod.ts").then(({ probe }) => probe(rest, config, program));
    case "check":
      return import("../programs/check/mod.ts").then(({ runCheck }) => runCheck(rest, program));
    default:
      throw new UsageError(`Unknown command "${command}"${hint(command, COMMANDS)}`);
  }
}
