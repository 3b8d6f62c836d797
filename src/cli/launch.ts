/**
 * Starts the gateway with exactly the permissions that its configuration needs. It imports only files that import nothing, so that
 * no dependency runs with more permissions.
 */
import {
  ARENAS,
  codeFolder,
  COLOUR_VARIABLES,
  FETCHER_TOKEN,
  FETCHER_URL,
  flagsOf,
  keeperStore,
  type Permissions,
  permissionsOf,
  type PermissionSource,
} from "../config/permissions.ts";
import { isObject, mergeJson, type Preset, withoutComments, withPresets } from "../util/config_text.ts";
import { shown } from "../util/printable.ts";
import { arePackagesThere, isCached, isThere } from "./cached.ts";
import type { Beside, FetcherWorld } from "./fetcher_start.ts";
import { type Child, keepAtHangUp, outliveHangUp, send } from "./hang_up.ts";
import { healthUrl } from "./health_url.ts";
import { npmEnded } from "./npm_ancestor.ts";
import { telemetryVariables } from "./telemetry.ts";
import { watchTerminal } from "./terminal.ts";

/** The value of a command-line option in either form. If it occurs several times, the last one counts. */
function option(name: string): string | undefined {
  const at = Deno.args.findLastIndex((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  const found = Deno.args[at];
  return found?.includes("=") ? found.slice(found.indexOf("=") + 1) : found && Deno.args[at + 1];
}

/** The arguments that are not options: a command and its own arguments. */
function commands(): string[] {
  return Deno.args.filter((arg, at) => !arg.startsWith("--") && !isOptionWithValue(Deno.args[at - 1]));
}

/** Whether there is an option that the fetcher does not have: `--help`, or a mistake that the gateway's parser reports. */
function wantsOtherThanFetcher(): boolean {
  return Deno.args.some((arg) => arg.startsWith("--") && !/^--(config|hostname|port|main)(=|$)/.test(arg));
}

function isOptionWithValue(arg: string | undefined): boolean {
  return ["--config", "--hostname", "--port", "--workers", MAIN].includes(arg ?? "");
}

/** The arguments for the program: all except those that only the launcher reads. */
function passedOn(): string[] {
  return Deno.args.filter((arg, at) =>
    arg !== WATCH && arg !== MAIN && !arg.startsWith(`${MAIN}=`) && Deno.args[at - 1] !== MAIN
  );
}

const readText = (path: string) => Deno.readTextFileSync(path);

/** An unreadable configuration needs no permissions. The gateway reports what is wrong with it. */
function readJson(path: string | URL): unknown {
  try {
    return JSON.parse(withoutComments(Deno.readTextFileSync(path).replace(/^\ufeff/, "")));
  } catch {
    return undefined;
  }
}

/** The hosts of other providers than the built-in ones are not known before their code runs. */
const PROVIDERS = new URL("../../plugins/providers/presets.json", import.meta.url);
const WATCH = "--watch";
/** The entry file of a gateway with plugins of its own. */
const MAIN = "--main";
const BUILT_IN = new URL("../main.ts", import.meta.url).href;
/** The unstable features of Deno that the gateway needs, whatever the `deno.json` beside the entry file has. */
const UNSTABLE = ["--unstable-kv", "--unstable-no-legacy-abort"];

const FORWARDED: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGINT", "SIGTERM", "SIGHUP"];

const terminal = watchTerminal({ isTerminal: (stream) => Deno[stream].isTerminal() });

/** SIGHUP makes a gateway read its configuration again. It ends any other command, as usual. */
function outlive(command: string | undefined): () => void {
  return command === undefined && FORWARDED.includes("SIGHUP") ? outliveHangUp(terminal) : () => {};
}

function configFile(): string {
  const named = (commands()[0] === "validate" ? commands()[1] : undefined) ?? option("config");
  return (named ?? Deno.env.get("LANEWAY_CONFIG")) || "gateway.json";
}

async function launch(): Promise<number> {
  const [command] = commands();
  const handOver = outlive(command);
  const orphaned = npmEnded();
  const preset = readJson(new URL("../../gateway.default.json", import.meta.url));
  const file = configFile();
  const written = withPresets(readJson(file), () => readJson(PROVIDERS) as Record<string, Preset>);
  const merged = isObject(written) && written.extends === "default" ? mergeJson(preset, written) : written ?? preset;
  const listen = { hostname: option("hostname"), port: option("port") };
  const world = { env: (name: string) => Deno.env.get(name), readJson, say };
  if (command === "fetcher" && !wantsOtherThanFetcher()) return await serveFetcher(merged, listen, world, orphaned);
  const main = option("main") ?? BUILT_IN;
  const beside = command === undefined ? await startBeside(merged, world) : undefined;
  const own: Record<string, string> = beside
    ? { [FETCHER_URL]: beside.process.url, [FETCHER_TOKEN]: beside.token }
    : {};
  const env = (name: string) => own[name] ?? Deno.env.get(name);
  const place = { config: merged, file, listen, env, os: Deno.build.os, code: codeFolder(), isThere, readText };
  const flags = command === "connect"
    ? await flagsToConnect()
    : flagsOf(withColours(await forCommand(permissionsOf(place), merged, listen)));
  const start = { flags, main, own, orphaned, handOver, store: keeperStore(place) };
  try {
    if (!await cache(main)) return 1;
    return await runnerOf(command)(start);
  } finally {
    beside?.process.stop(true);
  }
}

/** The permissions for a command, which mostly replace those of the gateway. */
async function forCommand(
  gateway: Permissions,
  config: unknown,
  listen: PermissionSource["listen"],
): Promise<Permissions> {
  if (commands()[0] !== "doctor") return { ...gateway, ...narrowed(config, listen) };
  // The doctor also reads what the command connect has left behind.
  const { receiptReads } = await import("../programs/connect/permissions.ts");
  return { ...gateway, read: [...gateway.read, ...receiptReads(await theMachine())] };
}

function withColours(permissions: Permissions): Permissions {
  return { ...permissions, env: [...permissions.env, ...COLOUR_VARIABLES] };
}

function narrowed(config: unknown, listen: PermissionSource["listen"]): Partial<Permissions> {
  const [command, subject, output] = commands();
  // The command writes that file, and not the store.
  if (command === "catalog") return { write: [output ?? `models-${subject}.json`] };
  if (command === "validate") return { net: [], write: [] };
  if (command === "probe") return forProbe();
  if (command === "check") return forCheck();
  if (command === "health") return { net: [healthUrl({ config, listen, isFetcher: subject === "fetcher" }).host] };
  return {};
}

/** The command `check` asks one server, plays another one on this machine, and writes its reports. */
function forCheck(): Partial<Permissions> {
  const port = option("upstream-port");
  return {
    net: [hostAsked(), ...port === undefined ? [] : [`127.0.0.1:${port}`]],
    env: ["LANEWAY_COMMAND", "LANEWAY_LAUNCHER", option("key-env") ?? []].flat(),
    read: [],
    write: [option("markdown") ?? [], option("junit") ?? []].flat(),
  };
}

/** The host of the URL among the arguments. */
function hostAsked(): string {
  const url = URL.parse(commands().find((one) => /^https?:/.test(one)) ?? "");
  return url ? `${url.hostname}:${url.port || (url.protocol === "https:" ? 443 : 80)}` : "127.0.0.1";
}

/** The command `probe` asks a server that is not configured yet, and may write the configuration. */
function forProbe(): Partial<Permissions> {
  const file = configFile();
  const own = [file, `${file}.laneway-new`];
  return {
    net: [hostAsked()],
    env: ["LANEWAY_CONFIG", "LANEWAY_COMMAND", "LANEWAY_LAUNCHER", option("secret-env") ?? []].flat(),
    read: [...own, file.replace(/[^/\\]*$/, "") || "."],
    write: own,
  };
}

/** The command `connect` changes files of other programs and runs them, which the gateway never does. */
async function flagsToConnect(): Promise<string[]> {
  const { connectFlags } = await import("../programs/connect/permissions.ts");
  return connectFlags(Deno.args, await theMachine());
}

async function theMachine() {
  const { leadsTo } = await import("../programs/connect/machine.ts");
  return { os: Deno.build.os, env: (name: string) => Deno.env.get(name), isThere, realPath: leadsTo, readJson };
}

/** Starts the fetcher beside the gateway. The code for that is loaded only if it may be needed. */
async function startBeside(config: unknown, world: FetcherWorld): Promise<Beside | undefined> {
  if (!isObject(config) || config.hostedTools === undefined) return undefined;
  return await (await import("./fetcher_start.ts")).startBeside(config, world);
}

/** Makes sure that all code of the gateway is on this machine. */
async function cache(main: string): Promise<boolean> {
  const worker = new URL("../tokens/worker.ts", import.meta.url).href;
  const isWhole = main === BUILT_IN && arePackagesThere(readJson(new URL("../../deno.lock", import.meta.url)));
  if (isWhole || await isCached(main, worker)) return true;
  say("First start: downloading the packages that Laneway needs, about 3 MB");
  // On a terminal Deno shows how far it is. Elsewhere it would print a line for each package.
  const quiet = Deno.stderr.isTerminal() ? [] : ["--quiet"];
  return (await new Deno.Command(Deno.execPath(), { args: ["cache", ...quiet, main, worker] }).spawn().status).success;
}

/** Runs the fetcher as a service of its own, until a signal ends it. Returns the exit code. */
async function serveFetcher(
  config: unknown,
  listen: { hostname?: string; port?: string },
  world: FetcherWorld,
  orphaned: Promise<boolean>,
): Promise<number> {
  const { startService } = await import("./fetcher_start.ts");
  const fetcher = await startService(config, listen, world);
  if (typeof fetcher === "string") {
    say(fetcher);
    return 1;
  }
  say(`Fetcher: ${fetcher.url}`);
  for (const signal of FORWARDED) Deno.addSignalListener(signal, () => fetcher.stop(false));
  orphaned.then((isOrphan) => isOrphan && fetcher.stop(false));
  await fetcher.ended;
  return 0;
}

function say(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${shown(text)}\n`));
}

interface Start {
  /** Deno's options. */
  flags: readonly string[];
  main: string;
  /** Environment variables for the gateway. */
  own: Record<string, string>;
  orphaned: Promise<boolean>;
  /** The store that the keeper of several workers opens. Absent if the store is on a server. */
  store: ReturnType<typeof keeperStore>;
  /** Must be called once there is a listener for SIGHUP. */
  handOver(): void;
}

/** The arguments for Deno. */
function argsOf({ flags, main }: Start): string[] {
  // For developers: the process is restarted when the code changes.
  const watch = Deno.args.includes(WATCH) ? [WATCH] : [];
  return ["run", ...UNSTABLE, ...flags, ...watch, main, ...passedOn()];
}

/** Runs Deno, and passes signals on to it. Returns its exit code. */
async function run(start: Start): Promise<number> {
  const child = spawn(argsOf(start), start.own);
  passSignals(start, (signal) => send(child, signal));
  return (await child.status).code;
}

function spawn(args: string[], own: Record<string, string>): Child {
  const arenas = Deno.env.has("MALLOC_ARENA_MAX") ? {} : ARENAS;
  const launched = { LANEWAY_LAUNCHER: String(Deno.pid), LANEWAY_COMMAND: typedCommand() };
  const env = { ...arenas, ...telemetryVariables(), ...own, ...launched };
  const start = () => new Deno.Command(Deno.execPath(), { args, env }).spawn();
  return commands().length > 0 ? start() : keepAtHangUp(start, terminal);
}

/** A terminal sends a signal to all processes, and a gateway takes the two as one. Another process signals only this one. */
function passSignals({ orphaned, handOver }: Start, pass: (signal: Deno.Signal) => void): void {
  let isOver = false;
  // If npm was started in a terminal, both may happen. A second signal would abort running streams.
  const end = (signal: Deno.Signal) => {
    if (!isOver) pass(signal);
    isOver = true;
  };
  for (const signal of FORWARDED) {
    Deno.addSignalListener(signal, () => signal === "SIGHUP" && terminal.isGone() ? end("SIGINT") : pass(signal));
  }
  handOver();
  orphaned.then((isOrphan) => isOrphan && end("SIGTERM"));
}

/** Chooses between one process and several. The gateway itself reports a number that is not possible. */
function runnerOf(command: string | undefined): (start: Start) => Promise<number> {
  const wanted = option("workers");
  if (wanted === undefined || command !== undefined) return run;
  if (Deno.args.includes(WATCH)) return refuseToWatch;
  const count = /^[1-9]\d{0,2}$/.test(wanted) ? Number(wanted) : 1;
  return count > 1 && Deno.build.os === "linux" ? (start) => runWorkers(count, start) : run;
}

function refuseToWatch(): Promise<number> {
  say(`Cannot use --workers with ${WATCH}: it restarts one process whenever the code changes`);
  return Promise.resolve(2);
}

/** Runs several gateways. */
async function runWorkers(count: number, start: Start): Promise<number> {
  return await (await import("./start_workers.ts")).startWorkers(count, {
    store: start.store,
    say,
    spawn: (flags, own) => spawn(argsOf({ ...start, flags: [...start.flags, ...flags] }), { ...start.own, ...own }),
    passSignals: (pass) => passSignals(start, pass),
  });
}

/** The command that the user typed. A user of Deno from npm may have no `deno` on the path. */
function typedCommand(): string {
  return Deno.env.get("npm_command") === "exec" ? `npx -y deno@${Deno.version.deno} task start` : "deno task start";
}

if (import.meta.main) Deno.exit(await launch());
