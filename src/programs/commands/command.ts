/** How a command is described. Its help, its parser and the completion of shells follow from it. It imports nothing. */

/** The names that a shell may complete, by the word for them. */
export type Words = "client" | "provider" | "file" | readonly string[];

export interface CommandOption {
  type: "string" | "boolean";
  multiple?: boolean;
  /** The name of its value in the help: `<name>`. */
  value?: string;
  /** Lines of at most 56 characters. */
  help: string;
  words?: Words;
}

export interface Command {
  /** `keys create`: the words that name it. */
  name: string;
  group: string;
  /** A line of the general help. Absent for the command of a group of commands, such as `keys create`. */
  summary?: string;
  /** The arguments in its usage: `<lane> [<file>]`. */
  operands?: string;
  /** The first paragraph of its help. */
  about: string;
  options: Readonly<Record<string, CommandOption>>;
  /** Two command lines, without the program. */
  examples: readonly string[];
  /** The names that its arguments may be. */
  words?: Words;
}

/** The gateway's address if nobody chose another. */
export const DEFAULT_GATEWAY = "http://127.0.0.1:8000";

/** The option that names the configuration. */
export const CONFIG = {
  config: { type: "string", value: "<file>", help: "the configuration", words: "file" },
} as const;

export const JSON_OUTPUT = { json: { type: "boolean", help: "print the result as JSON" } } as const;

/** The option that asks for Node's options in place of Deno's. */
export const FOR_NODE = {
  node: { type: "boolean", help: "print the options of Node, which has to run this" },
} as const;

export const HELP = { help: { type: "boolean", help: "show this text" } } as const;

/** The options that replace the configured address. */
export const LISTEN = {
  hostname: { type: "string", value: "<name>", help: "the address, instead of the configured one" },
  port: { type: "string", value: "<number>", help: "the port, instead of the configured one" },
} as const;

/** Keeps the types of the options for the parser. */
export function command<const C extends Command>(row: C): C {
  return row;
}
