import type { GatewayError } from "../errors.ts";
import type { Extra } from "./extra.ts";

/** The formats in which speech can be wanted. `pcm` is 16-bit little-endian, one channel, without a header. */
export const SPEECH_FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const;
export type SpeechFormat = typeof SPEECH_FORMATS[number];

/** A request to read a text aloud. */
export interface SpeechRequest {
  model: string;
  text: string;
  voice?: string;
  format: SpeechFormat;
  /** 1 is the voice's own pace. */
  speed?: number;
  /** How to read it, in words. */
  instructions?: string;
  /** Whether the client wants the bytes inside events. */
  stream: boolean;
  extra?: Extra;
}

export interface Speech {
  /** What the bytes are, whatever was asked for: `audio/wav`. */
  mediaType: string;
  /** Whole, or as the upstream makes them. */
  audio: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>;
}

export type SpeechEvent =
  | { type: "audio"; bytes: Uint8Array<ArrayBuffer> }
  | { type: "finish"; usage: { inputTokens: number; outputTokens: number; estimated?: true } }
  | { type: "error"; error: GatewayError };

/** A file of sound, as a client sent it. */
export interface AudioFile {
  bytes: Uint8Array<ArrayBuffer>;
  name: string;
  /** The media type, detected from the bytes where they reveal it. */
  mediaType: string;
}

/** How a transcript is wanted. All but `json` and `text` need to know when each piece was spoken. */
export const TRANSCRIPT_FORMATS = ["json", "text", "srt", "vtt", "verbose_json", "diarized_json"] as const;
export type TranscriptFormat = typeof TRANSCRIPT_FORMATS[number];

/** A request to transcribe a file, in its own language or in English. */
export interface TranscriptionRequest {
  model: string;
  file: AudioFile;
  /** Absent for the language that is spoken. */
  translateTo?: "en";
  format: TranscriptFormat;
  /** The language that is spoken, as ISO 639-1 has it: `de`. */
  language?: string;
  prompt?: string;
  temperature?: number;
  /** What gets timestamps; only with the format `verbose_json`. */
  timestamps?: ("word" | "segment")[];
  stream: boolean;
  extra?: Extra;
}

export interface Transcript {
  text: string;
  language?: string;
  /** Length of the file, in seconds. */
  duration?: number;
  segments?: TranscriptSegment[];
  words?: TranscriptWord[];
  usage?: { inputTokens: number; outputTokens: number } | { seconds: number };
  extra?: Extra;
}

/** Times are seconds from the start of the file. */
export interface TranscriptSegment {
  start: number;
  end: number;
  text: string;
  speaker?: string;
  /** Further facts about it, such as how sure the model is. */
  extra?: Extra;
}

export interface TranscriptWord {
  word: string;
  start: number;
  end: number;
}

export type TranscriptEvent =
  | { type: "delta"; text: string }
  | { type: "segment"; segment: TranscriptSegment }
  | { type: "finish"; transcript: Transcript }
  | { type: "error"; error: GatewayError };

/** A data URL's media type and base64; nothing where it is none. */
export function parseDataUrl(text: string): { mediaType: string; base64: string } | undefined {
  const comma = text.slice(0, LONGEST_HEAD).indexOf(",");
  const head = text.slice(0, Math.max(0, comma));
  if (!head.startsWith("data:") || !head.endsWith(";base64")) return undefined;
  return { mediaType: head.slice("data:".length).split(";")[0]!, base64: text.slice(comma + 1) };
}

const LONGEST_HEAD = 256;
