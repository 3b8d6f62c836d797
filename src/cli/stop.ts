/** How the gateway ends: a first signal lets what runs come to its end, a second one aborts it. */
import type { App } from "../app.ts";
import type { Config } from "../config/schema.ts";
import type { Platform, Serving, Signal } from "../platform/platform.ts";
import { callWhileAlive } from "../util/idle_timer.ts";
import type { Terminal } from "./terminal.ts";

/** How long aborted requests have to answer their clients. */
const ABORT_LIMIT_MS = 1_000;
/** A key press reaches a program both from the terminal and from the task runner that started it. */
const SAME_SIGNAL_MS = 250;
/** How often the launcher is looked for, in milliseconds. */
const LOOK_MS = 500;

/** The signals that end this process, from when they are watched on. */
export interface StopSignals {
  first: Promise<Signal>;
  second: Promise<void>;
  /** What watches them keeps no process alive any more. */
  forget(): void;
}

export interface Stopping {
  signals: StopSignals;
  server: Serving;
  app(): App;
  /** By the configuration that is served at the end. */
  patience(): Config["stop"];
  /** Called at the first signal. */
  onStop(): void;
  say(text: string): void;
}

/** Waits for a signal, then ends the server. Returns whether every request came to its own end. */
export async function stopAtSignal(stopping: Stopping): Promise<boolean> {
  const { signals } = stopping;
  try {
    return await stopAt(await signals.first, stopping);
  } finally {
    signals.forget();
  }
}

async function stopAt(signal: Signal, stopping: Stopping): Promise<boolean> {
  const { app, server, signals: { second }, onStop, say } = stopping;
  const { noticeMs, drainMs } = stopping.patience();
  onStop();
  say(`${signal}: finishing running requests; send it again to abort them`);
  app().drain();
  if (signal === "SIGTERM") await Promise.race([delay(noticeMs), second]);
  const drained = server.shutdown().then(() => app().settled()).then(() => true);
  const overdue = Promise.race([delayWhileAlive(drainMs), second]).then(() => false);
  if (await Promise.race([drained, overdue])) return true;
  app().abort();
  await Promise.race([drained, delay(ABORT_LIMIT_MS)]);
  return false;
}

/** To be called before the first client is served: a signal that nobody watches ends the process at once. */
export function watchSignals({ os, onSignal, env, parentId }: Platform, terminal: Terminal): StopSignals {
  const first = Promise.withResolvers<Signal>();
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
    // The shell, the system and the launcher all send it, and the launcher SIGINT, too: none means it twice.
    onSignal("SIGHUP", () => {
      if (terminal.isGone()) first.resolve("SIGHUP");
    });
  }
  // Where the launcher is killed, nobody else could stop this process.
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
  return { first: first.promise, second: second.promise, forget };
}

/** Windows has no such signal. */
export function canHangUp(os: string): boolean {
  return os !== "windows";
}

/** The same, for what nothing waits for where all else is over. */
function delayWhileAlive(ms: number): Promise<void> {
  return new Promise((resolve) => void callWhileAlive(ms, resolve));
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
