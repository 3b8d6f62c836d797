/** The options of the command line. */
import { parseArgs } from "node:util";
import { UsageError } from "./program.ts";

export interface Flags extends Listen {
  config?: string;
  help?: boolean;
  version?: boolean;
  /** What is no option: a command, and what is its own. */
  commands: string[];
}

/** The address that the command line sets in place of the configured one. */
export interface Listen {
  hostname?: string;
  port?: number;
}

/** Throws `UsageError`. */
export function parseFlags(args: readonly string[]): Flags {
  // What follows a command is its own to read.
  const at = args.indexOf("keys");
  const own = at < 0 ? args : args.slice(0, at);
  try {
    const { values: { port, ...flags }, positionals } = parseArgs({
      args: [...own],
      options: {
        config: { type: "string" },
        hostname: { type: "string" },
        port: { type: "string" },
        help: { type: "boolean" },
        version: { type: "boolean" },
      },
      allowPositionals: true,
    });
    const commands = [...positionals, ...args.slice(own.length)];
    if (port === undefined) return { ...flags, commands };
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65535) {
      throw new UsageError(`Cannot use port "${port}": expected a number from 0 to 65535`);
    }
    return { ...flags, port: Number(port), commands };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The first sentence says what is wrong; the rest is advice for other commands.
    throw new UsageError(error.message.split(/\.\s/)[0]);
  }
}
