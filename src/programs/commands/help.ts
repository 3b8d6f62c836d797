/** The help of the program and of each command. */
import type { Command, CommandOption } from "./command.ts";
import { HELP } from "./command.ts";
import { commands, SERVE } from "./mod.ts";

/** The width of the names that explanations stand beside. A longer name has a line of its own. */
const NAME_WIDTH = 22;

/** `program`: how the user starts this program. */
export function generalHelp(program: string, version: string): string {
  const listed = commands.filter((row): row is typeof row & { summary: string } => "summary" in row);
  const groups = [...new Set(listed.map(({ group }) => group))];
  return [
    `Laneway ${version}: one gateway for open models`,
    "",
    `Usage: ${program} [options]              starts the gateway`,
    `       ${program} <command> [...]        runs a command`,
    `       ${program} <command> --help       explains it`,
    ...groups.flatMap((group) => [
      "",
      `${group}:`,
      ...listed.filter((row) => row.group === group).flatMap(({ name, summary }) => beside(name, summary, 13)),
    ]),
    "",
    "Options:",
    ...optionLines(SERVE),
    "",
    "Examples:",
    ...SERVE.examples.map((line) => `  ${program} ${line}`),
  ].join("\n");
}

export function helpOf(row: Command, program: string): string {
  const usage = [program, row.name, row.operands ?? [], "[options]"].flat().join(" ");
  const verbs = commands.filter(({ name }) => name.startsWith(`${row.name} `));
  return [
    `Usage: ${usage}`,
    "",
    row.about,
    "",
    ...verbs.length > 0
      ? ["Commands:", ...verbs.flatMap(({ name, about }) => beside(name.slice(row.name.length + 1), about, 13)), ""]
      : [],
    "Options:",
    ...optionLines({ ...row, options: { ...row.options, ...HELP } }),
    "",
    "Examples:",
    ...row.examples.map((line) => `  ${program} ${line}`),
  ].join("\n");
}

function optionLines({ options }: Command): string[] {
  return Object.entries<CommandOption>(options).flatMap(([name, { value, help }]) =>
    beside(`--${name}${value === undefined ? "" : ` ${value}`}`, help, NAME_WIDTH)
  );
}

/** A name, and the lines of its explanation beside it. */
function beside(name: string, text: string, width: number): string[] {
  const [first, ...more] = text.split("\n");
  const head = name.length <= width
    ? [`  ${name.padEnd(width)} ${first}`]
    : [`  ${name}`, `${" ".repeat(width + 3)}${first}`];
  return [...head, ...more.map((line) => `${" ".repeat(width + 3)}${line}`)];
}
