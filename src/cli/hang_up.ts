/**
 * SIGHUP while a gateway starts. The signal means "read the configuration again", but it ends a process that does not listen for
 * it yet. The launcher loads this file, so it imports only files that import nothing.
 */
import type { Terminal } from "./terminal.ts";
import { host } from "../platform/host.ts";

export interface Child {
  readonly status: Promise<Deno.CommandStatus>;
  kill(signal: Deno.Signal): void;
}

/** After how long a gateway is assumed to listen, in milliseconds. On an idle machine it takes a tenth of that. */
const START_MS = 2_000;

/** From now on SIGHUP ends this process only if its terminal is gone. Returns a function that removes the listener. */
export function outliveHangUp(terminal: Terminal): () => void {
  const end = () => {
    if (terminal.isGone()) host().exit(129);
  };
  host().addSignalListener("SIGHUP", end);
  return () => host().removeSignalListener("SIGHUP", end);
}

/**
 * Starts a gateway that SIGHUP does not end. A signal that comes soon after the start is held back, and several are passed on as
 * one. A gateway cannot report that it listens, because its sandbox does not let it send signals. So if a signal ends it anyway,
 * another one is started. That one reads the configuration as it is then, and has twice as long to start.
 */
export function keepAtHangUp(spawn: () => Child, terminal: Terminal): Child {
  let [child, since, startMs] = [spawn(), performance.now(), START_MS];
  let held: ReturnType<typeof setTimeout> | undefined;
  let isToEnd = false;
  const untilEnded = async () => {
    for (;;) {
      const status = await child.status;
      clearTimeout(held);
      held = undefined;
      if (status.signal !== "SIGHUP" || isToEnd || terminal.isGone()) return status;
      [child, since, startMs] = [spawn(), performance.now(), 2 * startMs];
    }
  };
  return {
    status: untilEnded(),
    kill(signal) {
      isToEnd ||= signal !== "SIGHUP";
      const leftMs = since + startMs - performance.now();
      if (signal !== "SIGHUP" || leftMs <= 0) return send(child, signal);
      held ??= setTimeout(() => {
        held = undefined;
        send(child, "SIGHUP");
      }, Math.ceil(leftMs));
    },
  };
}

export function send(child: Child, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // It has ended by itself meanwhile.
  }
}
