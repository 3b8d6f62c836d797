/** The parts of the console's guide: facts about the configuration, and the launcher that runs commands for it. */
import type { Price } from "../canonical/price.ts";
import type { Store } from "../state/store.ts";

/** An upstream of the running configuration. */
export interface SetupUpstream {
  name: string;
  /** Its service's name for people, or else its driver. */
  title: string;
  state: "ready" | "no-secret";
  /** The remedy, if it is not ready. */
  reason?: string;
}

/** A model that a lane lists itself. */
export interface SetupModel {
  lane: string;
  name: string;
  task: string;
  /** Whether a target can be called. */
  works: boolean;
  /** Whether it is part of the program, such as the sandbox. */
  isBuiltIn: boolean;
  /** Why none can. */
  reason?: string;
  /** In the order of preference. `price`: as configured. */
  targets: readonly { upstream: string; model: string; price?: Price }[];
}

/** A known service, for a list to choose from. */
export interface SetupProvider {
  id: string;
  title: string;
  /** The page on which its users create a key. Absent if it needs none. */
  keysAt?: string;
  /** Whether each user has a base URL of their own. */
  needsBaseUrl: boolean;
  /** An example of such a URL. */
  form?: string;
}

export interface SetupFacts {
  upstreams(): SetupUpstream[];
  models(): SetupModel[];
  providers(): SetupProvider[];
  drivers(): { name: string; tasks: readonly string[]; needsBaseUrl: boolean }[];
  /** The hub of the built-in configuration. */
  hub?: { title: string; keysAt: string };
}

/** The groups of checks of the command `doctor`, in the order of a request's path. */
export type HealthPart = "configuration" | "machine" | "login" | "upstreams" | "models" | "clients";

export interface Examining {
  parts: readonly HealthPart[];
  /** The only lane or model to check. */
  only: { lane?: string; model?: string };
  store: Store;
  /** Aborted when nobody waits for the findings any more. */
  signal: AbortSignal;
  /** Takes findings as they are made. `isOver`: nothing more comes of this part. */
  tell(part: HealthPart, findings: readonly object[], isOver: boolean): void;
}

/** One command that the launcher runs, as `init` and `connect` take it. */
export type SetupTask =
  | { do: "find" }
  | { do: "check"; source: object }
  | { do: "plan"; answers: object }
  | { do: "write"; answers: object; version: string }
  /** The checks that need files which the gateway may not read. */
  | { do: "examine" }
  | {
    do: "connect";
    client: string;
    model?: string;
    lane?: string;
    /** The gateway's key for the client. */
    key?: string;
    undo?: boolean;
    print?: boolean;
  };

/** How what was written takes effect. `command`: what the user has to type. */
export type TakenEffect =
  | { outcome: "applied" | "restarted" }
  | { outcome: "by-hand"; command: string; reason?: string };

/** The way from the gateway to its launcher. */
export interface SetupDesk {
  /** The configuration file, which may not exist yet. */
  file: string;
  /** Whether the gateway was started without a configuration file. */
  isFresh: boolean;
  /** The command that starts the gateway. */
  command: string;
  /** The operating system. */
  platform: string;
  /** Why no command can be run for a page. Absent if it can. */
  why?: string;
  /**
   * `needsCode`: whether pages have to give the one-time code. `isOpen`: whether this page has done so. `folder`: where the gateway was
   * started, for a page that is open.
   */
  state(session: string | undefined): Promise<{ needsCode: boolean; isOpen: boolean; folder?: string }>;
  /** Exchanges the one-time code for a session. Throws `permission` if the code is wrong. */
  open(code: string): Promise<string>;
  /** The JSON that a command prints. Throws `permission` without a session, and `unavailable` if the command fails. */
  run(task: SetupTask, session: string | undefined, signal: AbortSignal): Promise<unknown>;
  /** The lines of JSON that a command prints as it goes on. Throws as `run` does. */
  stream(
    task: SetupTask,
    session: string | undefined,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>>;
  /** Runs the checks of the command `doctor` that this process may do. */
  examine(how: Examining): Promise<void>;
  /** The titles of known clients, by the names that they give themselves. */
  titles(): Promise<ReadonlyMap<string, string>>;
  /** Why the gateway could use this text of the file only after a restart. Absent if it can use it now. */
  restartFor(text: string): string | undefined;
  /** Uses the file as it is now, with a restart if it needs one. `by`: the operator. */
  use(session: string | undefined, by: string): Promise<TakenEffect>;
}
