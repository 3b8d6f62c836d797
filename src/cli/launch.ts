/**
 * Starts the gateway with exactly the permissions that its configuration needs. It imports only files that import nothing, so that
 * no dependency runs with more permissions.
 */
import {
  codeFolder,
  COLOUR_VARIABLES,
  FETCHER_TOKEN,
  FETCHER_URL,
  flagsOf,
  INTERPRETER_TOKEN,
  INTERPRETER_URL,
  keeperStore,
  type Permissions,
  permissionsOf,
  type PermissionSource,
  TAKES_OVER,
} from "../config/permissions.ts";
import { isObject, mergeJson, type Preset, withoutComments, withPresets } from "../util/config_text.ts";
import { commands, option, wantsOtherThanFetcher, WATCH } from "./arguments.ts";
import { arePackagesThere, isCached, isThere } from "./cached.ts";
import type { Beside, FetcherWorld } from "./fetcher_start.ts";
import type { Generation } from "./gateways.ts";
import type { InterpreterBeside } from "./interpreter_process.ts";
import { healthUrl } from "./health_url.ts";
import { npmEnded } from "./npm_ancestor.ts";
import { outlive, passSignals, runnerOf, say, spawnOnce, type Start } from "./processes.ts";
import { command, host, onNode } from "../platform/host.ts";

const readText = (path: string) => host().readTextFileSync(path);

/** An unreadable configuration needs no permissions. The gateway reports what is wrong with it. */
function readJson(path: string | URL): unknown {
  try {
    return JSON.parse(withoutComments(host().readTextFileSync(path).replace(/^\ufeff/, "")));
  } catch {
    return undefined;
  }
}

/** The hosts of other providers than the built-in ones are not known before their code runs. */
const PROVIDERS = new URL("../../plugins/providers/presets.json", import.meta.url);
const BUILT_IN = onNode()?.main ?? new URL("../main.ts", import.meta.url).href;

const LISTEN = { hostname: option("hostname"), port: option("port") };
const world: FetcherWorld = { env: (name) => host().env.get(name), readJson, say };

function configFile(): string {
  const named = (commands()[0] === "validate" ? commands()[1] : undefined) ?? option("config");
  return (named ?? host().env.get("LANEWAY_CONFIG")) || "gateway.json";
}

export async function launch(): Promise<number> {
  const [command] = commands();
  if (onNode() && host().args.includes(WATCH)) {
    say(`Cannot use ${WATCH} here: start it with node ${WATCH} src/node.ts`);
    return 2;
  }
  const signals = { handOver: outlive(command), orphaned: npmEnded() };
  const config = readConfig();
  if (command === "fetcher" && !wantsOtherThanFetcher()) {
    const { serveFetcher } = await import("./fetcher_start.ts");
    return await serveFetcher(config, LISTEN, { ...world, orphaned: signals.orphaned });
  }
  if (hasDesk(config)) return await serveWithDesk(config, signals);
  const start = await prepare(config);
  try {
    if (!await cache(start.main)) return 1;
    return await runnerOf(command)({ ...start, ...signals });
  } finally {
    start.end();
  }
}

/** The configuration as it is now, with the settings of its providers. */
function readConfig(): unknown {
  const preset = readJson(new URL("../../gateway.default.json", import.meta.url));
  const written = withPresets(readJson(configFile()), () => readJson(PROVIDERS) as Record<string, Preset>);
  return isObject(written) && written.extends === "default" ? mergeJson(preset, written) : written ?? preset;
}

interface Extra {
  /** Environment variables for the gateway, and hosts that it may call, in addition to those of its configuration. */
  variables?: Record<string, string>;
  net?: string[];
  /** The port that it uses instead of any free one. */
  port?: number;
}

/** The start of a command or a gateway, with the fetcher beside it. `end` must be called once it has ended. */
async function prepare(config: unknown, { variables = {}, net = [], port }: Extra = {}) {
  const [command] = commands();
  const listen = { ...LISTEN, ...port !== undefined && { port: String(port) } };
  const beside = command === undefined ? await startBeside(config, world) : undefined;
  const fetcher: Record<string, string> = beside
    ? { [FETCHER_URL]: beside.process.url, [FETCHER_TOKEN]: beside.token }
    : {};
  const interpreter = command === undefined ? await startInterpreter(config) : undefined;
  const code: Record<string, string> = interpreter
    ? { [INTERPRETER_URL]: interpreter.url, [INTERPRETER_TOKEN]: interpreter.token }
    : {};
  const own = { ...variables, ...fetcher, ...code };
  const env = (name: string) => own[name] ?? world.env(name);
  const place = {
    config,
    file: configFile(),
    listen,
    env,
    os: host().build.os,
    code: codeFolder(),
    isThere,
    readText,
    database: onNode() && "sqlite" as const,
  };
  const { net: hosts, env: names, ...files } = await forCommand(permissionsOf(place), config, listen);
  const flags = command === "connect"
    ? await flagsToConnect()
    : command === "init"
    ? (await import("../programs/init/permissions.ts")).initFlags(host().args, configFile())
    : flagsOf({ net: [...hosts, ...net], env: [...names, ...COLOUR_VARIABLES, ...Object.keys(variables)], ...files });
  return {
    flags,
    main: option("main") ?? BUILT_IN,
    own,
    store: keeperStore(place),
    args: port === undefined ? [] : [`--port=${port}`],
    end() {
      beside?.process.stop(true);
      interpreter?.process?.stop(true);
    },
  };
}

const DESK_HOST = "127.0.0.1:0";

/** Whether a gateway is served for which pages may run commands and ask for a restart. */
function hasDesk(config: unknown): boolean {
  const isServed = commands().length === 0 && !wantsOtherThanFetcher();
  if (!isServed || !isObject(config) || config.console === false) return false;
  return host().permissions.querySync({ name: "net", host: DESK_HOST }).state === "granted";
}

/** Serves until a signal ends it, and replaces the gateway whenever it asks for that. Returns the exit code. */
async function serveWithDesk(config: unknown, signals: Pick<Start, "handOver" | "orphaned">): Promise<number> {
  const [{ openDesk }, { Gateways }] = await Promise.all([import("./desk.ts"), import("./gateways.ts")]);
  let present = config;
  const desk = await openDesk({
    launcher: onNode()?.main ?? import.meta.url,
    say,
    place: (port) => ({
      options: ["config", "main"].flatMap((name) => option(name) === undefined ? [] : [`--${name}=${option(name)}`]),
      url: healthUrl({ config: present, listen: { ...LISTEN, port: String(port) }, isFetcher: false }).origin,
    }),
    async restart(port, token) {
      if (host().build.os !== "linux") return "Only on Linux can two gateways share a port";
      const next = readConfig();
      const failure = await gateways.restart(() => generationOf(next, port), token);
      if (failure !== undefined) return failure;
      present = next;
      desk.setNeedsCode(!hasKeys(next));
    },
  });
  /** `port`: the one that it takes over. */
  const generationOf = async (config: unknown, port?: number): Promise<Generation> => {
    const { token, variables, started, dismiss } = desk.admit();
    const taking: Record<string, string> = port === undefined ? {} : { [TAKES_OVER]: String(port) };
    const free = port !== undefined && isAnyPort(config) ? { port } : {};
    const start = await prepare(config, { variables: { ...variables, ...taking }, net: [desk.address], ...free });
    const end = () => {
      dismiss();
      start.end();
    };
    // Two gateways share a port by an unstable feature of Deno.
    const flags = [...start.flags, "--unstable-net"];
    return { token, spawn: () => spawnOnce({ ...start, flags, ...signals }), started, end };
  };
  desk.setNeedsCode(!hasKeys(config), pageOf(config));
  const first = await generationOf(config);
  if (!await cache(option("main") ?? BUILT_IN)) {
    first.end();
    return 1;
  }
  const gateways = new Gateways(first);
  passSignals(signals, (signal) => {
    // A gateway waits for its requests, and the page of a command is one of them.
    if (signal !== "SIGHUP") desk.endCommands();
    gateways.forward(signal);
  });
  const code = await gateways.ended;
  desk.close();
  return code;
}

/** Whether callers need a key or a token, so that the gateway itself knows its operators. */
function hasKeys(config: unknown): boolean {
  if (!isObject(config)) return false;
  return Array.isArray(config.keys) && config.keys.length > 0 || config.storedKeys === true ||
    config.oidc !== undefined;
}

/** The URL of the console. `undefined` if the system chooses the port, or if the address is a mistake, which the gateway reports. */
function pageOf(config: unknown): string | undefined {
  try {
    return isAnyPort(config) ? undefined : `${healthUrl({ config, listen: LISTEN, isFetcher: false }).origin}/console`;
  } catch {
    return undefined;
  }
}

function isAnyPort(config: unknown): boolean {
  const written = isObject(config) && isObject(config.listen) ? config.listen.port : undefined;
  return Number(LISTEN.port ?? written) === 0;
}

/** The permissions for a command, which mostly replace those of the gateway. */
async function forCommand(
  gateway: Permissions,
  config: unknown,
  listen: PermissionSource["listen"],
): Promise<Permissions> {
  const [command] = commands();
  if (command === "version") {
    return await (await import("./asking_permissions.ts")).forVersion(gateway, world.env);
  }
  if (command === "verify") return { ...gateway, net: [], read: [...commands().slice(1), codeFolder()], write: [] };
  if (command !== "doctor") return { ...gateway, ...await narrowed(config, listen) };
  // The doctor also reads what the command connect has left behind.
  const { receiptReads } = await import("../programs/connect/permissions.ts");
  return { ...gateway, read: [...gateway.read, ...receiptReads(await theMachine())] };
}

async function narrowed(config: unknown, listen: PermissionSource["listen"]): Promise<Partial<Permissions>> {
  const [command, subject, output] = commands();
  // The command writes that file, and not the store.
  if (command === "catalog") return { write: [output ?? `models-${subject}.json`] };
  if (command === "validate") return { net: [], write: [] };
  if (command === "probe" || command === "check") {
    const { forCheck, forProbe } = await import("./asking_permissions.ts");
    return command === "check" ? forCheck() : forProbe(configFile());
  }
  if (command === "health") return { net: [healthUrl({ config, listen, isFetcher: subject === "fetcher" }).host] };
  return {};
}

/** The command `connect` changes files of other programs and runs them, which the gateway never does. */
async function flagsToConnect(): Promise<string[]> {
  const { connectFlags } = await import("../programs/connect/permissions.ts");
  return connectFlags(host().args, await theMachine());
}

async function theMachine() {
  const { leadsTo } = await import("../programs/connect/machine.ts");
  return { os: host().build.os, env: (name: string) => host().env.get(name), isThere, realPath: leadsTo, readJson };
}

/** Starts the fetcher beside the gateway. The code for that is loaded only if it may be needed. */
async function startBeside(config: unknown, world: FetcherWorld): Promise<Beside | undefined> {
  if (!isObject(config) || (config.hostedTools ?? config.documents) === undefined) return undefined;
  return await (await import("./fetcher_start.ts")).startBeside(config, world);
}

/** Starts the interpreter beside the gateway, if the configuration has code executed. */
async function startInterpreter(config: unknown): Promise<InterpreterBeside | undefined> {
  if (!isObject(config) || !isObject(config.hostedTools) || !isObject(config.hostedTools.codeExecution)) {
    return undefined;
  }
  return await (await import("./interpreter_process.ts")).startInterpreter(config, world);
}

/** Makes sure that all code of the gateway is on this machine. */
async function cache(main: string): Promise<boolean> {
  const worker = new URL("../tokens/worker.ts", import.meta.url).href;
  if (onNode()) return true;
  const isWhole = main === BUILT_IN && arePackagesThere(readJson(new URL("../../deno.lock", import.meta.url)));
  if (isWhole || await isCached(main, worker)) return true;
  say("Downloading Laneway's packages (3 MB); later starts need no network");
  // On a terminal Deno shows how far it is. Elsewhere it would print a line for each package.
  const quiet = host().stderr.isTerminal() ? [] : ["--quiet"];
  return (await command(host().execPath(), { args: ["cache", ...quiet, main, worker] }).spawn().status).success;
}

if (import.meta.main) host().exit(await launch());
