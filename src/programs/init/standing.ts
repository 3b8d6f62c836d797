/** The data that a plan is made from. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../canonical/json.ts";
import type { ServerKind } from "../../contract/probing.ts";
import type { Providers } from "../../contract/provider.ts";
import type { Setting } from "./document.ts";

/** The data that a plan is made from, besides the files. */
export interface Facts {
  providers: Providers;
  kinds: readonly ServerKind[];
  /** The built-in configuration. */
  builtIn: JsonObject;
  /** The tasks of each driver. */
  drivers: Readonly<Record<string, { tasks: readonly string[] }>>;
  likelyTask(model: string): string;
  /** Whether an environment variable is set. */
  isSet(variable: string): boolean;
}

/** The configuration that is there. */
export interface Standing {
  /** The folder of the file, with the slash behind it. Empty for the working folder. */
  folder: string;
  /** As it is written. */
  own: JsonObject;
  /** With what it extends. */
  whole: JsonObject;
}

export interface SourcePlan {
  /** The name of its upstream for models. */
  upstream: string;
  settings: Setting[];
  /** The file for its secret. */
  secret?: { path: string; value: string };
}

/** An answer that cannot be used. The message is for people. */
export class AnswerError extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

export function at(value: unknown, ...path: string[]): JsonValue | undefined {
  return path.reduce<unknown>(
    (found, step) => isJsonObject(found) && Object.hasOwn(found, step) ? found[step] : undefined,
    value,
  ) as JsonValue | undefined;
}
