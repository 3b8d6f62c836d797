/** The standard streams of the process: stdout has the log of requests, stderr what is said to the person who runs it. */
import type { Platform } from "../platform/platform.ts";
import { shown } from "../util/printable.ts";
import { createLog, type LogEntry, type StoreWarning, type Warning } from "./log.ts";
import { createOutput } from "./output.ts";

export interface StandardStreams {
  /** A line of JSON for a request that is over. */
  log(entry: LogEntry): void;
  /** The same for what operators should look at. */
  warn(warning: Warning | StoreWarning): void;
  /** To the person who runs it. Where it cannot be written, as to a closed terminal, the gateway goes on all the same. */
  say(text: string): void;
  /** The answer to a command. */
  print(text: string): void;
  /** Writes what is still due; for `ms` at most, because nobody may read it. */
  flush(ms: number): Promise<void>;
}

const known = new WeakMap<Platform, StandardStreams>();

/** The standard streams of this process, which has one of each. */
export function standardStreams(platform: Platform): StandardStreams {
  const streams = known.get(platform) ?? createStreams(platform);
  known.set(platform, streams);
  return streams;
}

function createStreams(platform: Platform): StandardStreams {
  const stderr = createOutput({
    write: (bytes) => platform.write("stderr", bytes),
    dropped: (count) => `${count} lines were dropped here, because the output was not read`,
  });
  const stdout = createOutput({
    write: (bytes) => platform.write("stdout", bytes),
    dropped: (count) =>
      JSON.stringify({ time: new Date().toISOString(), dropped: count, cause: "The log was not read" }),
    failed: (thrown) => stderr.print(`Cannot write the log, continuing without it: ${(thrown as Error).message}`),
  });
  const log = createLog(stdout.print, platform.after);
  return {
    log,
    warn: (warning) => stdout.print(shown(JSON.stringify(warning))),
    // Whoever a command quotes: it steers no terminal, and turns no text around.
    say: (text) => stderr.print(shown(text)),
    print: (text) => stdout.print(shown(text)),
    async flush(ms) {
      log.flush();
      await Promise.all([stdout.flush(ms), stderr.flush(ms)]);
    },
  };
}
