/**
 * The questions and answers of the command `init`, as JSON. The console's guide shows the answers of the same command, which the launcher
 * runs for it. This file has types only, so that the gateway can import it.
 */
import type { JsonObject } from "../../canonical/json.ts";
import type { Task } from "../../canonical/models.ts";
import type { Edit } from "../../context/console.ts";

/**
 * A place that models come from. Its upstream gets the name `name`, or one that `init` chooses. The secret is either `secret`, which
 * is written into a file, or in the variable `secretEnv`, of which only the name is written.
 */
export type Source =
  | { kind: "hub"; secret?: string; secretEnv?: string }
  | { kind: "provider"; provider: string; name?: string; baseUrl?: string; secret?: string; secretEnv?: string }
  | ServerSource
  | { kind: "sandbox" }
  /** An upstream that the configuration has, or would have with the edits. Only `check` takes it, to list its models. */
  | { kind: "upstream"; name: string; edits?: Edit[] };

export interface ServerSource {
  kind: "server";
  baseUrl: string;
  /** The title that `find` and `check` return. The settings for this kind of server follow from it. */
  title?: string;
  name?: string;
  secret?: string;
  secretEnv?: string;
}

/** A model of lane `oss`: the name that clients use, and the target. */
export interface ChosenModel {
  name: string;
  upstream: string;
  model: string;
  /** By default what its name says. */
  task?: Task;
}

/** The user's choice. It adds to a configuration that is already there. */
export interface Answers {
  sources: Source[];
  models: ChosenModel[];
  /** The name of the model that answers for every name that the lane does not list. */
  default?: string;
  /** Further settings, which are merged into the file: objects key by key. The console turns things on with it. */
  settings?: JsonObject;
  /** Changes of single places of the file, after all else. */
  edits?: Edit[];
  /** Takes back the last change by edits, instead of all else. It is the `stamp` of the file that this change has written. */
  undo?: string;
}

/** A model server that was found on this machine. */
export interface FoundServer {
  baseUrl: string;
  /** The name and version by which it identifies itself. */
  title: string;
  models: string[];
  /** Whether it answers only with a secret. */
  needsSecret: boolean;
}

/** A client program, as `connect` knows it. */
export interface FoundClient {
  id: string;
  title: string;
  isInstalled: boolean;
  /** Whether `connect` has set it up for a gateway. */
  isConnected: boolean;
  /** Whether its user has to make the settings, because `connect` cannot write them. */
  isByHand: boolean;
}

/** `init find --json` */
export interface Found {
  servers: FoundServer[];
  clients: FoundClient[];
}

/** `init check --json`, which reads a `Source` from standard input. It asks the source without spending anything. */
export type CheckedSource =
  | {
    ok: true;
    /** The name of its upstream, for `ChosenModel`. */
    upstream: string;
    models: string[];
    /** The source for `Answers`: with its name, its title and the address at which it answered, and without its secret. */
    source: Source;
    remark?: string;
  }
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

/** `init plan --json`, which reads `Answers` from standard input. `files` is empty if there is nothing to change. */
export type Plan =
  | {
    ok: true;
    files: PlannedFile[];
    /** Identifies what is there now: `init write --version` refuses if it has changed. */
    version: string;
  }
  | { ok: false; problems: { path: string; message: string }[] };

/** `init write --json --version <version>`, which reads `Answers` from standard input. */
export type Written =
  /** `stamp`: identifies the text that edits have written, for `undo`. */
  | { ok: true; files: string[]; stamp?: string }
  /** `isOutdated`: the files have changed since the plan. */
  | { ok: false; reason: string; isOutdated?: true };
