import type { GatewayError } from "../errors.ts";
import type { Extra } from "./extra.ts";

/** The formats in which speech can be requested. `pcm` is 16-bit little-endian mono without a header. */
export const SPEECH_FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const;
export type SpeechFormat = typeof SPEECH_FORMATS[number];

/** A request to read a text aloud. */
export interface SpeechRequest {
  model: string;
  text: string;
  voice?: string;
  format: SpeechFormat;
  /** 1 is the voice's normal speed. */
  speed?: number;
  /** How to read the text, in words. */
  instructions?: string;
  /** Whether the client wants the bytes inside events. */
  stream: boolean;
  extra?: Extra;
}

export interface Speech {
  /** The actual type of the bytes, whichever was requested: `audio/wav`. */
  mediaType: string;
  /** Complete, or streamed as the upstream produces it. */
  audio: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>;
}

export type SpeechEvent =
  | { type: "audio"; bytes: Uint8Array<ArrayBuffer> }
  | { type: "finish"; usage: { inputTokens: number; outputTokens: number; estimated?: true } }
  | { type: "error"; error: GatewayError };

/** An audio file from a client. */
export interface AudioFile {
  bytes: Uint8Array<ArrayBuffer>;
  name: string;
  /** The media type, detected from the bytes if possible. */
  mediaType: string;
}

/** The requested format of a transcript. All except `json` and `text` need the time of each piece. */
export const TRANSCRIPT_FORMATS = ["json", "text", "srt", "vtt", "verbose_json", "diarized_json"] as const;
export type TranscriptFormat = typeof TRANSCRIPT_FORMATS[number];

/** A request to transcribe a file, in its own language or in English. */
export interface TranscriptionRequest {
  model: string;
  file: AudioFile;
  /** Absent to keep the spoken language. */
  translateTo?: "en";
  format: TranscriptFormat;
  /** The spoken language as an ISO 639-1 code: `de`. */
  language?: string;
  prompt?: string;
  temperature?: number;
  /** The units that get timestamps. Only with the format `verbose_json`. */
  timestamps?: ("word" | "segment")[];
  stream: boolean;
  extra?: Extra;
}

export interface Transcript {
  text: string;
  language?: string;
  /** Length of the file in seconds. */
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
  /** Other data about the segment, such as the model's confidence. */
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

/** The media type and base64 data of a data URL. `undefined` if the text is not one. */
export function parseDataUrl(text: string): { mediaType: string; base64: string } | undefined {
  const comma = text.slice(0, LONGEST_HEAD).indexOf(",");
  const head = text.slice(0, Math.max(0, comma));
  if (!head.startsWith("data:") || !head.endsWith(";base64")) return undefined;
  return { mediaType: head.slice("data:".length).split(";")[0]!, base64: text.slice(comma + 1) };
}

const LONGEST_HEAD = 256;
