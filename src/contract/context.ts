import type { AudioFile } from "../canonical/audio.ts";
import type { Input, OperationName } from "../canonical/operations.ts";

/** One field of a multipart form: a text or a file. */
export type FormField =
  | { name: string; value: string; file?: undefined }
  | { name: string; value?: undefined; file: AudioFile };

/** What a client sent, as the core read it. */
export interface WireRequest {
  /** Parsed JSON, or the fields of a form in their order (`FormField[]`); `undefined` where the protocol has no body. */
  body: unknown;
  headers: Headers;
  /** The groups of the protocol's pattern, percent-decoded. */
  params: Record<string, string | undefined>;
  query: URLSearchParams;
}

/** What every verb may use: one context, so that any of them can say what it changed. */
export interface Context {
  /** The wire that the client speaks: a driver of the same wire can leave more as it is. */
  readonly clientWire: string;
  /** Says what was dropped, clamped or changed: `dropped top_k`, `clamped max_tokens 128000>32768`. */
  note(text: string): void;
}

/** What the verbs may use besides that read an upstream's answer. */
export interface AnswerContext extends Context {
  /** Tokens of the conversation as the gateway counts them, for where the upstream does not report them; 0 where there is none. */
  readonly inputTokens: number;
}

/** What a serializer may know of the request that it answers. Item ids derive from `id` and the item's index. */
export interface Exchange<K extends OperationName = OperationName> extends Context {
  id: string;
  /** Seconds since the epoch. */
  created: number;
  input: Input<K>;
  wire: WireRequest;
  /** Seconds since the epoch, at the time of the call. */
  now(): number;
  /** Milliseconds since the request came. */
  elapsedMs(): number;
  /** Whether the answer can be continued by its id. The core learns only at the end that the store failed. */
  stored: boolean;
  /** The frames of a stream that have gone out, counted by a wire that numbers them; the protocol's keep-alives count too. */
  readonly frames: FrameCount;
}

export interface FrameCount {
  sent: number;
}
