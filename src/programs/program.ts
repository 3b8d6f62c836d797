import type { Plugins } from "../compose/plugins.ts";
import type { StandardStreams } from "../observe/standard.ts";
import type { Platform } from "../platform/platform.ts";

/** The environment of every command. */
export interface Program {
  platform: Platform;
  /** The user's lists, which replace the built-in ones. */
  plugins: Partial<Plugins>;
  streams: StandardStreams;
}

/** A command line that cannot be understood. The message is for people. */
export class UsageError extends Error {}

/** A command that could not do its work. The message is for people. */
export class CommandError extends Error {}
