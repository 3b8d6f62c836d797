/** The standard streams of the process. The log of requests goes to stdout, and messages for the operator go to stderr. */
import type { Platform } from "../platform/platform.ts";
import { shown } from "../util/printable.ts";
import { createLog, type LogEntry, type StoreWarning, type Warning } from "./log.ts";
import { createOutput } from "./output.ts";

export interface StandardStreams {
  /** Writes a line of JSON for a finished request. */
  log(entry: LogEntry): void;
  /** Writes a line of JSON for something that operators should look at. */
  warn(warning: Warning | StoreWarning): void;
  /** Writes a message for the operator. If it cannot be written, such as to a closed terminal, the gateway goes on. */
  say(text: string, isError?: boolean): void;
  /** Writes the output of a command. */
  print(text: string): void;
  /** Sets how messages and output look from now on. `paint` gets text without control characters. */
  paintWith?(paint: Paint): void;
  /** Writes the lines that are still due, for `ms` milliseconds at most, because there may be no reader. */
  flush(ms: number): Promise<void>;
}

/** `isError`: whether the text says why a command has failed. */
export type Paint = (text: string, stream: "stdout" | "stderr", isError?: boolean) => string;

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
  let paint: Paint = (text) => text;
  const log = createLog(stdout.print, platform.after);
  return {
    log,
    warn: (warning) => stdout.print(shown(JSON.stringify(warning))),
    // A quoted text must not control the terminal or reorder the line.
    say: (text, isError) => stderr.print(paint(shown(text), "stderr", isError)),
    print: (text) => stdout.print(paint(shown(text), "stdout")),
    paintWith: (chosen) => void (paint = chosen),
    async flush(ms) {
      log.flush();
      await Promise.all([stdout.flush(ms), stderr.flush(ms)]);
    },
  };
}
