/** Files of sound that carry the text that they say, so that what was spoken can be transcribed again. */

/** Where a file's own place for comments holds the text. */
const SAYS = "laneway-says=";
const ENCODER = new TextEncoder();
const RATE = 24_000;

/** How long a text takes to say, in seconds. */
export function durationOf(text: string): number {
  return Math.max(1, text.length) * 0.06;
}

/** The text that the file says. Only the size of other files is known. */
export function hear(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes);
  const [, said] = new RegExp(`${SAYS}([^\0]*)`).exec(text) ?? [];
  return said?.trim() || `A recording of ${bytes.length} bytes.`;
}

export const SOUNDS: Readonly<Record<string, { mediaType: string; speak(text: string): Uint8Array<ArrayBuffer> }>> = {
  wav: { mediaType: "audio/wav", speak: speakWav },
  mp3: { mediaType: "audio/mpeg", speak: speakMp3 },
  flac: { mediaType: "audio/flac", speak: speakFlac },
  opus: { mediaType: "audio/opus", speak: speakOpus },
  aac: { mediaType: "audio/aac", speak: speakAac },
  pcm: { mediaType: "audio/pcm", speak: samplesOf },
};

/** One channel of 16-bit samples: a tone for each character. */
function samplesOf(text: string): Uint8Array<ArrayBuffer> {
  const samples = new Int16Array(Math.round(durationOf(text) * RATE));
  const each = samples.length / Math.max(1, text.length);
  for (let index = 0; index < samples.length; index++) {
    const pitch = 200 + (text.charCodeAt(Math.floor(index / each)) % 64) * 10;
    samples[index] = Math.round(8_000 * Math.sin(2 * Math.PI * pitch * index / RATE));
  }
  return new Uint8Array(samples.buffer);
}

/** The text is the comment of the file's list of facts. */
function speakWav(text: string): Uint8Array<ArrayBuffer> {
  const samples = samplesOf(text);
  const comment = padded(`${SAYS}${text}\0`);
  const facts = join("LIST", little(4, 12 + comment.length), "INFO", "ICMT", little(4, comment.length), comment);
  const format = join(little(2, 1), little(2, 1), little(4, RATE), little(4, RATE * 2), little(2, 2), little(2, 16));
  const body = join("WAVE", "fmt ", little(4, 16), format, facts, "data", little(4, samples.length), samples);
  return join("RIFF", little(4, body.length), body);
}

/** The text is a tag's comment; then come silent frames of 128 kbit/s at 44.1 kHz. */
function speakMp3(text: string): Uint8Array<ArrayBuffer> {
  const value = join("\x03", "laneway", "\0", `${SAYS}${text}\0`);
  const frame = join("TXXX", sevenBits(value.length), "\0\0", value);
  const silence = join(new Uint8Array([0xff, 0xfb, 0x90, 0xc4]), new Uint8Array(413));
  const frames = Array.from({ length: Math.ceil(durationOf(text) / 0.026) }, () => silence);
  return join("ID3\x04\0\0", sevenBits(frame.length), frame, ...frames);
}

/** A file of the two blocks that describe sound, without any: the text is a comment. */
function speakFlac(text: string): Uint8Array<ArrayBuffer> {
  const said = ENCODER.encode(`${SAYS}${text}\0`);
  const comments = join(little(4, 4), "fake", little(4, 1), little(4, said.length), said);
  const info = new Uint8Array(34);
  info.set([16, 0, 16, 0]);
  info.set([(RATE >> 12) & 255, (RATE >> 4) & 255, ((RATE & 15) << 4) | 0, 0xf0], 10);
  return join("fLaC", "\0", big(3, info.length), info, new Uint8Array([0x84]), big(3, comments.length), comments);
}

/** Two pages, of the head and of the comments, with checksums of zero. */
function speakOpus(text: string): Uint8Array<ArrayBuffer> {
  const head = join("OpusHead", "\x01\x01", little(2, 0), little(4, RATE), little(2, 0), "\0");
  const said = ENCODER.encode(`${SAYS}${text}\0`);
  const tags = join("OpusTags", little(4, 4), "fake", little(4, 1), little(4, said.length), said);
  return join(oggPage(0, head), oggPage(1, tags));
}

function oggPage(sequence: number, packet: Uint8Array): Uint8Array<ArrayBuffer> {
  const segments = new Uint8Array(Math.floor(packet.length / 255) + 1).fill(255);
  segments[segments.length - 1] = packet.length % 255;
  const flags = new Uint8Array([0, sequence === 0 ? 2 : 0]);
  const places = join(new Uint8Array(8), little(4, 1), little(4, sequence), new Uint8Array(4));
  return join("OggS", flags, places, new Uint8Array([segments.length]), segments, packet);
}

/** One frame, with the text where the sound would be. */
function speakAac(text: string): Uint8Array<ArrayBuffer> {
  const said = ENCODER.encode(`${SAYS}${text.slice(0, 1_000)}\0`);
  const length = said.length + 7;
  const head = [0xff, 0xf1, 0x58, 0x40 | (length >> 11), (length >> 3) & 255, ((length & 7) << 5) | 31, 0xfc];
  return join(new Uint8Array(head), said);
}

function sevenBits(value: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([21, 14, 7, 0], (shift) => (value >> shift) & 127);
}

function padded(text: string): Uint8Array<ArrayBuffer> {
  const bytes = ENCODER.encode(text);
  return bytes.length % 2 === 0 ? bytes : join(bytes, "\0");
}

function little(width: number, value: number): Uint8Array<ArrayBuffer> {
  return big(width, value).reverse();
}

function big(width: number, value: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: width }, (_, index) => (value >>> (8 * (width - 1 - index))) & 255);
}

/** A text counts as its UTF-8 bytes. */
function join(...pieces: (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const parts = pieces.map((piece) => typeof piece === "string" ? ENCODER.encode(piece) : piece);
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

export interface Piece {
  text: string;
  start: number;
  end: number;
}

/** The sentences of what is said, or its words, with the seconds from and to which each is said. */
export function piecesOf(text: string, by: "sentence" | "word"): Piece[] {
  const pattern = by === "word" ? /\S+\s*/g : /[^.!?]+[.!?]*\s*/g;
  return [...text.matchAll(pattern)].map(({ 0: piece, index }) => ({
    text: piece.trim(),
    start: seconds(index),
    end: seconds(index + piece.trimEnd().length),
  }));
}

function seconds(characters: number): number {
  return Math.round(characters * 6) / 100;
}

/** The translation of a text by a model that translates. */
export function translate(text: string): string {
  return `In English: ${text}`;
}
