/** Sets up one client, tests it, and takes the change back. */
import type { Client, ClientMachine, Connection } from "../../contract/client.ts";
import { applied, type Desk, openFiles, type Planned, planned, show, takenBack } from "./change.ts";
import { askModels, ConnectError, fillsGaps } from "./gateway.ts";
import { chooseModel } from "./choose_model.ts";
import { FormatError } from "./formats/format.ts";
import { isInstalled, programOf } from "./machine.ts";
import { withoutSecrets } from "./mask.ts";
import type { Options } from "./options.ts";
import { done, failed, type Outcome, type ShownFile } from "./outcome.ts";
import { prove, type Proving } from "./proof.ts";
import { readReceipt } from "./receipt.ts";

/** Asks the user. */
export interface Prompter {
  /** Absent without a terminal. */
  ask(question: string): string | undefined;
  /** Reads all of standard input. */
  readAll(): string;
  /** Lets the user choose one of these models in a terminal. Absent if there is none. */
  chooseModel?(names: readonly string[]): Promise<string | undefined>;
  /** Lets the user choose among clients, likewise. */
  chooseClients?(clients: readonly { name: string; title: string }[]): Promise<string[] | undefined>;
}

interface Prepared {
  plan: Planned;
  connection: Connection;
  key?: string;
  steps: readonly string[];
}

/** Plans the change, after asking the gateway. Throws `ConnectError`. */
async function prepared(client: Client, options: Options, desk: Desk, asking: Prompter): Promise<Prepared> {
  const { machine } = desk;
  const { url, lane } = options;
  const { key, from } = keyOf(options, machine, asking);
  const models = await askModels({ url, lane, key });
  const model = await chooseModel(models, options, { url, lane, key }, asking);
  const { id, ...limits } = model;
  const gaps = client.completesCode ? { fillsGaps: await fillsGaps(id, { url, lane, key }) } : {};
  const connection: Connection = { gateway: url, lane, model: id, key: from, ...limits, ...gaps };
  const plan = writing(() => planned(client, connection, desk));
  return { plan, connection, key, steps: client.steps?.(connection, machine) ?? [] };
}

/** The files as they would be, and the steps that are left to the user. Throws `ConnectError`. */
export async function shownFiles(
  client: Client,
  options: Options,
  desk: Desk,
  asking: Prompter,
): Promise<{ files: ShownFile[]; steps: readonly string[] }> {
  const { plan, key, steps } = await prepared(client, options, desk, asking);
  const masked = (text: string) => withoutSecrets(text, key);
  const files = plan.files.filter(({ now, after }) => now !== after).map(({ path, now, after }) => ({
    path,
    text: masked(after),
    ...now !== undefined && { before: masked(now) },
  }));
  return { files, steps };
}

export async function setUp(client: Client, options: Options, desk: Desk, asking: Prompter): Promise<Outcome> {
  const { machine, records, patienceMs, print, during } = desk;
  const { plan, connection, key, steps } = await prepared(client, options, desk, asking);
  if (!options.json) show(plan, desk, key);
  for (const step of steps) print(`→ ${step}`);
  if (options.print) return done([]);
  const proving = { client, connection, machine, key, folder: records.folder, patienceMs };
  if (plan.files.length === 0) {
    const { isProved, lines } = await during("Sending test requests", () => prove(proving));
    for (const line of lines) print(line);
    return isProved ? done([]) : failed(lines.join(". "), { isSaid: true });
  }
  warn(client, machine, print);
  for (const path of openFiles(plan, key)) {
    print(`Warning: ${path} will hold the key, and others on this machine can read it: chmod 600 ${path}`);
  }
  await desk.flush();
  if (plan.isChange && !isAgreed(`Set up ${client.title}?`, options, asking)) {
    return failed("Nothing was changed. Add --yes to make the change without being asked", { code: 2 });
  }
  return {
    ...await change(plan, { ...proving, keep: options.keep, isJson: options.json }, desk),
    model: connection.model,
  };
}

async function change(
  plan: Planned,
  { keep, isJson, ...proving }: Proving & { keep: boolean; isJson: boolean },
  desk: Desk,
): Promise<Outcome> {
  const { machine, print, during } = desk;
  const { client } = proving;
  const takeBack = writing(() => applied(plan, desk));
  const program = machine.os === "windows" ? undefined : programOf(client, machine);
  const what = client.proof && program !== undefined ? `Running ${client.title} for one turn` : "Sending test requests";
  const { isProved, lines } = await during(what, () => prove({ ...proving, program }));
  for (const line of lines) print(line);
  const changed = plan.files.filter(({ now, after }) => now !== after).map(({ path }) => path);
  if (isProved) {
    print(`${client.title}: connected to ${plan.to}. To undo: ${desk.program} connect ${client.name} --undo`);
    return done(changed);
  }
  if (!keep) takeBack();
  const after = keep ? "the change was kept" : "the change was undone";
  print(`The test failed; ${after}${keep || isJson ? "" : ". --keep keeps it"}`);
  const reason = `The test failed, and ${after}: ${lines.join(". ")}`;
  return failed(reason, { isSaid: true, changed: keep ? changed : [] });
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

/** Throws `ConnectError`. */
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

function warn(client: Client, machine: ClientMachine, print: (text: string) => void): void {
  const { overriddenBy = [], title, program, folder } = client;
  const canBeFound = program !== undefined || folder !== undefined;
  if (canBeFound && !isInstalled(client, machine)) {
    print(`${title} was not found on this machine: the settings wait for it`);
  }
  const set = overriddenBy.filter((name) => machine.env(name));
  if (set.length > 0) {
    print(`Warning: ${set.join(", ")} is set here, and ${title} may use it instead of its settings`);
  }
}

function isAgreed(question: string, { yes }: Options, { ask }: Prompter): boolean {
  return yes || /^y(es)?$/i.test(ask(`${question} [y/N]`)?.trim() ?? "");
}

export function undo(client: Client, options: Options, desk: Desk, asking: Prompter): Outcome {
  const { print } = desk;
  const receipt = readReceipt(desk.records, client.name);
  if (!receipt) throw new ConnectError(`${client.title}: not connected, so there is nothing to undo`);
  if (!isAgreed(`Disconnect ${client.title} from ${receipt.to}?`, options, asking)) {
    const reason = `This disconnects ${client.title} from ${receipt.to}. Add --yes to do it without being asked`;
    return failed(reason, { code: 2 });
  }
  const left = takenBack(client, desk);
  for (const { path, names } of left) print(`${path}: ${names.join(", ")} was changed since, and was left as it is`);
  print(`${client.title}: restored`);
  return done(receipt.files.map(({ path }) => path));
}
