/**
 * How the bodies of one wire are laid out, so that the core can ask a server again without what it refused. A path is
 * the names of fields joined by dots, with `[]` after a list: `messages[].content[].text`.
 */
import type { JsonObject } from "../canonical/json.ts";

/** The other forms that a request can be asked in, each with its path or the idea of a refusal that calls for it. */
export const FORMS = [
  "asked streamed",
  "texts joined",
  "arguments as objects",
  "arguments parsed",
  "short ids of calls",
  "turns joined",
  "system messages merged",
  "system messages in the user turn",
  "schemas with types",
  "schemas simplified",
  "schemas bare",
  "schemas empty",
  "thinking off",
  "tool choice auto",
  "tool changes in words",
  "results of tools as texts",
  "pictures as placeholders",
] as const;

export type FormName = (typeof FORMS)[number];

export interface BodyLayout {
  /** Fields that are never left out, because the request would be another one without them. */
  kept: ReadonlySet<string>;
  /** Names of fields that hold what was said, wherever they are in the conversation. They are never left out either. */
  needed: ReadonlySet<string>;
  /** Fields that are left out only where a host names them: what the gateway sends to all, and what protects the client. */
  harmless: ReadonlySet<string>;
  /** Fields whose inner names are the client's own. Nothing in them is looked at. */
  free: ReadonlySet<string>;
  /** Where JSON schemas are. */
  schemas: ReadonlySet<string>;
  /** The fields that ask for an answer of a form. */
  answerForms: readonly string[];
  /** The limit of the answer, under each of its names. */
  limits: readonly string[];
  /** The list of turns, and the text outside it that instructs the model, if the wire has one. */
  turns: string;
  instructions?: string;
  /** The ids of calls, where they are made and where they are answered. */
  callIds: ReadonlySet<string>;
  /** The arguments of calls that are JSON in a string. */
  arguments: ReadonlySet<string>;
  /** The types of parts that hold pictures. */
  pictures: ReadonlySet<string>;
  /** Other forms to try if a server complains of a field that is kept. */
  instead: Readonly<Record<string, readonly FormName[]>>;
  /** Fields of turns that some servers require, with the value that says nothing. */
  fillable: Readonly<Record<string, { role: string; value: string }>>;
  /** The fields that turn thinking off, and those that would turn it on. */
  thinking: { off: Readonly<Record<string, unknown>>; on: readonly string[] };
  /** The fields that ask for the answer as a stream. */
  streamed: Readonly<Record<string, unknown>>;
  /** The body with the tools as its turns leave them, if the wire's turns can change them, and the changes in words. */
  withoutToolChanges?(body: JsonObject): JsonObject;
  /** The body with results of tools that are texts, and their files in a turn of the user, if results can hold files. */
  withTextResults?(body: JsonObject): JsonObject;
  /** Recognizes what a refusal is about by its words. */
  ideas(text: string): RefusalIdeas;
}

export interface RefusalIdeas {
  /** Other forms that the words call for, the one with the least loss first. */
  forms: readonly FormName[];
  /** Whether the words say that something is missing. */
  isMissing: boolean;
  /** Whether they say that the host failed while it read the request or rendered its template, whatever its status. */
  isUnread: boolean;
  /** Whether they are about what the request says and not about how: moderation, or a model that is not there. */
  isFinal: boolean;
}
