/** The command `connect`: sets up a client for a gateway, tests it, and takes the change back. */
import { clients } from "../../../plugins/programs/clients/mod.ts";
import type { Client, ClientMachine, Connection } from "../../contract/client.ts";
import { hint } from "../../config/hint.ts";
import { builtin } from "../../util/builtin.ts";
import { shown } from "../../util/printable.ts";
import { invocation } from "../invocation.ts";
import { withProgress } from "../progress.ts";
import { type Program, UsageError } from "../program.ts";
import { applied, type Desk, openFiles, type Planned, planned, show, takenBack } from "./change.ts";
import { askModels, ConnectError } from "./gateway.ts";
import { chooseModel } from "./choose_model.ts";
import { dataFolder, isInstalled, machineOf, programOf, receiptPath } from "./machine.ts";
import { help, type Options, parseOptions } from "./options.ts";
import { prove, type Proving } from "./proof.ts";
import { readReceipt } from "./receipt.ts";
import { FormatError } from "./formats/format.ts";

/** How long a client may take for its turn, in milliseconds. */
const PATIENCE_MS = 120_000;

/** Asks the user. Absent without a terminal. */
export interface Prompter {
  ask(question: string): string | undefined;
  /** Reads all of standard input. */
  readAll(): string;
}

/** Returns the exit code. Throws `UsageError`. */
export async function connect(
  args: readonly string[],
  program: Program,
  asking: Prompter = terminal(),
  patienceMs = PATIENCE_MS,
): Promise<number> {
  const { platform, streams: { print, say } } = program;
  const options = parseOptions(args);
  if (options.help) {
    print(help(invocation(platform)).trimEnd());
    return 0;
  }
  if (typeof Deno === "undefined") throw new UsageError("The command connect needs Deno");
  const machine = machineOf(platform.os, platform.env, builtin("node:fs").existsSync);
  const folder = dataFolder(platform);
  if (!machine || !folder) throw new UsageError("There is no home folder: HOME is not set");
  const desk: Desk = {
    machine,
    records: { folder, os: platform.os },
    patienceMs,
    program: invocation(platform),
    print,
    during: (text, run) => withProgress(program, text, run),
  };
  if (options.list) {
    print(listOf(desk));
    return 0;
  }
  try {
    const client = chosen(options, desk, asking);
    return options.undo ? undo(client, options, desk, asking) : await setUp(client, options, desk, asking);
  } catch (error) {
    // Errors of the file system are the user's to fix, too.
    const isTheirs = error instanceof ConnectError || error instanceof FormatError || "code" in (error as object);
    if (!isTheirs) throw error;
    say((error as Error).message);
    return 1;
  }
}

function terminal(): Prompter {
  return {
    ask: (question) => Deno.stdin.isTerminal() ? prompt(shown(question)) ?? undefined : undefined,
    readAll: () => builtin("node:fs").readFileSync(0, "utf8"),
  };
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

function chosen({ client: name }: Options, { machine, program, print }: Desk, { ask }: Prompter): Client {
  const find = (name: string) => clients.find((client) => client.name === name);
  if (name !== undefined) {
    const client = find(name);
    if (!client) throw new UsageError(`Unknown client "${name}"${hint(name, clients.map((one) => one.name))}`);
    return client;
  }
  const installed = clients.filter((client) => isInstalled(client, machine));
  if (installed.length === 0) {
    throw new UsageError(`No client was found on this machine: name one from ${program} connect --list`);
  }
  print(`Found: ${installed.map(({ name }) => name).join(", ")}`);
  const answer = ask("Which one do you want to connect?");
  const client = answer === undefined ? undefined : find(answer.trim());
  if (!client) throw new UsageError(`Name a client: ${program} connect <client>`);
  return client;
}

async function setUp(client: Client, options: Options, desk: Desk, asking: Prompter): Promise<number> {
  const { machine, records, patienceMs, print, during } = desk;
  const { url, lane } = options;
  const { key, from } = keyOf(options, machine, asking);
  const models = await askModels({ url, lane, key });
  const model = await chooseModel(models, options, { url, lane, key }, asking);
  const { id, ...limits } = model;
  const connection: Connection = { gateway: url, lane, model: id, key: from, ...limits };
  const plan = writing(() => planned(client, connection, desk));
  show(plan, desk, key);
  for (const step of client.steps?.(connection, machine) ?? []) print(`→ ${step}`);
  if (options.print) return 0;
  const proving = { client, connection, machine, key, folder: records.folder, patienceMs };
  if (plan.files.length === 0) {
    const { isProved, lines } = await during("Sending test requests", () => prove(proving));
    for (const line of lines) print(line);
    return isProved ? 0 : 1;
  }
  warn(client, machine, print);
  for (const path of openFiles(plan, key)) {
    print(`Warning: ${path} will hold the key, and others on this machine can read it: chmod 600 ${path}`);
  }
  if (plan.isChange && !isAgreed(options, asking)) {
    print("Nothing was changed. Add --yes to make the change without being asked");
    return 2;
  }
  return await change(plan, { ...proving, keep: options.keep }, desk);
}

/** Returns the exit code. */
async function change(
  plan: Planned,
  { keep, ...proving }: Proving & { keep: boolean },
  desk: Desk,
): Promise<number> {
  const { machine, print, during } = desk;
  const { client } = proving;
  const takeBack = writing(() => applied(plan, desk));
  const program = machine.os === "windows" ? undefined : programOf(client, machine);
  const what = client.proof && program !== undefined ? `Running ${client.title} for one turn` : "Sending test requests";
  const { isProved, lines } = await during(what, () => prove({ ...proving, program }));
  for (const line of lines) print(line);
  if (isProved) {
    print(`${client.title}: connected to ${plan.to}. To undo: ${desk.program} connect ${client.name} --undo`);
    return 0;
  }
  if (!keep) takeBack();
  print(keep ? "The test failed; the change was kept" : "The test failed; the change was undone. --keep keeps it");
  return 1;
}

/** Adds to an error what became of the files. */
function writing<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    const isTheirs = error instanceof FormatError || "code" in (error as object);
    if (isTheirs) throw new ConnectError(`Nothing was changed: ${(error as Error).message}`);
    throw error;
  }
}

function keyOf({ keyEnv, readsKey }: Options, { env }: ClientMachine, { readAll }: Prompter) {
  if (keyEnv !== undefined) {
    const key = env(keyEnv);
    if (!key) throw new ConnectError(`The variable ${keyEnv} is not set here: set it to the key first`);
    return { key, from: { env: keyEnv } };
  }
  if (!readsKey) return {};
  const key = readAll().trim();
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new ConnectError("Standard input has no key: expected one line without spaces");
  }
  return { key, from: { value: key } };
}

function warn({ overriddenBy = [], title }: Client, { env }: ClientMachine, print: (text: string) => void): void {
  const set = overriddenBy.filter((name) => env(name));
  if (set.length > 0) {
    print(`Warning: ${set.join(", ")} is set here, and ${title} may use it instead of its settings`);
  }
}

function isAgreed({ yes }: Options, { ask }: Prompter): boolean {
  return yes || /^y(es)?$/i.test(ask("Change it? [y/N]")?.trim() ?? "");
}

function undo(client: Client, options: Options, desk: Desk, asking: Prompter): number {
  const { print } = desk;
  const receipt = readReceipt(desk.records, client.name);
  if (!receipt) throw new ConnectError(`${client.title}: not connected, so there is nothing to undo`);
  if (!isAgreed(options, asking)) {
    print(`This disconnects ${client.title} from ${receipt.to}. Add --yes to do it without being asked`);
    return 2;
  }
  const left = takenBack(client, desk);
  for (const { path, names } of left) print(`${path}: ${names.join(", ")} was changed since, and was left as it is`);
  print(`${client.title}: restored`);
  return 0;
}
