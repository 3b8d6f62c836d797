import type { Platform } from "../platform/platform.ts";
import { repeat } from "../util/time_limit.ts";
import { canHangUp } from "./stop.ts";
import type { Terminal } from "./terminal.ts";

/** How often the file is checked, in milliseconds. A watch would end when an editor replaces the file. */
const LOOK_MS = 500;

export interface WatchOptions {
  platform: Pick<Platform, "os" | "onSignal" | "modifiedAt">;
  /** The file of the configuration. Absent for the built-in one. */
  file: string | undefined;
  /** The modification time of the file that was read. If absent, the file as it is now counts as read. */
  since?: number;
  terminal: Terminal;
  /** Called when the configuration has to be read again. */
  again(): void;
  /** Called each time that the file is checked. */
  look(): void;
}

/** Calls `again` when the file has changed, and at SIGHUP unless the terminal was closed. Returns a function that stops it. */
export function watchConfig({ platform, file, since, terminal, again, look }: WatchOptions): () => void {
  let known = since ?? modifiedAt(file, platform);
  let before = known;
  const stop = repeat(LOOK_MS, () => {
    look();
    const now = modifiedAt(file, platform);
    // A file that is still being written is not read.
    const rests = now === before;
    before = now;
    if (!rests || now === undefined || now === known) return;
    known = now;
    again();
  });
  if (!canHangUp(platform.os)) return stop;
  const ignore = platform.onSignal("SIGHUP", () => {
    if (terminal.isGone()) return;
    known = modifiedAt(file, platform);
    again();
  });
  return () => {
    stop();
    ignore();
  };
}

/** The modification time in milliseconds since the epoch. Absent if there is no such file. */
export function modifiedAt(
  file: string | undefined,
  platform: Pick<Platform, "modifiedAt">,
): number | undefined {
  try {
    return file === undefined ? undefined : platform.modifiedAt(file);
  } catch {
    return undefined; // the file is being replaced
  }
}

/** Notices that a text has changed and rests: a file that is still being written is not used. */
export function createRestingText(first: string): { isNew(now: string): boolean; use(now: string): void } {
  let used = first;
  let before = first;
  return {
    isNew(now) {
      const rests = now === before;
      before = now;
      return rests && now !== used;
    },
    use(now) {
      used = now;
    },
  };
}
