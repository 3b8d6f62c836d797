import type { Plugins } from "../compose/plugins.ts";
import type { StandardStreams } from "../observe/standard.ts";
import type { Platform } from "../platform/platform.ts";

/** What every command works with. */
export interface Program {
  platform: Platform;
  /** What the user gave in place of the built-in ones. */
  plugins: Partial<Plugins>;
  streams: StandardStreams;
}

/** A command line that cannot be understood. The message is for people. */
export class UsageError extends Error {}
