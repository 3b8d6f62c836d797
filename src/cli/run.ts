/** The command line: finds the command and runs it. */
import type { Plugins } from "../compose/plugins.ts";
import { ConfigError } from "../config/load.ts";
import { standardStreams } from "../observe/standard.ts";
import { deno } from "../platform/deno.ts";
import type { Platform } from "../platform/platform.ts";
import { plainOptions } from "../programs/flags.ts";
import { CommandError, type Program, UsageError } from "../programs/program.ts";
import { serve } from "./serve.ts";

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
  program.platform.stay?.();
  const code = await main(program);
  await program.streams.flush(FLUSH_MS);
  return program.platform.exit(code);
}

/** Returns the exit code. */
async function main(program: Program): Promise<number> {
  try {
    return await perform(program);
  } catch (error) {
    if (!isForUser(error)) throw error;
    await tell(error, program);
    return error instanceof UsageError ? 2 : 1;
  }
}

async function tell(error: Error, { platform, streams }: Program): Promise<void> {
  if (platform.args.includes("--json")) {
    const { printFailure } = await import("../programs/json_output.ts");
    printFailure(streams, error.message, error instanceof ConfigError ? { problems: error.problems } : {});
    return;
  }
  streams.paintWith?.((await import("../programs/paint.ts")).painter(platform));
  streams.say(error instanceof UsageError ? `${error.message}; --help lists the options` : error.message, true);
}

function isForUser(error: unknown): error is Error {
  return error instanceof UsageError || error instanceof ConfigError || error instanceof CommandError;
}

/** The usual options need neither the table of commands nor a parser. */
async function perform(program: Program): Promise<number> {
  const plain = plainOptions(program.platform.args);
  if (plain) {
    const { config, workers, ...listen } = plain;
    return await serve(config, listen, program, workers);
  }
  const { dispatch } = await import("./dispatch.ts");
  return await dispatch(program, (config, listen, workers) => serve(config, listen, program, workers));
}
