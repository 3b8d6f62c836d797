import type { AudioFile } from "../canonical/audio.ts";
import type { AppliedEdit } from "../canonical/editing.ts";
import type { Input, OperationName } from "../canonical/operations.ts";

/** One field of a multipart form: text or a file. */
export type FormField =
  | { name: string; value: string; file?: undefined }
  | { name: string; value?: undefined; file: FormFile };

export interface FormFile extends AudioFile {
  /** The media type that the sender declared, in lower case and without parameters. Absent if there is none. */
  declaredType?: string;
}

/** A client's request, as the core read it. */
export interface WireRequest {
  /** Parsed JSON, the form's fields in order (`FormField[]`), or the bytes as they came. `undefined` if the protocol has no body. */
  body: unknown;
  headers: Headers;
  /** The groups of the protocol's path pattern, percent-decoded. */
  params: Record<string, string | undefined>;
  query: URLSearchParams;
}

/** Every plugin function receives this, so that any of them can report what it changed. */
export interface Context {
  /** The client's wire. A driver of the same wire can leave more unchanged. */
  readonly clientWire: string;
  /** Reports what was dropped, clamped or changed: `dropped top_k`, `clamped max_tokens 128000>32768`. */
  note(text: string): void;
}

/** The context of functions that read an upstream's answer. */
export interface AnswerContext extends Context {
  /** The gateway's own count of the conversation's tokens, used if the upstream reports none. 0 if there is no count. */
  readonly inputTokens: number;
}

/** The facts about a request that the serializer of its answer needs. Item ids derive from `id` and the item's index. */
export interface Exchange<K extends OperationName = OperationName> extends Context {
  id: string;
  /** When the answer was created, in seconds since the epoch. */
  created: number;
  input: Input<K>;
  wire: WireRequest;
  /** The current time in seconds since the epoch. */
  now(): number;
  /** Milliseconds since the request arrived. */
  elapsedMs(): number;
  /** Whether the answer can be continued by its id. A failure of the store is known only at the end. */
  stored: boolean;
  /** Present if parts of the conversation were to be cleared: whether by edits, and the effect of those that applied. */
  edits?: { readonly asked: boolean; readonly applied: readonly AppliedEdit[] };
  /** Counts the frames sent in a stream, for wires that number them. Keep-alive frames of the protocol count too. */
  readonly frames: FrameCount;
}

export interface FrameCount {
  sent: number;
}
