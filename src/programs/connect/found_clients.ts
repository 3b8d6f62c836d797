/** The clients on this machine. */
import { clients } from "../../../plugins/programs/clients/mod.ts";
import type { Platform } from "../../platform/platform.ts";
import { builtin } from "../../util/builtin.ts";
import type { FoundClient } from "../init/answers.ts";
import { dataFolder, isInstalled, machineOf, receiptPath } from "./machine.ts";

/** The clients that `connect` knows: those that are installed first. */
export function foundClients(platform: Pick<Platform, "os" | "env">): FoundClient[] {
  const { existsSync } = builtin("node:fs");
  const machine = machineOf(platform.os, platform.env, existsSync);
  const folder = dataFolder(platform);
  const found = clients.map((client) => ({
    id: client.name,
    title: client.title,
    isInstalled: machine !== undefined && isInstalled(client, machine),
    isConnected: folder !== undefined && existsSync(receiptPath(folder, client.name, platform.os)),
    isByHand: client.files === undefined,
  }));
  const rank = ({ isInstalled, isByHand }: FoundClient) => isInstalled ? 0 : isByHand ? 2 : 1;
  return found.sort((one, other) => rank(one) - rank(other));
}
