/** Runs Deno for the launcher, and passes signals on. It imports only files that import nothing. */
import { ARENAS, type keeperStore } from "../config/permissions.ts";
import { shown } from "../util/printable.ts";
import { commands, option, passedOn, WATCH } from "./arguments.ts";
import { type Child, keepAtHangUp, outliveHangUp, send } from "./hang_up.ts";
import { telemetryVariables } from "./telemetry.ts";
import { watchTerminal } from "./terminal.ts";
import { host, moduleCommand, type ModuleRun, onNode } from "../platform/host.ts";

/** The unstable features of Deno that the gateway needs, whatever the `deno.json` beside the entry file has. */
const UNSTABLE = ["--unstable-kv", "--unstable-no-legacy-abort"];

export const FORWARDED: readonly Deno.Signal[] = host().build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGINT", "SIGTERM", "SIGHUP"];

const terminal = watchTerminal({ isTerminal: (stream) => host()[stream].isTerminal() });

/** SIGHUP makes a gateway read its configuration again. It ends any other command, as usual. */
export function outlive(command: string | undefined): () => void {
  return command === undefined && FORWARDED.includes("SIGHUP") ? outliveHangUp(terminal) : () => {};
}

export interface Start {
  /** Deno's options. */
  flags: readonly string[];
  main: string;
  /** Further arguments for the program. */
  args?: readonly string[];
  /** Environment variables for the gateway. */
  own: Record<string, string>;
  orphaned: Promise<boolean>;
  /** The store that the keeper of several workers opens. Absent if the store is on a server. */
  store: ReturnType<typeof keeperStore>;
  /** Must be called once there is a listener for SIGHUP. */
  handOver(): void;
}

type Module = Pick<ModuleRun, "flags" | "main" | "args">;

/** The module of the process. */
function moduleOf({ flags, main, args = [] }: Start): Module {
  // For developers: the process is restarted when the code changes.
  const watch = host().args.includes(WATCH) ? [WATCH] : [];
  return { flags: [...UNSTABLE, ...flags, ...watch], main, args: [...passedOn(), ...args] };
}

/** Starts the program. */
export function spawnOnce(start: Start): Child {
  return spawn(moduleOf(start), start.own);
}

/** Runs the program, and passes signals on to it. Returns its exit code. */
async function run(start: Start): Promise<number> {
  const child = spawnOnce(start);
  passSignals(start, (signal) => send(child, signal));
  return (await child.status).code;
}

function spawn(module: Module, own: Record<string, string>): Child {
  const arenas = host().env.has("MALLOC_ARENA_MAX") ? {} : ARENAS;
  const launched = {
    LANEWAY_LAUNCHER: String(host().pid),
    LANEWAY_COMMAND: host().env.get("LANEWAY_COMMAND") || typedCommand(),
  };
  const env = { ...arenas, ...telemetryVariables(), ...own, ...launched };
  const start = () => moduleCommand({ ...module, env }).spawn();
  return commands().length > 0 ? start() : keepAtHangUp(start, terminal);
}

/** A terminal sends a signal to all processes, and a gateway takes the two as one. Another process signals only this one. */
export function passSignals(
  { orphaned, handOver }: Pick<Start, "orphaned" | "handOver">,
  pass: (signal: Deno.Signal) => void,
): void {
  let isOver = false;
  // If npm was started in a terminal, both may happen. A second signal would abort running streams.
  const end = (signal: Deno.Signal) => {
    if (!isOver) pass(signal);
    isOver = true;
  };
  for (const signal of FORWARDED) {
    host().addSignalListener(signal, () => signal === "SIGHUP" && terminal.isGone() ? end("SIGINT") : pass(signal));
  }
  handOver();
  orphaned.then((isOrphan) => isOrphan && end("SIGTERM"));
}

/** Chooses between one process and several. The gateway itself reports a number that is not possible. */
export function runnerOf(command: string | undefined): (start: Start) => Promise<number> {
  const wanted = option("workers");
  if (wanted === undefined || command !== undefined) return run;
  if (host().args.includes(WATCH)) return refuseToWatch;
  const count = /^[1-9]\d{0,2}$/.test(wanted) ? Number(wanted) : 1;
  return count > 1 && host().build.os === "linux" ? (start) => runWorkers(count, start) : run;
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
    spawn: (flags, own) => spawn(moduleOf({ ...start, flags: [...start.flags, ...flags] }), { ...start.own, ...own }),
    passSignals: (pass) => passSignals(start, pass),
  });
}

/** The command that the user typed. A user of Deno from npm may have no `deno` on the path. */
function typedCommand(): string {
  const node = onNode();
  if (node) return node.command;
  return host().env.get("npm_command") === "exec"
    ? `npx -y deno@${Deno.version.deno} task -q laneway`
    : "deno task -q laneway";
}

export function say(text: string): void {
  host().stderr.writeSync(new TextEncoder().encode(`${shown(text)}\n`));
}
