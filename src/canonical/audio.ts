import { GatewayError } from "../errors.ts";
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
  /** What the bytes are, told by themselves where they tell it. */
  mediaType: string;
}

/** How a transcript is wanted. All but `json` and `text` need to know when each piece was said. */
export const TRANSCRIPT_FORMATS = ["json", "text", "srt", "vtt", "verbose_json", "diarized_json"] as const;
export type TranscriptFormat = typeof TRANSCRIPT_FORMATS[number];

/** A request to write down what is said in a file, in its own language or in English. */
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
  /** What is to be told with its time; only with the format `verbose_json`. */
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
  /** More that is said of it, such as how sure the model is. */
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

/**
 * What the first bytes of a file say that it is, as a media type; nothing where they say nothing. Raw samples have no
 * beginning of their own.
 */
export function sniffMedia(bytes: Uint8Array): string | undefined {
  const text = (start: number, length: number) => latin1(bytes.subarray(start, start + length));
  const [first, second = 0] = bytes;
  if (text(0, 4) === "RIFF" || text(0, 4) === "RF64") return IN_RIFF[text(8, 4)];
  if (text(0, 4) === "fLaC") return "audio/flac";
  if (text(0, 4) === "OggS") return "audio/ogg";
  if (text(0, 3) === "ID3") return "audio/mpeg";
  // Phones keep their pictures in the same container.
  if (text(4, 4) === "ftyp") return /^(?:hei|hev|mif1|msf1|avi)/.test(text(8, 4)) ? "image/heif" : "audio/mp4";
  if (first === 0x1a && second === 0x45 && text(2, 2) === "\xdf\xa3") return "audio/webm";
  // Of frames without a container, those of layer 0 are AAC.
  if (first === 0xff && (second & 0xf6) === 0xf0) return "audio/aac";
  // Layers II and III. Nobody uses layer I, and what looks like it is text in UTF-16 or samples near silence.
  if (first === 0xff && (second & 0xe0) === 0xe0 && [0x02, 0x04].includes(second & 0x06)) return "audio/mpeg";
  if (first === 0x89 && text(1, 3) === "PNG") return "image/png";
  if (first === 0xff && second === 0xd8) return "image/jpeg";
  if (text(0, 4) === "GIF8") return "image/gif";
  if (text(0, 5) === "%PDF-") return "application/pdf";
  if (first === 0x50 && text(1, 3) === "K\x03\x04") return "application/zip";
  return undefined;
}

const IN_RIFF: Readonly<Record<string, string>> = { WAVE: "audio/wav", WEBP: "image/webp" };

/** The media type under which each format of speech goes out. */
const MEDIA_TYPE_OF: Record<SpeechFormat, string> = {
  mp3: "audio/mpeg",
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};

/**
 * What an upstream's speech is, by its first bytes, else by its own word (`declared`, a content type), else what was wanted.
 * `note` hears where it is something else than what was wanted. Throws `upstream_error` for what is no sound.
 */
export function mediaTypeOfSpeech(
  start: Uint8Array,
  declared: string | null,
  wanted: SpeechFormat,
  note: (text: string) => void,
): string {
  if (start.length === 0) throw new GatewayError("upstream_error", "The upstream sent no sound");
  const asked = MEDIA_TYPE_OF[wanted];
  const word = (declared ?? "").toLowerCase().replace(/;.*/s, "").trim();
  const told = /^audio\/[\w.+-]+$/.test(word) ? SYNONYMS[word] ?? word : undefined;
  // Raw samples may begin with anything, the mark of a bare frame too.
  const isRaw = told === MEDIA_TYPE_OF.pcm && start[0] === 0xff;
  const seen = (isRaw ? undefined : sniffMedia(start)) ?? (/^text\/|json|html|xml/.test(word) ? word : writing(start));
  // A type that is two, of which a browser takes the second, begins with the word too.
  if (seen !== undefined && !/^audio\/[\w.+-]+$/.test(seen)) {
    throw new GatewayError("upstream_error", `The upstream sent ${seen} in place of sound`);
  }
  // Ogg holds Opus as well as other codecs; the codec's own header follows the page's.
  const isOpus = seen === "audio/ogg" && latin1(start.subarray(28, 36)) === "OpusHead";
  const mediaType = isOpus ? MEDIA_TYPE_OF.opus : seen ?? told ?? asked;
  if (mediaType !== asked) note(`delivered ${mediaType} in place of ${wanted}`);
  return mediaType;
}

/** JSON and pages are what failures come as, under a content type of sound too. */
function writing(start: Uint8Array): string | undefined {
  const text = latin1(start.subarray(0, 64));
  if (/[^\t\r\n\x20-\x7e]/.test(text)) return undefined;
  return /^\s*[[{]\s*["{\]}]/.test(text) ? "JSON" : /^\s*<[!?a-z]/i.test(text) ? "a page" : undefined;
}

/** Other names that servers have for the same formats. */
const SYNONYMS: Readonly<Record<string, string>> = {
  "audio/mp3": "audio/mpeg",
  "audio/mpeg3": "audio/mpeg",
  "audio/x-wav": "audio/wav",
  "audio/wave": "audio/wav",
  "audio/vnd.wave": "audio/wav",
  "audio/x-flac": "audio/flac",
  "audio/x-aac": "audio/aac",
  "audio/aacp": "audio/aac",
  "audio/l16": "audio/pcm",
  "audio/raw": "audio/pcm",
  "audio/x-raw": "audio/pcm",
  "audio/x-pcm": "audio/pcm",
};

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

/** A data URL's media type and base64; nothing where it is none. */
export function parseDataUrl(text: string): { mediaType: string; base64: string } | undefined {
  const comma = text.slice(0, LONGEST_HEAD).indexOf(",");
  const head = text.slice(0, Math.max(0, comma));
  if (!head.startsWith("data:") || !head.endsWith(";base64")) return undefined;
  return { mediaType: head.slice("data:".length).split(";")[0]!, base64: text.slice(comma + 1) };
}

const LONGEST_HEAD = 256;
