/** Ends the gateway: the first signal, or another gateway in its place, lets running requests finish, and a second signal aborts them. */
import type { App } from "../app.ts";
import { DESK, TAKES_OVER } from "../config/permissions.ts";
import type { Config } from "../config/schema.ts";
import type { Platform, Serving, Signal } from "../platform/platform.ts";
import { callWhileAlive } from "../util/idle_timer.ts";
import type { Terminal } from "./terminal.ts";

/** How long aborted requests have to answer their clients, in milliseconds. */
const ABORT_LIMIT_MS = 1_000;
/** Signals within this time are one, in milliseconds: a key press comes both from the terminal and from the task runner. */
const SAME_SIGNAL_MS = 250;
/** How often a good moment to close the port is looked for. */
const MOST_TRIES = 500;
/** How often it is checked whether the launcher still runs, in milliseconds. */
const LOOK_MS = 500;

/** Another process serves in place of this one. */
const REPLACED = "replaced";

/** The signals that end this process. */
export interface StopSignals {
  first: Promise<Signal | typeof REPLACED>;
  second: Promise<void>;
  /** Ends this process as a signal does, because another process serves in its place. */
  replace(): void;
  /** Stops watching the launcher, so that no timer keeps the process alive. */
  forget(): void;
}

export interface Stopping {
  signals: StopSignals;
  server: Serving;
  app(): App;
  /** The time limits of the configuration in force at the end. */
  patience(): Config["stop"];
  /** Called at the first signal. */
  onStop(): void;
  say(text: string): void;
}

/** Waits for a signal, then ends the server. Returns whether every request finished by itself. */
export async function stopAtSignal(stopping: Stopping): Promise<boolean> {
  const { signals } = stopping;
  try {
    return await stopAt(await signals.first, stopping);
  } finally {
    signals.forget();
  }
}

async function stopAt(signal: Signal | typeof REPLACED, stopping: Stopping): Promise<boolean> {
  const { app, server, signals: { second }, onStop, say } = stopping;
  const { noticeMs, drainMs } = stopping.patience();
  onStop();
  say(
    signal === REPLACED
      ? "Restarted: finishing running requests in the process before"
      : `${signal}: finishing running requests; send it again to abort them`,
  );
  app().drain();
  if (signal === "SIGTERM") await Promise.race([delay(noticeMs), second]);
  if (signal === REPLACED) await untilAllAreAccepted();
  const drained = server.shutdown().then(() => app().settled()).then(() => true);
  const overdue = Promise.race([delayWhileAlive(drainMs), second]).then(() => false);
  if (await Promise.race([drained, overdue])) return true;
  app().abort();
  await Promise.race([drained, delay(ABORT_LIMIT_MS)]);
  return false;
}

/**
 * A connection that the system has opened, but that the server has not accepted yet, is reset when the server closes its port. The
 * server accepts before timers fire. So the best moment is a timer that is not late, because then nothing else was done in between.
 */
async function untilAllAreAccepted(): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const before = performance.now();
    await delay(1);
    if (performance.now() - before < 2) return;
  }
}

/** Must be called before the first client is served, because an unwatched signal ends the process at once. */
export function watchSignals({ os, onSignal, env, parentId }: Platform, terminal: Terminal): StopSignals {
  const first = Promise.withResolvers<Signal | typeof REPLACED>();
  const second = Promise.withResolvers<void>();
  const signals: Signal[] = os === "windows" ? ["SIGINT", "SIGBREAK"] : ["SIGINT", "SIGTERM"];
  let firstAt: number | undefined;
  const received = (name: Signal) => {
    first.resolve(name);
    firstAt ??= performance.now();
    if (performance.now() - firstAt > SAME_SIGNAL_MS) second.resolve();
  };
  for (const name of signals) onSignal(name, () => received(name));
  if (canHangUp(os)) {
    // The shell, the system and the launcher may all send it, and the launcher sends SIGINT, too. They all mean one signal.
    onSignal("SIGHUP", () => {
      if (terminal.isGone()) first.resolve("SIGHUP");
    });
  }
  // If the launcher is killed, nothing else could stop this process.
  const launcher = Number(env("LANEWAY_LAUNCHER"));
  let timer: ReturnType<typeof setInterval> | undefined;
  const forget = () => clearInterval(timer);
  if (launcher && os !== "windows") {
    timer = setInterval(() => {
      if (parentId() === launcher) return;
      forget();
      received("SIGTERM");
    }, LOOK_MS);
  }
  return { first: first.promise, second: second.promise, replace: () => first.resolve(REPLACED), forget };
}

/** Windows has no such signal. */
export function canHangUp(os: string): boolean {
  return os !== "windows";
}

/** A delay that does not keep the process alive. */
function delayWhileAlive(ms: number): Promise<void> {
  return new Promise((resolve) => void callWhileAlive(ms, resolve));
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The place of this process: its command line and its port. */
export interface Place {
  path: string | undefined;
  isWorker: boolean;
  /** Present if another process may serve at the same port. */
  shared?: { isFirst: boolean };
  port?: number;
  isReplaced?: true;
  onReplaced(): void;
}

export function placeOf(
  { path, worker, loaded, platform, replace }: Pick<Place, "path"> & {
    worker: Place["shared"];
    loaded: { config: Config };
    platform: Platform;
    replace(): void;
  },
): Place {
  const place: Place = {
    path,
    isWorker: worker !== undefined,
    shared: worker ?? neighborOf(loaded, platform),
    onReplaced() {
      place.isReplaced = true;
      replace();
    },
  };
  return place;
}

/** The launcher can replace this process by another one, which then serves at the same port. Only Linux can share a port. */
function neighborOf({ config: { listen: { port } } }: { config: Config }, platform: Platform): Place["shared"] {
  if (platform.os !== "linux" || variable(DESK, platform) === undefined) return undefined;
  return { isFirst: variable(TAKES_OVER, platform) !== String(port) };
}

/** A variable of the launcher, which other ways to start the gateway do not permit. */
export function variable(name: string, { env, isGranted }: Platform): string | undefined {
  return isGranted({ name: "env", variable: name }) ? env(name) : undefined;
}
