/**
 * Programs that call the gateway, and the settings that they need for it. Plain data: the `connect` command does the
 * rest.
 */
import type { JsonObject, JsonValue } from "../canonical/json.ts";

/** The gateway, lane and model that a client will use. */
export interface Connection {
  /** The gateway's base URL without a lane and without a trailing slash: `http://127.0.0.1:8000`. */
  gateway: string;
  lane: string;
  model: string;
  /** The environment variable that holds the key, or the key itself. Absent if the gateway requires none. */
  key?: { env: string } | { value: string };
  /** The model's context length and output limit in tokens, if the gateway knows them. */
  contextTokens?: number;
  outputTokens?: number;
  /** Whether the model accepts images. */
  takesImages: boolean;
  /** Whether the model fills gaps in a text. Known for clients that complete code as it is typed. */
  fillsGaps?: boolean;
}

/** The machine on which the client runs. */
export interface ClientMachine {
  os: string;
  /** The user's home directory. */
  home: string;
  env(name: string): string | undefined;
  isThere(path: string): boolean;
}

/** The syntax of a file. `jsonc` allows comments and trailing commas. `dotenv` and `shell` are lines of `NAME=value`. */
export type FileFormat = "json" | "jsonc" | "toml" | "yaml" | "dotenv" | "shell";

/** One value that the client reads. The rest of its file is left as it is. */
export type Setting =
  | {
    /** The path of keys that leads to the value. */
    at: readonly string[];
    /** In a `shell` file, `{ "env": "NAME" }` stands for the value of that variable. */
    value: JsonValue;
    /** Write the value only if the file has none. */
    isDefault?: boolean;
  }
  | {
    /** The path of keys that leads to a list. Empty if the whole file is a list. */
    at: readonly string[];
    /** Replaces the object in the list that has the same value in the field `by`. If there is none, it is appended. */
    entry: JsonObject;
    by: string;
  };

/** The settings that one file must contain. */
export interface SettingsFile {
  path: string;
  format: FileFormat;
  settings: readonly Setting[];
}

/** How to run the client once, unattended. The run should call one of the client's own tools. */
export interface ClientProof {
  args(connection: Connection, prompt: string): readonly string[];
  /** Variables that it needs in addition to a home directory and a path. */
  env?: Readonly<Record<string, string>>;
  /** The variable that must hold the key, if the client's files cannot name one. */
  keyIn?: string;
}

export interface Client {
  /** The name that users type: `my-editor`. */
  name: string;
  title: string;
  /** The names by which it introduces itself in `user-agent`, without versions. */
  agents?: readonly string[];
  /** The API that it calls, by its wire name in request data. */
  wire: string;
  /** Whether it also completes code as it is typed, with a model that fills gaps. */
  completesCode?: true;
  /** The command that starts the client. */
  program?: string;
  /** A folder that exists if the client is installed. Absent on systems for which there is no such client. */
  folder?(machine: ClientMachine): string | undefined;
  /** The settings for its files. Absent if its settings cannot be written from outside. */
  files?(connection: Connection, machine: ClientMachine): readonly SettingsFile[];
  /** The steps that the user must take as well, or instead: one sentence each. */
  steps?(connection: Connection, machine: ClientMachine): readonly string[];
  /** Variables that override its files. */
  overriddenBy?: readonly string[];
  proof?: ClientProof;
}
