/** The command `connect`: sets up clients for a gateway, tests them, and takes the changes back. */
import { clients } from "../../../plugins/programs/clients/mod.ts";
import type { Client, ClientMachine } from "../../contract/client.ts";
import { builtin } from "../../util/builtin.ts";
import { shown } from "../../util/printable.ts";
import { invocation } from "../invocation.ts";
import { withProgress } from "../progress.ts";
import { type Program, UsageError } from "../program.ts";
import { openDialog } from "../dialog/mod.ts";
import type { Desk } from "./change.ts";
import { clientsFor } from "./choose_clients.ts";
import { foundClients } from "./found_clients.ts";
import { ConnectError, KeyError } from "./gateway.ts";
import { dataFolder, isInstalled, machineOf, receiptPath } from "./machine.ts";
import { type Options, parseOptions } from "./options.ts";
import { failed, type Outcome, type ShownFile } from "./outcome.ts";
import { FormatError } from "./formats/format.ts";
import { type Prompter, setUp, shownFiles, undo } from "./set_up.ts";

export type { Prompter } from "./set_up.ts";

/** How long a client may take for its turn, in milliseconds. */
const PATIENCE_MS = 120_000;
/** How long earlier output may take to be written, in milliseconds. */
const FLUSH_MS = 1_000;

/** Returns the exit code. Throws `UsageError`. */
export async function connect(
  args: readonly string[],
  program: Program,
  asking: Prompter = terminal(program),
  patienceMs = PATIENCE_MS,
): Promise<number> {
  const { platform, streams: { print, say } } = program;
  const options = parseOptions(args);
  const desk = deskFor(options, program, patienceMs);
  if (options.list) {
    print(options.json ? JSON.stringify({ clients: foundClients(platform) }) : listOf(desk));
    return 0;
  }
  const chosen = await clientsFor(options, desk, asking);
  if (chosen.length === 0) {
    say("No client was chosen, and nothing was changed");
    return 2;
  }
  const { readAll } = asking;
  // Standard input can be read only once.
  let input: string | undefined;
  const once: Prompter = { ...asking, readAll: () => input ??= readAll() };
  if (options.print && options.json) return await printFiles(chosen, options, desk, once, print);
  const codes: number[] = [];
  let { model } = options;
  for (const client of chosen) {
    const outcome = await attempt(client, { ...options, model }, desk, once);
    model ??= outcome.model;
    report(client, outcome, options, program);
    codes.push(outcome.code);
  }
  return Math.max(...codes);
}

function deskFor({ json }: Options, program: Program, patienceMs: number): Desk {
  const { platform, streams: { print } } = program;
  const machine = machineOf(platform.os, platform.env, builtin("node:fs").existsSync);
  const folder = dataFolder(platform);
  if (!machine || !folder) throw new UsageError("There is no home folder: HOME is not set");
  const step = (text: string) => print(JSON.stringify({ step: text }));
  return {
    machine,
    records: { folder, os: platform.os },
    patienceMs,
    program: invocation(platform),
    print: json ? step : print,
    flush: () => program.streams.flush(FLUSH_MS),
    during(text, run) {
      if (!json) return withProgress(program, text, run);
      step(text);
      return run();
    },
  };
}

function terminal(program: Program): Prompter {
  const readAll = () => builtin("node:fs").readFileSync(0, "utf8");
  if (!program.platform.isTerminal("stdin")) return { ask: () => undefined, readAll };
  const choices = (names: readonly string[]) => names.map((value) => ({ value, label: value }));
  return {
    ask: (question) => prompt(shown(question)) ?? undefined,
    readAll,
    async chooseModel(names) {
      return await (await openDialog(program)).choose("Which model?", choices(names), names[0]);
    },
    async chooseClients(found) {
      const dialog = await openDialog(program);
      const all = found.map(({ name, title }) => ({ value: name, label: title, hint: name }));
      const first = found.length === 1 ? [found[0]!.name] : [];
      return await dialog.chooseSeveral("Which clients do you want to connect?", all, first);
    },
  };
}

async function attempt(client: Client, options: Options, desk: Desk, asking: Prompter): Promise<Outcome> {
  try {
    return options.undo ? undo(client, options, desk, asking) : await setUp(client, options, desk, asking);
  } catch (error) {
    if (!isTheirs(error)) throw error;
    return failed((error as Error).message, { keyCure: keyCureIn(error) });
  }
}

function keyCureIn(error: unknown): string | undefined {
  return error instanceof KeyError ? error.cure : undefined;
}

/** Errors of the file system are the user's to fix, too. */
function isTheirs(error: unknown): boolean {
  return error instanceof ConnectError || error instanceof FormatError || "code" in (error as object);
}

function report({ name }: Client, outcome: Outcome, { json, undo }: Options, { platform, streams }: Program): void {
  const { ok, reason, keyCure, changed } = outcome;
  if (json) {
    const back = ok && !undo && changed.length > 0 ? { undo: `${invocation(platform)} connect ${name} --undo` } : {};
    streams.print(JSON.stringify({ result: { client: name, ok, reason, keyCure, changed, ...back } }));
  } else if (!ok && !outcome.isSaid) streams.say(keyCure === undefined ? reason! : `${reason}: ${keyCure}`);
}

async function printFiles(
  chosen: readonly Client[],
  options: Options,
  desk: Desk,
  asking: Prompter,
  print: (text: string) => void,
): Promise<number> {
  const files: ShownFile[] = [];
  const steps: string[] = [];
  try {
    for (const client of chosen) {
      const shown = await shownFiles(client, options, desk, asking);
      files.push(...shown.files);
      steps.push(...shown.steps);
    }
    print(JSON.stringify({ ok: true, files, steps }));
    return 0;
  } catch (error) {
    if (!isTheirs(error)) throw error;
    const reason = (error as Error).message;
    const result = { client: chosen[0]!.name, ok: false, reason, keyCure: keyCureIn(error), changed: [] };
    print(JSON.stringify({ result }));
    return 1;
  }
}

function listOf({ machine, records }: Desk): string {
  const { existsSync } = builtin("node:fs");
  const width = Math.max(...clients.map(({ name }) => name.length));
  return clients.map((client) => {
    const { name, title } = client;
    const state = stateOf(client, existsSync(receiptPath(records.folder, name, records.os)), machine);
    return `${name.padEnd(width)}  ${state.padEnd(9)}  ${title}`.trimEnd();
  }).join("\n");
}

function stateOf(client: Client, isConnected: boolean, machine: ClientMachine): string {
  if (isConnected) return "connected";
  if (isInstalled(client, machine)) return "installed";
  return client.files ? "" : "by hand";
}
