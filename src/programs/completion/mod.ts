/** The command `completion`: prints a script by which a shell completes commands, options and names. */
import { clients } from "../../../plugins/programs/clients/mod.ts";
import { pluginFacts } from "../../app.ts";
import type { Command, CommandOption, Words } from "../commands/command.ts";
import { commands, COMPLETION, SERVE } from "../commands/mod.ts";
import { HELP } from "../commands/command.ts";
import { hint } from "../../config/hint.ts";
import { readArguments } from "../flags.ts";
import { type Program, UsageError } from "../program.ts";
import { bash } from "./bash.ts";
import type { Completed } from "./completed.ts";
import { fish } from "./fish.ts";
import { zsh } from "./zsh.ts";

const SHELLS = { bash, zsh, fish };

/** Returns the exit code. Throws `UsageError`. */
export function printCompletion(args: readonly string[], { plugins, streams }: Program): number {
  const { positionals: [shell, more] } = readArguments(args, COMPLETION.options);
  const known = Object.keys(SHELLS);
  if (shell === undefined || more !== undefined) throw new UsageError(`Expected one shell: ${known.join(", ")}`);
  if (!Object.hasOwn(SHELLS, shell)) throw new UsageError(`Unknown shell "${shell}"${hint(shell, known)}`);
  const providers = Object.keys(pluginFacts(plugins).providers ?? {});
  streams.print(SHELLS[shell as keyof typeof SHELLS](completed({ providers })));
  return 0;
}

/** Everything that a shell completes. `providers`: names that a configuration may use. */
export function completed({ providers }: { providers: readonly string[] }): Completed[] {
  const namesOf = (words: Words | undefined) =>
    words === "client"
      ? clients.map(({ name }) => name)
      : words === "provider"
      ? [...providers]
      : words === "file" || words === undefined
      ? []
      : [...words];
  return [SERVE, ...commands].map((row: Command): Completed => ({
    name: row.name,
    commands: next(row.name),
    names: namesOf(row.words),
    takesFiles: row.words === "file",
    options: Object.entries<CommandOption>({ ...row.options, ...HELP }).map(([name, { type, help, words }]) => ({
      name: `--${name}`,
      takesValue: type === "string",
      help: line(help),
      names: namesOf(words),
      takesFiles: words === "file",
    })),
  }));
}

/** The commands that may follow the words of another one. */
function next(name: string): Completed["commands"] {
  const before = name === "" ? "" : `${name} `;
  return commands.filter((row) => row.name.startsWith(before) && !row.name.slice(before.length).includes(" "))
    .filter((row) => row.name !== name)
    .map((row: Command) => ({ name: row.name.slice(before.length), help: line(row.summary ?? row.about) }));
}

function line(text: string): string {
  return text.replaceAll("\n", " ");
}
