import type { Platform } from "../platform/platform.ts";
import { repeat } from "../util/time_limit.ts";
import { canHangUp } from "./stop.ts";
import type { Terminal } from "./terminal.ts";

/** How often the file of the configuration is looked at, in milliseconds. Editors replace it, which ends a watch of it. */
const LOOK_MS = 500;

export interface WatchOptions {
  platform: Pick<Platform, "os" | "onSignal" | "modifiedAt">;
  /** The file of the configuration; none for the built-in one. */
  file: string | undefined;
  /** When the file was modified that has been read; else what it is now counts as read. */
  since?: number;
  terminal: Terminal;
  /** Called when the configuration is to be read again. */
  again(): void;
}

/** Calls `again` at SIGHUP, unless that means a closed terminal, and when the file has changed. Returns what ends that. */
export function watchConfig({ platform, file, since, terminal, again }: WatchOptions): () => void {
  let known = since ?? modifiedAt(file, platform);
  let before = known;
  const stop = repeat(LOOK_MS, () => {
    const now = modifiedAt(file, platform);
    // It is read once it rests: half of a file is no configuration.
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

/** In milliseconds since the epoch; nothing where there is no such file. */
export function modifiedAt(
  file: string | undefined,
  platform: Pick<Platform, "modifiedAt">,
): number | undefined {
  try {
    return file === undefined ? undefined : platform.modifiedAt(file);
  } catch {
    return undefined; // Between its removal and its return.
  }
}
