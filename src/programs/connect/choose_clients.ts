/** Chooses the clients to connect. */
import { clients } from "../../../plugins/programs/clients/mod.ts";
import type { Client } from "../../contract/client.ts";
import { hint } from "../../config/hint.ts";
import { UsageError } from "../program.ts";
import type { Desk } from "./change.ts";
import { isInstalled } from "./machine.ts";
import type { Options } from "./options.ts";
import type { Prompter } from "./set_up.ts";

/** The clients that the command line names, or those that the user chooses, if any. Throws `UsageError`. */
export async function clientsFor(options: Options, desk: Desk, asking: Prompter): Promise<Client[]> {
  const { machine, program, print } = desk;
  if (options.clients.length > 0) return options.clients.map(named);
  const installed = clients.filter((client) => isInstalled(client, machine));
  if (installed.length === 0) {
    throw new UsageError(`No client was found on this machine: name one from ${program} connect --list`);
  }
  if (asking.chooseClients && !options.json) {
    return (await asking.chooseClients(installed.map(({ name, title }) => ({ name, title }))) ?? []).map(named);
  }
  print(`Found: ${installed.map(({ name }) => name).join(", ")}`);
  const answer = asking.ask("Which ones do you want to connect? Names or all:");
  const names = answer?.split(/[\s,]+/).filter((name) => name !== "") ?? [];
  if (names.length === 0) throw new UsageError(`Name a client: ${program} connect <client>`);
  return names.join() === "all" ? installed : [...new Set(names)].map(named);
}

/** Throws `UsageError`. */
function named(name: string): Client {
  const client = clients.find((client) => client.name === name);
  if (!client) throw new UsageError(`Unknown client "${name}"${hint(name, clients.map((one) => one.name))}`);
  return client;
}
