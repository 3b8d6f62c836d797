/**
 * A process that the launcher starts beside the gateway and restarts whenever it ends. The launcher loads this file, so it imports only
 * files that import nothing.
 */
import { type ChildProcess, RUNTIME_VARIABLES } from "../platform/host.ts";

export interface KeptProcess {
  /** The port that it listens on. */
  port: number;
  /** Ends the process. Without `isHard`, it first finishes what it does. */
  stop(isHard: boolean): void;
  /** Resolves once it has ended after `stop`. */
  ended: Promise<void>;
}

/** How long a start may take, and after how long it counts as successful, in milliseconds. */
const [START_MS, WELL_MS] = [30_000, 5_000];
/** The shortest and the longest wait before a restart, in milliseconds. It grows while the process keeps ending at once. */
const [SOON_MS, LATE_MS] = [100, 30_000];

/**
 * Starts a process that prints its address, and restarts it on the same port whenever it ends. `undefined` if it does not start.
 * `wanted`: 0 for any free port.
 */
export async function keepRunning(
  spawn: (port: number) => ChildProcess,
  wanted: number,
): Promise<KeptProcess | undefined> {
  const first = spawn(wanted);
  const port = await portOf(first);
  if (port === undefined) {
    end(first, "SIGKILL");
    return undefined;
  }
  const over = Promise.withResolvers<void>();
  let [child, isStopped] = [first, false];
  void (async () => {
    for (let waitMs = SOON_MS;;) {
      const since = Date.now();
      await child.status;
      if (isStopped) return over.resolve();
      waitMs = Date.now() - since > WELL_MS ? SOON_MS : Math.min(2 * waitMs, LATE_MS);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      if (isStopped) return over.resolve();
      child = spawn(port);
      void drain(child);
    }
  })();
  return {
    port,
    stop(isHard) {
      isStopped = true;
      end(child, isHard ? "SIGKILL" : "SIGTERM");
    },
    ended: over.promise,
  };
}

/** The variables that the runtime itself needs. */
export function runtimeEnvironment(env: (name: string) => string | undefined): Record<string, string> {
  return Object.fromEntries(RUNTIME_VARIABLES.flatMap((name) => {
    const value = env(name);
    return value === undefined ? [] : [[name, value]];
  }));
}

function end(child: ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // The process has ended by itself meanwhile.
  }
}

/** The port that the process prints once it listens. */
async function portOf(child: ChildProcess): Promise<number | undefined> {
  const written = Promise.withResolvers<string>();
  void drain(child, written.resolve).then(() => written.resolve(""));
  const timer = setTimeout(() => written.resolve(""), START_MS);
  const port = /:(\d+)$/.exec((await written.promise).trim())?.[1];
  clearTimeout(timer);
  return port === undefined ? undefined : Number(port);
}

async function drain({ stdout }: ChildProcess, onText?: (text: string) => void): Promise<void> {
  let text = "";
  for await (const piece of stdout.pipeThrough(new TextDecoderStream())) {
    text += onText ? piece : "";
    if (text.includes("\n")) onText?.(text);
  }
}
