/** Finds the command that a command line names, and runs it. A start of the gateway without a command does not load this file. */
import manifest from "../../deno.json" with { type: "json" };
import { hint } from "../config/hint.ts";
import { type CommandName, commands, FETCHER, SERVE } from "../programs/commands/mod.ts";
import { type Command, type CommandOption, JSON_OUTPUT } from "../programs/commands/command.ts";
import { generalHelp, helpOf } from "../programs/commands/help.ts";
import { type Listen, readArguments, toPort, toWorkers } from "../programs/flags.ts";
import { invocation } from "../programs/invocation.ts";
import { painter } from "../programs/paint.ts";
import { printJson } from "../programs/json_output.ts";
import { type Program, UsageError } from "../programs/program.ts";

/** A command line without the options of the gateway, which every command shares. */
export interface Line {
  /** The arguments of the command, without its name. */
  args: string[];
  config?: string;
  listen: Listen;
  program: Program;
}

type Run = (line: Line) => number | Promise<number>;

/** The code of each command, which is loaded when it is needed. */
const RUN: Record<Exclude<CommandName, `keys ${string}`>, Run> = {
  init: async ({ args, config, program }) => (await import("../programs/init/mod.ts")).init(args, config, program),
  connect: async ({ args, program }) => (await import("../programs/connect/mod.ts")).connect(args, program),
  probe: async ({ args, config, program }) => (await import("../programs/probe/mod.ts")).probe(args, config, program),
  keys: async ({ args, config, program }) => (await import("./keys.ts")).manageKeys(args, config, program),
  usage: async ({ args, config, program }) => (await import("./usage.ts")).printUsage(args, config, program),
  validate: async ({ args, config, listen, program }) =>
    (await import("./validate.ts")).validate(args, config, listen, program),
  doctor: async ({ args, config, listen, program }) =>
    (await import("../programs/doctor/mod.ts")).doctor(args, config, listen, program),
  check: async ({ args, program }) => (await import("../programs/check/mod.ts")).runCheck(args, program),
  health: async ({ args, config, listen, program }) =>
    (await import("./health.ts")).health(args, config, listen, program),
  catalog: async ({ args, config, program }) => (await import("./catalog.ts")).writeCatalog(args, config, program),
  permissions: async ({ args, config, listen, program }) =>
    (await import("./permissions.ts")).printPermissions(args, config, listen, program),
  fetcher({ args, program }) {
    readArguments(args, FETCHER.options);
    throw new UsageError(
      `This program does not include the fetcher: start it with ${program.platform.command} fetcher`,
    );
  },
  completion: async ({ args, program }) =>
    (await import("../programs/completion/mod.ts")).printCompletion(args, program),
  verify: async ({ args, program }) => (await import("../programs/verify/mod.ts")).verify(args, program),
  version: async ({ args, program }) => (await import("../programs/version/mod.ts")).version(args, program),
};

/** The gateway's start, by the options that are left when there is no command. */
type Serve = (config: string | undefined, listen: Listen, workers?: number) => Promise<number>;

/** Returns the exit code. Throws `UsageError`. */
export function dispatch(program: Program, serve: Serve): number | Promise<number> {
  const { before, words, rest } = split(program.platform.args.map((arg) => arg === "-h" ? "--help" : arg));
  const command = words[0];
  const shared = readArguments(before, { ...SERVE.options, ...JSON_OUTPUT }).values;
  const { version, help, json, config, hostname, port, workers } = shared;
  const listen = listenOf({ hostname, port });
  if (version) return printVersion(json ?? false, program);
  if (command === undefined) {
    if (help) return print(program, generalHelp(invocation(program.platform), manifest.version));
    if (json) throw new UsageError("The gateway itself has no option --json");
    return serve(config, listen, workers === undefined ? undefined : toWorkers(workers));
  }
  const row = rowOf(words);
  if (!row) throw new UsageError(`Unknown command "${command}"${hint(command, namesAt(0))}`);
  const own = takeShared(rest, row);
  const wantsHelp = help || rest.includes("--help");
  if (wantsHelp) return print(program, helpOf(row, invocation(program.platform)));
  program.streams.paintWith?.(painter(program.platform));
  return RUN[command as keyof typeof RUN]({
    args: [...words.slice(1), ...own.args],
    config: own.config ?? config,
    listen: { ...listen, ...listenOf(own) },
    program,
  });
}

/** The options before a command, the words that name the command, and what follows. `help keys` means `keys --help`. */
function split(args: readonly string[]): { before: string[]; words: string[]; rest: string[] } {
  let at = 0;
  while (at < args.length && args[at]!.startsWith("-")) at += takesValue(args[at]!, SERVE) ? 2 : 1;
  const [before, [command, next, ...more]] = [args.slice(0, at), args.slice(at)];
  if (command === undefined) return { before, words: [], rest: [] };
  if (command === "help") {
    const asked = split(args.slice(at + 1));
    return { ...asked, before: [...before, ...asked.before, "--help"] };
  }
  const isVerb = next !== undefined && namesAt(1).includes(`${command} ${next}`);
  if (isVerb) return { before, words: [command, next], rest: more };
  return { before, words: [command], rest: args.slice(at + 1) };
}

/** The names of commands, and of their own commands: `keys create`. */
function namesAt(spaces: 0 | 1): string[] {
  return commands.map(({ name }) => name as string).filter((name) => name.split(" ").length === spaces + 1);
}

function rowOf(words: readonly string[]): Command | undefined {
  return commands.find(({ name }) => name === words.join(" "));
}

function takesValue(arg: string, { options }: Command): boolean {
  return !arg.includes("=") && (options as Record<string, CommandOption>)[arg.slice(2)]?.type === "string";
}

const SHARED = ["config", "hostname", "port"] as const;

/** Takes the gateway's options from the arguments of a command that has them. */
function takeShared(rest: readonly string[], row: Command) {
  const found: Partial<Record<typeof SHARED[number], string>> = {};
  const args: string[] = [];
  for (let at = 0; at < rest.length; at++) {
    const arg = rest[at]!;
    const name = SHARED.find((name) => name in row.options && (arg === `--${name}` || arg.startsWith(`--${name}=`)));
    if (name === undefined) {
      args.push(arg);
      // The value of another option may look like one of these.
      if (takesValue(arg, row) && at + 1 < rest.length) args.push(rest[++at]!);
    } else {
      found[name] = valueAt(rest, at, name);
      if (!arg.includes("=")) at++;
    }
  }
  return { ...found, args };
}

function valueAt(args: readonly string[], at: number, name: string): string {
  const { values } = readArguments(args.slice(at, args[at]!.includes("=") ? at + 1 : at + 2), {
    [name]: { type: "string" },
  });
  return values[name] as string;
}

function listenOf({ hostname, port }: { hostname?: string; port?: string }): Listen {
  return { ...(hostname !== undefined && { hostname }), ...(port !== undefined && { port: toPort(port) }) };
}

function print({ platform, streams }: Program, text: string): number {
  streams.paintWith?.(painter(platform));
  streams.print(text);
  return 0;
}

function printVersion(wantsJson: boolean, program: Program): number {
  const { version } = manifest;
  if (!wantsJson) return print(program, version);
  printJson(program.streams, { version });
  return 0;
}
