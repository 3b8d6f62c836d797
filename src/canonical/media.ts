/** Detects media types by the first bytes, because the types that senders declare are often missing or wrong. */
import { GatewayError } from "../errors.ts";
import type { SpeechFormat } from "./audio.ts";

/** How a file of one media type begins. */
interface Signature {
  mediaType: string;
  /** Tests the bytes. `text` returns `length` of them from `start` on as characters. */
  matches(bytes: Uint8Array, text: (start: number, length: number) => string): boolean;
}

const startsWith = (word: string, mediaType: string): Signature => ({
  mediaType,
  matches: (_, text) => text(0, word.length) === word,
});
const inRiff = (form: string, mediaType: string): Signature => ({
  mediaType,
  matches: (_, text) => /^R(?:IFF|F64)$/.test(text(0, 4)) && text(8, 4) === form,
});
/** A frame of MPEG audio without a container, by its first two bytes. `isLayer` tests the bits of the layer. */
const mpegFrame = (mediaType: string, isLayer: (second: number) => boolean): Signature => ({
  mediaType,
  matches: ([first, second = 0]) => first === 0xff && isLayer(second),
});

const SIGNATURES: readonly Signature[] = [
  inRiff("WAVE", "audio/wav"),
  inRiff("WEBP", "image/webp"),
  startsWith("fLaC", "audio/flac"),
  startsWith("OggS", "audio/ogg"),
  startsWith("ID3", "audio/mpeg"),
  // Phones store pictures in the same container as audio.
  {
    mediaType: "image/heif",
    matches: (_, text) => text(4, 4) === "ftyp" && /^(?:hei|hev|mif1|msf1|avi)/.test(text(8, 4)),
  },
  { mediaType: "audio/mp4", matches: (_, text) => text(4, 4) === "ftyp" },
  startsWith("\x1a\x45\xdf\xa3", "audio/webm"),
  // Among frames without a container, those of layer 0 are AAC.
  mpegFrame("audio/aac", (second) => (second & 0xf6) === 0xf0),
  // Layers II and III. Layer I is not in use, and what looks like it is UTF-16 text or samples near silence.
  mpegFrame("audio/mpeg", (second) => (second & 0xe0) === 0xe0 && [0x02, 0x04].includes(second & 0x06)),
  startsWith("\x89PNG", "image/png"),
  startsWith("\xff\xd8", "image/jpeg"),
  startsWith("GIF8", "image/gif"),
  startsWith("%PDF-", "application/pdf"),
  startsWith("PK\x03\x04", "application/zip"),
];

/** The media type of a file by its first bytes. `undefined` if they do not show it. Raw samples have no signature. */
export function sniffMedia(bytes: Uint8Array): string | undefined {
  const text = (start: number, length: number) => latin1(bytes.subarray(start, start + length));
  return SIGNATURES.find(({ matches }) => matches(bytes, text))?.mediaType;
}

/** The media type that is sent for each speech format. */
const MEDIA_TYPE_OF: Record<SpeechFormat, string> = {
  mp3: "audio/mpeg",
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};

/**
 * The media type of an upstream's speech: by its first bytes, else by the declared content type, else the wanted
 * format. `note` reports a type other than the wanted one. Throws `upstream_error` if it is not audio.
 */
export function mediaTypeOfSpeech(
  start: Uint8Array,
  declared: string | null,
  wanted: SpeechFormat,
  note: (text: string) => void,
): string {
  if (start.length === 0) throw new GatewayError("upstream_error", "The upstream sent no audio");
  const asked = MEDIA_TYPE_OF[wanted];
  const word = (declared ?? "").toLowerCase().replace(/;.*/s, "").trim();
  const named = SOUND.test(word) ? SYNONYMS[word] ?? word : undefined;
  const seen = typeBySight(start, word, named);
  // The whole type is tested, because a header with two types may start with "audio/", and browsers use the second.
  if (seen !== undefined && !SOUND.test(seen)) {
    throw new GatewayError("upstream_error", `The upstream sent ${seen} instead of audio`);
  }
  // Ogg may contain Opus or another codec. The codec's own header follows that of the page.
  const isOpus = seen === "audio/ogg" && latin1(start.subarray(28, 36)) === "OpusHead";
  const mediaType = isOpus ? MEDIA_TYPE_OF.opus : seen ?? named ?? asked;
  if (mediaType !== asked) note(`delivered ${mediaType} in place of ${wanted}`);
  return mediaType;
}

/** The type that the bytes show. If they show none, a declared content type outside audio counts. */
function typeBySight(start: Uint8Array, word: string, named: string | undefined): string | undefined {
  // Raw samples may begin with any bytes, including those of a frame without a container.
  const isRaw = named === MEDIA_TYPE_OF.pcm && start[0] === 0xff;
  const seen = isRaw ? undefined : sniffMedia(start);
  return seen ?? (/^text\/|json|html|xml/.test(word) ? word : writing(start));
}

/** Failures may arrive as JSON or a web page, even with an audio content type. */
function writing(start: Uint8Array): string | undefined {
  const text = latin1(start.subarray(0, 64));
  if (/[^\t\r\n\x20-\x7e]/.test(text)) return undefined;
  return /^\s*[[{]\s*["{\]}]/.test(text) ? "JSON" : /^\s*<[!?a-z]/i.test(text) ? "a page" : undefined;
}

const SOUND = /^audio\/[\w.+-]+$/;

/** Other names that servers use for the same formats. */
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
