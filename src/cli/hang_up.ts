/**
 * SIGHUP while a gateway starts. It means "read the configuration again", and ends each process that does not listen for it yet.
 * The launcher reads this file: it imports nothing but what imports nothing.
 */
import type { Terminal } from "./terminal.ts";

export interface Child {
  readonly status: Promise<Deno.CommandStatus>;
  kill(signal: Deno.Signal): void;
}

/** After how long a gateway is taken to listen, in milliseconds. It takes a tenth of that on a machine that is not busy. */
const START_MS = 2_000;

/** From now on SIGHUP ends this process only with its terminal. Returns what ends that, for when it is listened for elsewhere. */
export function outliveHangUp(terminal: Terminal): () => void {
  const end = () => {
    if (terminal.isGone()) Deno.exit(129);
  };
  Deno.addSignalListener("SIGHUP", end);
  return () => Deno.removeSignalListener("SIGHUP", end);
}

/**
 * Starts a gateway that SIGHUP does not end. One that comes soon after the start is held back, and one of several is passed on. A
 * gateway cannot report that it listens: its sandbox lets it signal nobody. So where one is ended all the same, another takes its
 * place, which reads the configuration as it is then, and has twice as long.
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
