/** Programs that call the gateway, and what their settings must say for it. Plain data: the command `connect` does the rest. */
import type { JsonObject, JsonValue } from "../canonical/json.ts";

/** Which gateway a client is to call, and what for. */
export interface Connection {
  /** Without the lane and without a slash at its end: `http://127.0.0.1:8000`. */
  gateway: string;
  lane: string;
  model: string;
  /** The variable that holds the key, or the key. None where the gateway serves every caller. */
  key?: { env: string } | { value: string };
  /** Tokens that the model can take and give, where the gateway knows them. */
  contextTokens?: number;
  outputTokens?: number;
  /** Whether the model reads pictures. */
  takesImages: boolean;
}

/** The machine that the client runs on. */
export interface ClientMachine {
  os: string;
  /** The user's folder. */
  home: string;
  env(name: string): string | undefined;
  isThere(path: string): boolean;
}

/** How a file is written. `jsonc` may have comments and trailing commas; the last two are lines of `NAME=value`. */
export type FileFormat = "json" | "jsonc" | "toml" | "yaml" | "dotenv" | "shell";

/** One value that the client reads. Everything else in its file is left as it is. */
export type Setting =
  | {
    /** The names that lead to it. */
    at: readonly string[];
    /** In a `shell` file, `{ "env": "NAME" }` is what that variable holds. */
    value: JsonValue;
    /** Whether it is written only into a file that lacks it. */
    isDefault?: boolean;
  }
  | {
    /** The names that lead to a list; none where the whole file is one. */
    at: readonly string[];
    /** Takes the place of the list's object that has the same value in the field `by`; else it is added at the end. */
    entry: JsonObject;
    by: string;
  };

/** What is to stand in one file. */
export interface SettingsFile {
  path: string;
  format: FileFormat;
  settings: readonly Setting[];
}

/** How the client is run once without anybody at it. It is to call a tool of its own. */
export interface ClientProof {
  args(connection: Connection, prompt: string): readonly string[];
  /** Variables that it needs beside a home and a path. */
  env?: Readonly<Record<string, string>>;
  /** The variable that is to hold the key, where its files can name none. */
  keyIn?: string;
}

export interface Client {
  /** As users type it: `my-editor`. */
  name: string;
  title: string;
  /** The API that it calls, as the data of its requests knows it. */
  wire: string;
  /** The command that starts it. */
  program?: string;
  /** A folder that is there where it is installed. */
  folder?(machine: ClientMachine): string;
  /** What is to stand in its files; nothing where its settings cannot be written from outside. */
  files?(connection: Connection, machine: ClientMachine): readonly SettingsFile[];
  /** What the user is to do besides, or instead: a sentence each. */
  steps?(connection: Connection, machine: ClientMachine): readonly string[];
  /** Variables that make it ignore its files. */
  overriddenBy?: readonly string[];
  proof?: ClientProof;
}
