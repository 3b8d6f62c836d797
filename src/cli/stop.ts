/** How the gateway ends: a first signal lets what runs come to its end, a second one aborts it. */
import type { App } from "../app.ts";
import type { Config } from "../config/schema.ts";
import type { Platform, Serving, Signal } from "../platform/platform.ts";
import type { Terminal } from "./terminal.ts";

/** How long aborted requests have to answer their clients. */
const ABORT_LIMIT_MS = 1_000;
/** A key press reaches a program both from the terminal and from the task runner that started it. */
const SAME_SIGNAL_MS = 250;
/** How often the launcher is looked for, in milliseconds. */
const LOOK_MS = 500;

export interface Stopping {
  platform: Platform;
  terminal: Terminal;
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
  const { platform, terminal, server, app, onStop, say } = stopping;
  const { first, second } = nextSignals(platform, terminal);
  const signal = await first;
  const { noticeMs, drainMs } = stopping.patience();
  onStop();
  say(`${signal}: finishing the running requests; repeat it to abort them`);
  app().drain();
  if (signal === "SIGTERM") await Promise.race([delay(noticeMs), second]);
  const drained = server.shutdown().then(() => app().settled()).then(() => true);
  const overdue = Promise.race([delay(drainMs), second]).then(() => false);
  if (await Promise.race([drained, overdue])) return true;
  app().abort();
  await Promise.race([drained, delay(ABORT_LIMIT_MS)]);
  return false;
}

function nextSignals(
  { os, onSignal, env, parentId }: Platform,
  terminal: Terminal,
): { first: Promise<Signal>; second: Promise<void> } {
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
    // The shell, the system and the launcher all send it, and none means it twice.
    onSignal("SIGHUP", () => {
      if (!terminal.isGone()) return;
      first.resolve("SIGHUP");
      firstAt ??= performance.now();
    });
  }
  // Where the launcher is killed, nobody else could stop this process.
  const launcher = Number(env("LANEWAY_LAUNCHER"));
  if (launcher && os !== "windows") {
    const timer = setInterval(() => {
      if (parentId() === launcher) return;
      clearInterval(timer);
      received("SIGTERM");
    }, LOOK_MS);
  }
  return { first: first.promise, second: second.promise };
}

/** Windows has no such signal. */
export function canHangUp(os: string): boolean {
  return os !== "windows";
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
