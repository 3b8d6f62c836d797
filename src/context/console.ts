/** What the console needs beside what every request does. */
import type { Config, KeyFacts } from "../config/schema.ts";
import type { Caller } from "../http/auth.ts";
import type { ConsoleSessions } from "../state/console_sessions.ts";
import type { Keyring } from "../state/keyring.ts";

export interface ConsoleParts {
  sessions: ConsoleSessions;
  /** The caller whose key has the digest. Throws `authentication` where there is none, or it has expired. */
  callerOf(digest: string): Promise<Caller>;
  keys: KeyDesk;
}

/** The keys of the gateway, and where they can be changed. */
export interface KeyDesk {
  /** Those of the configuration, which nobody changes here. */
  configured: readonly KeyFacts[];
  teams: NonNullable<Config["teams"]>;
  /** Those that are made and revoked while the gateway runs, or why there are none. */
  stored: { keyring: Keyring } | { why: string };
}
