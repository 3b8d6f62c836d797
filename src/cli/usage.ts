/** The command `usage`: what keys used, as the store has it. */
import { pluginFacts } from "../app.ts";
import { createStore, describePlace, placeOfStore } from "../compose/store.ts";
import { loadConfig } from "../config/load.ts";
import { PLACEHOLDER_SECRET } from "../config/secrets.ts";
import { visible } from "../util/printable.ts";
import { createUsageBook, together, type UsageRow } from "../state/usage_book.ts";
import { formatDollars } from "../util/dollars.ts";
import { readArguments } from "../programs/flags.ts";
import { invocation } from "../programs/invocation.ts";
import { type Program, UsageError } from "../programs/program.ts";

const COLUMNS = ["day", "key", "model"] as const;
type Column = typeof COLUMNS[number];
const PATIENCE_MS = 10_000;

const help = (program: string) =>
  `Usage: ${program} usage [options]

Prints requests, tokens and dollars by day, key and model, from the store of the gateway.
It needs "usage" in the configuration.

  --by key|model|day  sum by one of them
  --csv               print it as CSV
`;

const OPTIONS = { by: { type: "string" }, csv: { type: "boolean" }, help: { type: "boolean" } } as const;

/** Returns the exit code. Throws `UsageError`. */
export async function printUsage(args: readonly string[], path: string | undefined, program: Program): Promise<number> {
  const { platform, plugins, streams: { print, say } } = program;
  const { env } = platform;
  const { by, csv, help: wantsHelp } = optionsIn(args);
  if (wantsHelp) {
    print(help(invocation(platform)).trimEnd());
    return 0;
  }
  const withoutSecrets = (name: string) => name === "LANEWAY_CONFIG" ? env(name) : env(name) || PLACEHOLDER_SECRET;
  const { config } = loadConfig({ path, ...pluginFacts(plugins), env: withoutSecrets });
  const place = placeOfStore(config.store, platform, env);
  if (!config.usage || place === "memory") {
    throw new UsageError('Usage is not recorded: add "usage": {} to the configuration, with a store other than memory');
  }
  const { retentionDays } = config.usage;
  const store = createStore(config, platform, env, Date.now);
  try {
    const book = createUsageBook({ store, now: Date.now, retentionDays, patienceMs: PATIENCE_MS });
    const table = tableOf(await book.read(retentionDays), by);
    print((csv ? table.map((row) => row.map(quoted).join(",")) : aligned(table)).join("\n"));
    return 0;
  } catch (error) {
    say(`Cannot use the store ${describePlace(place)}: ${(error as Error).message}`);
    return 1;
  } finally {
    store.close();
  }
}

function optionsIn(args: readonly string[]): { by?: Column; csv?: boolean; help?: boolean } {
  const { values: { by, ...flags }, positionals: [word] } = readArguments(args, OPTIONS);
  if (word !== undefined) throw new UsageError(`Unexpected argument "${word}"`);
  const column = COLUMNS.find((one) => one === by);
  if (by !== undefined && !column) throw new UsageError(`Cannot sum by "${by}": expected --by ${COLUMNS.join("|")}`);
  return { by: column, ...flags };
}

/** The rows as text, under a head: each row, or their sums by one of the columns. */
export function tableOf(rows: readonly UsageRow[], by?: Column): string[][] {
  const columns = by ? [by] : COLUMNS;
  const sums = new Map<string, UsageRow>();
  for (const row of rows) {
    const name = JSON.stringify(columns.map((column) => row[column]));
    const sum = sums.get(name);
    sums.set(name, sum ? { ...row, ...together(sum, row) } : row);
  }
  const lines = Array.from(sums.values(), (row) => [
    // A model is called as clients call it.
    ...columns.map((column) => visible(row[column])),
    ...[row.requests, row.inputTokens, row.outputTokens].map(String),
    row.unpriced < row.requests ? formatDollars(row.pico) : "",
  ]);
  return [[...columns, "requests", "input tokens", "output tokens", "dollars"], ...lines];
}

function aligned(table: readonly string[][]): string[] {
  const widths = table[0]!.map((_, at) => Math.max(...table.map((row) => row[at]!.length)));
  return table.map((row) => row.map((cell, at) => cell.padEnd(widths[at]!)).join("  ").trimEnd());
}

/** What begins like a formula is none to a spreadsheet once a quote stands before it. */
function quoted(cell: string): string {
  const plain = /^[=+@\t\r-]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
