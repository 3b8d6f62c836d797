/** The parts that the console needs in addition to those of ordinary requests. */
import type { JsonObject, JsonValue } from "../canonical/json.ts";
import type { Problem } from "../config/check.ts";
import type { Config, KeyFacts } from "../config/schema.ts";
import type { Caller } from "../http/auth.ts";
import type { LoginBegun } from "../http/oidc_login.ts";
import type { ConsoleSessions, SessionHolder } from "../state/console_sessions.ts";
import type { Keyring } from "../state/keyring.ts";
import type { Store } from "../state/store.ts";
import type { SetupDesk, SetupFacts } from "./setup.ts";

export interface ConsoleParts {
  sessions: ConsoleSessions;
  /**
   * The current caller for the holder of a session. Throws `authentication` if the key is no longer valid, or if this kind of
   * login is disabled.
   */
  callerOf(holder: SessionHolder): Promise<Caller>;
  /** Absent if login at a provider is not configured. */
  login?: ConsoleLogin;
  keys: KeyDesk;
  /** Absent if a program passed the configuration to the gateway. */
  configuration?: ConfigurationDesk;
  setup: SetupFacts;
  health: HealthFacts;
  /** Absent if a program passed the configuration to the gateway. */
  setupDesk?: SetupDesk;
}

/** The facts about this process for the page of its health. */
export interface HealthFacts {
  /** The place of the store, for people: `in memory`. */
  place: string;
  /** The latest loss of the store, in one sentence. */
  loss(): string | undefined;
  store: Store;
}

/** The configuration file, and what operators can do with it. */
export interface ConfigurationDesk {
  read(): ConfigurationFile;
  /** Why the gateway does not use this text of the file. `undefined` if it does. */
  waits(text: string): Promise<string | undefined>;
  /**
   * Checks what would happen if the gateway used `text`. Nothing is changed. `isLocal`: whether the operator would be admitted
   * without a key.
   */
  check(text: string, by: { isLocal: boolean }): Promise<Checked>;
  /**
   * Replaces the file with `text` and uses it, if it is valid and the file still has `version`. Changes that need a restart are
   * written only with `atRestart`. `title`: what the change is, for other operators.
   */
  apply(text: string, options: { version: string; atRestart: boolean; by: string; title?: string }): Promise<Applied>;
  /** The text with the edits, or the reason why there is none. Without a text, that of a new file. */
  edited(
    text: string | undefined,
    edits: readonly Edit[],
  ): Promise<{ text: string } | { problems: readonly Problem[] }>;
  /** The upstreams and lanes of a text. Without one, those of a new file. */
  entries(text: string | undefined): Promise<ConfigurationEntries>;
  /** Asks an upstream of the file for its models, which costs nothing. */
  test(upstream: string): Promise<TestedUpstream>;
}

/** Puts a value at a place of the configuration, or removes what is there if there is no value. */
export interface Edit {
  at: readonly (string | number)[];
  value?: JsonValue;
}

/** Sections as they are written in the file, as the built-in configuration has them if the file extends it, and as a whole. */
export interface ConfigurationEntries {
  own: JsonObject;
  builtIn: JsonObject;
  whole: JsonObject;
}

export type TestedUpstream =
  | { ok: true; models: string[]; remark?: string }
  | { ok: false; reason: string; cure?: string };

export interface ConfigurationFile {
  /** The location of the file, for people. */
  source: string;
  /** Absent if there is no readable file. */
  text?: string;
  /** Identifies the text. Different texts have different versions. */
  version?: string;
  /** The text before it was changed in the console. */
  former?: string;
  /** Why it cannot be changed here. Absent if it can. */
  why?: string;
  /** The last change, if it was made by this process and the file is still as it left it. */
  last?: { title: string; by: string; time: string };
}

/** `paths`: the settings that differ from those in use. `warning`: what operators could no longer do here. */
export type Checked =
  | { problems: readonly Problem[] }
  | { paths: readonly string[]; restart?: string; warning?: string };

export type Applied =
  | { outcome: "applied" | "saved" }
  | { outcome: "conflict" | "wrong" | "restart" | "failed"; message: string };

/** The two halves of a login at a provider, and the logout. */
export interface ConsoleLogin {
  /** The console's page, as the configuration has it. */
  readonly page: URL;
  begin(): Promise<{ url: string; begun: LoginBegun }>;
  finish(query: URLSearchParams, begun: LoginBegun): Promise<SessionHolder>;
  /** The page for the browser after its session here has ended. `undefined` if it stays. */
  end(holder: SessionHolder): Promise<string | undefined>;
}

/** The gateway's keys, and which of them can be changed. */
export interface KeyDesk {
  /** The keys in the configuration, which cannot be changed here. */
  configured: readonly KeyFacts[];
  teams: NonNullable<Config["teams"]>;
  /** The keys that are created and revoked at run time, or the reason why there are none. */
  stored: { keyring: Keyring } | { why: string };
}
