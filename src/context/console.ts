/** What the console needs beside what every request does. */
import type { Problem } from "../config/check.ts";
import type { Config, KeyFacts } from "../config/schema.ts";
import type { Caller } from "../http/auth.ts";
import type { LoginBegun } from "../http/oidc_login.ts";
import type { ConsoleSessions, SessionHolder } from "../state/console_sessions.ts";
import type { Keyring } from "../state/keyring.ts";

export interface ConsoleParts {
  sessions: ConsoleSessions;
  /** Who the holder of a session is now. Throws `authentication` where its key is none, or nobody logs in so any more. */
  callerOf(holder: SessionHolder): Promise<Caller>;
  /** Absent where nobody logs in at a provider. */
  login?: ConsoleLogin;
  keys: KeyDesk;
  /** Absent where the gateway was given its configuration by a program. */
  configuration?: ConfigurationDesk;
}

/** The file of the configuration, and what an operator does with it. */
export interface ConfigurationDesk {
  read(): ConfigurationFile;
  /** What came of it if the gateway served by `text`. Nothing is changed. `isLocal`: whether who asks is let in where there are no keys. */
  check(text: string, by: { isLocal: boolean }): Checked;
  /**
   * Puts `text` in the file's place, if it can be used and the file is still the one of `version`, and serves by it. What needs a
   * restart is written with `atRestart` alone.
   */
  apply(text: string, options: { version: string; atRestart: boolean; by: string }): Applied;
}

export interface ConfigurationFile {
  /** Where it is, for people. */
  source: string;
  /** Absent where there is none that can be read. */
  text?: string;
  /** Of the text: another one for another text. */
  version?: string;
  /** What it was before it was changed at the console. */
  former?: string;
  /** Why it cannot be changed here; absent where it can. */
  why?: string;
  /** Why the gateway does not serve by it; absent where it does. */
  waits?: string;
}

/** `paths`: the settings that differ from those that the gateway serves by. `warning`: what operators can no longer do here then. */
export type Checked =
  | { problems: readonly Problem[] }
  | { paths: readonly string[]; restart?: string; warning?: string };

export type Applied =
  | { outcome: "applied" | "saved" }
  | { outcome: "conflict" | "wrong" | "restart" | "failed"; message: string };

/** The two halves of a login at a provider, and its end. */
export interface ConsoleLogin {
  begin(): Promise<{ url: string; begun: LoginBegun }>;
  finish(query: URLSearchParams, begun: LoginBegun): Promise<SessionHolder>;
  /** Where the browser of such a holder goes after its session here; nothing where it stays. */
  end(holder: SessionHolder): Promise<string | undefined>;
}

/** The keys of the gateway, and where they can be changed. */
export interface KeyDesk {
  /** Those of the configuration, which nobody changes here. */
  configured: readonly KeyFacts[];
  teams: NonNullable<Config["teams"]>;
  /** Those that are made and revoked while the gateway runs, or why there are none. */
  stored: { keyring: Keyring } | { why: string };
}
