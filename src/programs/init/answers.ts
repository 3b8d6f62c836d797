/**
 * What the command `init` asks and answers, as JSON. The console's guide shows the answers of the same command, which the launcher
 * runs for it. This file has types only, so that the gateway can import it.
 */

import type { JsonObject } from "../../canonical/json.ts";

/** Where models come from. `name` is the name of its upstream; `init` chooses one if it is absent. */
export type Source =
  | { kind: "hub"; secret?: string }
  | { kind: "provider"; provider: string; name?: string; baseUrl?: string; secret?: string }
  | { kind: "server"; baseUrl: string; name?: string; secret?: string }
  | { kind: "sandbox" }
  /** An upstream that the configuration has. `check` lists its models. */
  | { kind: "upstream"; name: string };

/** A model of lane `oss`: the name that clients use, and the target. */
export interface ChosenModel {
  name: string;
  upstream: string;
  model: string;
}

/** What the user chose. It adds to a configuration that is already there. */
export interface Answers {
  sources: Source[];
  models: ChosenModel[];
  /** The name of the model that answers for every name that the lane does not list. */
  default?: string;
  /** Further settings, which are merged into the file: objects key by key. The console turns things on with it. */
  settings?: JsonObject;
}

/** A model server that was found on this machine. */
export interface FoundServer {
  baseUrl: string;
  /** What it says that it is, such as "Ollama 0.14". */
  title: string;
  models: string[];
}

/** A client program, as `connect` knows it. */
export interface FoundClient {
  id: string;
  title: string;
  isInstalled: boolean;
  /** Whether `connect` has set it up for a gateway. */
  isConnected: boolean;
}

/** `init find --json` */
export interface Found {
  servers: FoundServer[];
  clients: FoundClient[];
}

/** `init check --json`, which reads a `Source` from standard input. It asks the source without spending anything. */
export type CheckedSource =
  | { ok: true; upstream: string; models: string[]; remark?: string }
  | { ok: false; reason: string; cure?: string };

/** A file that `init write` would write. Secrets are shown as `…`. */
export interface PlannedFile {
  path: string;
  text: string;
  /** The text that is there now. Absent if the file is new. */
  before?: string;
  /** Whether only its owner can read it. */
  isSecret: boolean;
}

/** `init plan --json`, which reads `Answers` from standard input. */
export type Plan =
  | {
    ok: true;
    files: PlannedFile[];
    /** Identifies what is there now: `init write --version` refuses if it has changed. */
    version: string;
  }
  | { ok: false; problems: { path: string; message: string }[] };

/** `init write --json --version <version>`, which reads `Answers` from standard input. */
export type Written = { ok: true; files: string[] } | { ok: false; reason: string };
