/** The permissions of the command `connect`: it changes files of known clients and its own, and calls only the gateway. */
import { clients } from "../../../plugins/programs/clients/mod.ts";
import type { Client, ClientMachine, Connection } from "../../contract/client.ts";
import { isObject } from "../../util/config_text.ts";
import { DEFAULT_GATEWAY } from "../commands/command.ts";
import { dataFolder, machineOf, programOf, receiptPath } from "./machine.ts";

/** The suffix of a draft beside a file. */
export const BESIDE = ".laneway-new";

interface World {
  os: string;
  env(name: string): string | undefined;
  isThere(path: string): boolean;
  /** The target of a link, or the path itself if it is not a link or does not exist. */
  realPath(path: string): string;
  /** Absent if there is no such file. */
  readJson(path: string): unknown;
}

/** The options of `deno run` for a command line. */
export function connectFlags(args: readonly string[], world: World): string[] {
  const { os, env, isThere, realPath } = world;
  const named = clients.filter(({ name }) => args.includes(name));
  const machine = machineOf(os, env, isThere);
  const own = dataFolder({ os, env });
  const chosen = named.length > 0 ? named : clients;
  const paths = machine ? chosen.flatMap((client) => pathsOf(client, machine)) : [];
  const only = (flag: string) => args.includes(flag);
  const isReading = ["--list", "--print", "--help"].some(only);
  const write = [
    ...paths.map(realPath).flatMap((path) => [...withBeside(path), ...missingFolder(path, machine!)]),
    ...chosen.flatMap((client) => pathsOfReceipt(client, world)),
  ];
  const ownFolder = own === undefined || !machine ? [] : [own, ...missingFolder(own, machine)];
  const run = machine && !isReading && !only("--undo")
    ? chosen.flatMap((client) => client.proof ? programOf(client, machine) ?? [] : [])
    : [];
  const flag = (name: string, values: readonly string[]) =>
    values.length === 0 ? [] : [`--allow-${name}=${[...new Set(values)].map(escaped).join(",")}`];
  return [
    "--allow-read",
    "--allow-env",
    ...flag("write", isReading ? [] : [...write, ...ownFolder]),
    ...flag("net", ["127.0.0.1", ...hostOf(args)]),
    ...flag("run", run),
    "--allow-sys=systemMemoryInfo",
    "--deny-import",
    "--cached-only",
    "--no-prompt",
  ];
}

/** The paths to read in order to check connected clients: the receipts, and the files that they name. */
export function receiptReads(world: World): string[] {
  const own = dataFolder(world);
  return own === undefined ? [] : [own, ...clients.flatMap((client) => pathsOfReceipt(client, world))];
}

function pathsOfReceipt(client: Client, { os, env, isThere, realPath, readJson }: World): string[] {
  const own = dataFolder({ os, env });
  const machine = machineOf(os, env, isThere);
  if (own === undefined || !machine) return [];
  return pathsIn(readJson(receiptPath(own, client.name, os)), (path) => isOwnFile(client, path, machine, realPath));
}

/** Every file that connecting the client may write, with any key. */
function pathsOf(client: Client, machine: ClientMachine): string[] {
  const connection: Connection = {
    gateway: DEFAULT_GATEWAY,
    lane: "lane",
    model: "model",
    contextTokens: 1,
    takesImages: false,
  };
  const keys: Connection["key"][] = [undefined, { env: "KEY" }, { value: "key" }];
  return keys.flatMap((key) => client.files?.({ ...connection, key }, machine) ?? []).map(({ path }) => path);
}

function withBeside(path: string): string[] {
  return [path, `${path}${BESIDE}`];
}

/** The shells whose files a client may use. The user may have changed the shell since. */
const SHELLS = ["bash", "zsh", "fish"];

/** Whether connecting the client can have written this file. Other paths in a receipt are ignored. */
export function isOwnFile(client: Client, path: string, machine: ClientMachine, realPath: World["realPath"]): boolean {
  const machines = [undefined, ...SHELLS].flatMap((shell): ClientMachine[] => {
    const env = (name: string) => name === "SHELL" && shell !== undefined ? shell : machine.env(name);
    return [{ ...machine, env }, { ...machine, env, isThere: (one) => one === path }];
  });
  return machines.flatMap((one) => pathsOf(client, one)).some((own) => own === path || realPath(own) === path);
}

/** The files that a receipt names, and the folders that were created for them. */
function pathsIn(receipt: unknown, isOwn: (path: string) => boolean): string[] {
  const { files } = isObject(receipt) ? receipt : {};
  return (Array.isArray(files) ? files : []).filter(isObject).flatMap(({ path, folders }) => {
    if (typeof path !== "string" || !isOwn(path)) return [];
    const around = (Array.isArray(folders) ? folders : []).filter((one) => typeof one === "string");
    return [
      ...withBeside(path),
      ...around.filter((one) => path.startsWith(one) && /^[\\/]./.test(path.slice(one.length))),
    ];
  });
}

/** The outermost missing folder on the way to a file. */
function missingFolder(path: string, { os, isThere }: ClientMachine): string[] {
  const slash = os === "windows" ? "\\" : "/";
  const steps = path.split(slash);
  for (let count = 2; count < steps.length; count++) {
    const folder = steps.slice(0, count).join(slash);
    if (!isThere(folder)) return [folder];
  }
  return [];
}

function hostOf(args: readonly string[]): string[] {
  const at = args.findLastIndex((arg) => arg === "--url" || arg.startsWith("--url="));
  const text = args[at]?.startsWith("--url=") ? args[at].slice("--url=".length) : args[at + 1];
  const url = at < 0 ? undefined : URL.parse(text ?? "");
  if (!url || !/^([\w.-]+|\[[\d:a-f.]+\])$/.test(url.hostname)) return [];
  return [`${url.hostname}:${url.port || (url.protocol === "https:" ? 443 : 80)}`];
}

function escaped(value: string): string {
  return value.replaceAll(",", ",,");
}
