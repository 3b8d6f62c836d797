/**
 * Starts the gateway with exactly the permissions that its configuration needs. It imports nothing but what imports nothing, so
 * that no dependency runs with more.
 */
import {
  ARENAS,
  codeFolder,
  FETCHER_TOKEN,
  FETCHER_URL,
  flagsOf,
  keptStore,
  type Permissions,
  permissionsOf,
  type PermissionSource,
} from "../config/permissions.ts";
import { isObject, mergeJson } from "../util/merge.ts";
import { shown } from "../util/printable.ts";
import { arePackagesThere, isCached, isThere } from "./cached.ts";
import type { Beside, FetcherWorld } from "./fetcher_start.ts";
import { type Child, keepAtHangUp, outliveHangUp, send } from "./hang_up.ts";
import { healthUrl } from "./health_url.ts";
import { npmEnded } from "./npm_ancestor.ts";
import { telemetryVariables } from "./telemetry.ts";
import { watchTerminal } from "./terminal.ts";

/** The value of an option of the command line, in either of its forms; of several, the last. */
function option(name: string): string | undefined {
  const at = Deno.args.findLastIndex((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  const found = Deno.args[at];
  return found === undefined
    ? undefined
    : found.includes("=")
    ? found.slice(found.indexOf("=") + 1)
    : Deno.args[at + 1];
}

/** What of the command line is no option: a command, and what is its own. */
function commands(): string[] {
  return Deno.args.filter((arg, at) => !arg.startsWith("--") && !isOptionWithValue(Deno.args[at - 1]));
}

/** Whether there is an option that the fetcher does not have: `--help`, or a mistake that the gateway's parser names. */
function wantsOtherThanFetcher(): boolean {
  return Deno.args.some((arg) => arg.startsWith("--") && !/^--(config|hostname|port|main)(=|$)/.test(arg));
}

function isOptionWithValue(arg: string | undefined): boolean {
  return ["--config", "--hostname", "--port", "--workers", MAIN].includes(arg ?? "");
}

/** What the program is given of the command line: all but what only the launcher reads. */
function passedOn(): string[] {
  return Deno.args.filter((arg, at) =>
    arg !== WATCH && arg !== MAIN && !arg.startsWith(`${MAIN}=`) && Deno.args[at - 1] !== MAIN
  );
}

/** A configuration that cannot be read needs no permissions: the gateway says what is wrong with it. */
function readJson(path: string | URL): unknown {
  try {
    return JSON.parse(Deno.readTextFileSync(path).replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
}

const WATCH = "--watch";
/** The entry file of a gateway with plugins of its own. */
const MAIN = "--main";
const BUILT_IN = new URL("../main.ts", import.meta.url).href;
/** What the gateway needs of Deno that is not stable yet, whatever the configuration beside the entry file has. */
const UNSTABLE = ["--unstable-kv", "--unstable-no-legacy-abort"];

const FORWARDED: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGINT", "SIGTERM", "SIGHUP"];

const terminal = watchTerminal({ isTerminal: (stream) => Deno[stream].isTerminal() });

/** A gateway is given SIGHUP to read its configuration again; what else runs ends with it, as anything does. */
function outlive(command: string | undefined): () => void {
  return command === undefined && FORWARDED.includes("SIGHUP") ? outliveHangUp(terminal) : () => {};
}

async function launch(): Promise<number> {
  const [command] = commands();
  const handOver = outlive(command);
  const orphaned = npmEnded();
  const preset = readJson(new URL("../../gateway.default.json", import.meta.url));
  const named = option("config") ?? Deno.env.get("LANEWAY_CONFIG");
  const file = named || "gateway.json";
  const written = readJson(file);
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
  const place = { config: merged, file, listen, env, os: Deno.build.os, code: codeFolder(), isThere };
  const flags = command === "connect"
    ? await flagsToConnect()
    : flagsOf(await forCommand(permissionsOf(place), merged, listen));
  const start = { flags, main, own, orphaned, handOver, kept: keptStore(place) };
  try {
    if (!await cache(main)) return 1;
    return await runnerOf(command)(start);
  } finally {
    beside?.process.stop(true);
  }
}

/** What a command needs, for the most part in place of what the gateway does. */
async function forCommand(
  gateway: Permissions,
  config: unknown,
  listen: PermissionSource["listen"],
): Promise<Permissions> {
  if (commands()[0] !== "doctor") return { ...gateway, ...narrowed(config, listen) };
  // It looks at what the command connect has left behind, too.
  const { receiptReads } = await import("../programs/connect/permissions.ts");
  return { ...gateway, read: [...gateway.read, ...receiptReads(await theMachine())] };
}

function narrowed(config: unknown, listen: PermissionSource["listen"]): Partial<Permissions> {
  const [command, subject, output] = commands();
  // It writes that file, and not the store.
  if (command === "catalog") return { write: [output ?? `models-${subject}.json`] };
  if (command === "probe") return forProbe();
  if (command === "check") return forCheck();
  if (command === "health") return { net: [healthUrl({ config, listen, isFetcher: subject === "fetcher" }).host] };
  return {};
}

/** It asks one server, stands in for another on this machine, and writes its reports. */
function forCheck(): Partial<Permissions> {
  const port = option("upstream-port");
  const reports = [option("markdown") ?? [], option("junit") ?? []].flat();
  return {
    net: [hostAsked(), ...port === undefined ? [] : [`127.0.0.1:${port}`]],
    env: ["LANEWAY_COMMAND", "LANEWAY_LAUNCHER", option("key-env") ?? []].flat(),
    read: [],
    write: reports,
  };
}

/** The host of the address that is among the arguments. */
function hostAsked(): string {
  const url = URL.parse(commands().find((one) => /^https?:/.test(one)) ?? "");
  return url ? `${url.hostname}:${url.port || (url.protocol === "https:" ? 443 : 80)}` : "127.0.0.1";
}

/** It asks a server that no configuration names yet, and may write the configuration. */
function forProbe(): Partial<Permissions> {
  const file = option("config") ?? (Deno.env.get("LANEWAY_CONFIG") || "gateway.json");
  const own = [file, `${file}.laneway-new`];
  return {
    net: [hostAsked()],
    env: ["LANEWAY_CONFIG", "LANEWAY_COMMAND", "LANEWAY_LAUNCHER", option("secret-env") ?? []].flat(),
    read: [...own, file.replace(/[^/\\]*$/, "") || "."],
    write: own,
  };
}

/** It changes files of other programs, and runs them, which the gateway never does. */
async function flagsToConnect(): Promise<string[]> {
  const { connectFlags } = await import("../programs/connect/permissions.ts");
  return connectFlags(Deno.args, await theMachine());
}

async function theMachine() {
  const { leadsTo } = await import("../programs/connect/machine.ts");
  return { os: Deno.build.os, env: (name: string) => Deno.env.get(name), isThere, realPath: leadsTo, readJson };
}

/** The fetcher beside the gateway. What starts it is loaded only where it may be needed. */
async function startBeside(config: unknown, world: FetcherWorld): Promise<Beside | undefined> {
  if (!isObject(config) || config.hostedTools === undefined) return undefined;
  const start = await import("./fetcher_start.ts");
  return await start.startBeside(config, world);
}

/** Sees to it that all code of the gateway is on this machine. */
async function cache(main: string): Promise<boolean> {
  const worker = new URL("../tokens/worker.ts", import.meta.url).href;
  const isWhole = main === BUILT_IN && arePackagesThere(readJson(new URL("../../deno.lock", import.meta.url)));
  if (isWhole || await isCached(main, worker)) return true;
  return (await new Deno.Command(Deno.execPath(), { args: ["cache", main, worker] }).spawn().status).success;
}

/** Runs a fetcher that is a service of its own, until a signal ends it. Returns the exit code. */
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
  /** Variables that the gateway is given. */
  own: Record<string, string>;
  orphaned: Promise<boolean>;
  /** The store that the keeper of several workers opens; none where the store is on a server. */
  kept: ReturnType<typeof keptStore>;
  /** To be called once SIGHUP is listened for. */
  handOver(): void;
}

/** What Deno is run with. */
function argsOf({ flags, main }: Start): string[] {
  // For those who work on the code: what they change is run anew.
  const watch = Deno.args.includes(WATCH) ? [WATCH] : [];
  return ["run", ...UNSTABLE, ...flags, ...watch, main, ...passedOn()];
}

/** Runs Deno, and passes on to it what ends it. Returns its exit code. */
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

/** A terminal tells all of them, which a gateway takes as one; what another process sends reaches only this one. */
function passSignals({ orphaned, handOver }: Start, pass: (signal: Deno.Signal) => void): void {
  let isOver = false;
  // Both may happen, where npm was started in a terminal. A second signal would abort the streams.
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

/** What runs one process or several. What cannot be is left to the gateway, which says why. */
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

/** Runs several gateways, each with the place where it finds the others. */
async function runWorkers(count: number, start: Start): Promise<number> {
  const { startWorkers } = await import("./start_workers.ts");
  return await startWorkers(count, {
    kept: start.kept,
    say,
    spawn: (flags, own) => spawn(argsOf({ ...start, flags: [...start.flags, ...flags] }), { ...start.own, ...own }),
    passSignals: (pass) => passSignals(start, pass),
  });
}

/** What the user typed to get here. Whoever has Deno from npm may have no `deno` of their own. */
function typedCommand(): string {
  return Deno.env.get("npm_command") === "exec" ? `npx -y deno@${Deno.version.deno} task start` : "deno task start";
}

if (import.meta.main) Deno.exit(await launch());
