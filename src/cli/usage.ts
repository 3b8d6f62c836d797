/** The command `usage`: prints the usage of keys from the store. */
import { pluginFacts } from "../app.ts";
import { createStore, describePlace, placeOfStore } from "../compose/store.ts";
import { loadConfig } from "../config/load.ts";
import { withPlaceholders } from "../config/secrets.ts";
import { visible } from "../util/printable.ts";
import { createUsageBook, together, type UsageRow } from "../state/usage_book.ts";
import { formatDollars } from "../util/dollars.ts";
import { USAGE } from "../programs/commands/mod.ts";
import { readArguments } from "../programs/flags.ts";
import { printJson } from "../programs/json_output.ts";
import { CommandError, type Program, UsageError } from "../programs/program.ts";
import { table } from "../programs/table.ts";

const COLUMNS = ["day", "key", "model"] as const;
type Column = typeof COLUMNS[number];
const PATIENCE_MS = 10_000;

/** Returns the exit code. Throws `UsageError`. */
export async function printUsage(args: readonly string[], path: string | undefined, program: Program): Promise<number> {
  const { platform, plugins, streams } = program;
  const { env } = platform;
  const { by, csv, json } = optionsIn(args);
  const { config } = loadConfig({ path, ...pluginFacts(plugins), ...withPlaceholders(platform) });
  const place = placeOfStore(config.store, platform, env);
  if (!config.usage || place === "memory") {
    throw new CommandError(
      'Usage is not recorded: add "usage": {} to the configuration, with a store other than memory',
    );
  }
  const { retentionDays } = config.usage;
  const store = createStore(config, platform, env, Date.now);
  try {
    const book = createUsageBook({ store, now: Date.now, retentionDays, patienceMs: PATIENCE_MS });
    const rows = await book.read(retentionDays);
    const lines = tableOf(rows, by);
    if (json) printJson(streams, { rows: sumsOf(rows, by).map((row) => asJson(row, by)) });
    else if (csv) streams.print(lines.map((row) => row.map(quoted).join(",")).join("\n"));
    else streams.print(table(lines, lines[0]!.map((_, at) => at).slice(by ? 1 : COLUMNS.length)).join("\n"));
    return 0;
  } catch (error) {
    throw new CommandError(`Cannot use the store ${describePlace(place)}: ${(error as Error).message}`);
  } finally {
    store.close();
  }
}

function optionsIn(args: readonly string[]): { by?: Column; csv?: boolean; json?: boolean } {
  const { values: { by, ...flags }, positionals: [word] } = readArguments(args, USAGE.options);
  if (word !== undefined) throw new UsageError(`Unexpected argument "${word}"`);
  const column = COLUMNS.find((one) => one === by);
  if (by !== undefined && !column) throw new UsageError(`Cannot sum by "${by}": expected --by ${COLUMNS.join("|")}`);
  return { by: column, ...flags };
}

/** All rows, or their sums by one of the columns: the newest day first, then what cost and used most. */
function sumsOf(rows: readonly UsageRow[], by?: Column): UsageRow[] {
  const columns = by ? [by] : COLUMNS;
  const sums = new Map<string, UsageRow>();
  for (const row of rows) {
    const name = JSON.stringify(columns.map((column) => row[column]));
    const sum = sums.get(name);
    sums.set(name, sum ? { ...row, ...together(sum, row) } : row);
  }
  const tokens = ({ inputTokens, outputTokens }: UsageRow) => inputTokens + outputTokens;
  return [...sums.values()].sort((a, b) =>
    (columns.includes("day") ? b.day.localeCompare(a.day) : 0) || Number(b.pico - a.pico) || tokens(b) - tokens(a)
  );
}

/** The price, as a decimal number. Absent if there is none for any of the requests. */
function dollarsOf({ unpriced, requests, pico }: UsageRow): string | undefined {
  return unpriced < requests ? formatDollars(pico) : undefined;
}

function asJson(row: UsageRow, by?: Column) {
  const { day, key, model, requests, inputTokens, outputTokens } = row;
  const named = by ? { [by]: row[by] } : { day, key, model };
  return { ...named, requests, inputTokens, outputTokens, dollars: dollarsOf(row) };
}

/** A table with a header. */
export function tableOf(rows: readonly UsageRow[], by?: Column): string[][] {
  const columns = by ? [by] : COLUMNS;
  const lines = sumsOf(rows, by).map((row) => [
    // Clients may call a model anything, so control characters are made visible.
    ...columns.map((column) => visible(row[column])),
    ...[row.requests, row.inputTokens, row.outputTokens].map(String),
    dollarsOf(row) ?? "",
  ]);
  return [[...columns, "requests", "input tokens", "output tokens", "dollars"], ...lines];
}

/** A quote before a cell that begins like a formula keeps spreadsheets from running it. */
function quoted(cell: string): string {
  const plain = /^[=+@\t\r-]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
