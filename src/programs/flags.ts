/** The options of the command line. */
import type { ParseArgsOptionsConfig } from "node:util";
import { hint } from "../config/hint.ts";
import { builtin } from "../util/builtin.ts";
import { HEADER_NAME } from "../util/urls_and_headers.ts";
import { UsageError } from "./program.ts";

/** The address on the command line, which overrides the configured one. */
export interface Listen {
  hostname?: string;
  port?: number;
}

/** The options of a command, and its other arguments. Throws `UsageError`. */
export function readArguments<const O extends ParseArgsOptionsConfig>(args: readonly string[], options: O) {
  try {
    return builtin("node:util").parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The first sentence says what is wrong. The rest is advice that does not fit this command.
    const [reason] = error.message.split(/\.\s/);
    const [, name] = /^Unknown option '--([\w-]+)/.exec(reason!) ?? [];
    const near = name === undefined ? "" : hint(name, Object.keys(options));
    throw new UsageError(near.startsWith("; did") ? `${reason}${near.replace(/"(.*)"/, "--$1")}` : reason);
  }
}

interface PlainOptions extends Listen {
  config?: string;
  /** How many processes serve. */
  workers?: number;
}

/** Parses the usual options, each followed by its value, without loading the parser. Absent if there is anything else. */
export function plainOptions(args: readonly string[]): PlainOptions | undefined {
  const found: PlainOptions = {};
  for (let at = 0; at < args.length; at += 2) {
    const [option, value] = [args[at]!, args[at + 1]];
    if (value === undefined || value.startsWith("-")) return undefined;
    if (option === "--port") found.port = toPort(value);
    else if (option === "--config") found.config = value;
    else if (option === "--hostname") found.hostname = value;
    else if (option === "--workers") found.workers = toWorkers(value);
    else return undefined;
  }
  return found;
}

/** Throws `UsageError`. */
export function toPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65535) return Number(text);
  throw new UsageError(`Cannot use port "${text}": expected a number from 0 to 65535`);
}

const MOST_WORKERS = 256;

/** Throws `UsageError`. */
export function toWorkers(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= MOST_WORKERS) return Number(text);
  throw new UsageError(`Cannot use workers "${text}": expected a number from 1 to ${MOST_WORKERS}`);
}

/** The name of a header in lower case. Throws `UsageError`. */
export function toHeaderName(text: string | undefined): string | undefined {
  if (text === undefined || HEADER_NAME.test(text)) return text?.toLowerCase();
  throw new UsageError(`"${text}" cannot be the name of a header`);
}
