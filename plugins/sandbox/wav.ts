/** Samples of 16 bits, one channel, at the rate that clients expect of samples without a header. */
export const SAMPLE_RATE = 24_000;
const BYTES_PER_SECOND = SAMPLE_RATE * 2;

/** Who made a file (`ISFT`), by which the sandbox knows its own; and what is said in it (`ICMT`). */
const MAKER = "Laneway sandbox";

/** A WAV file of the samples that tells what is said in it. */
export function writeWav(samples: Uint8Array, said: string): Uint8Array<ArrayBuffer> {
  const format = new DataView(new ArrayBuffer(16));
  format.setUint16(0, 1, true); // PCM
  format.setUint16(2, 1, true); // channels
  format.setUint32(4, SAMPLE_RATE, true);
  format.setUint32(8, BYTES_PER_SECOND, true);
  format.setUint16(12, 2, true); // bytes per sample of all channels
  format.setUint16(14, 16, true); // bits per sample
  // The list comes last, so that players which take the 44 bytes before the samples for granted are right.
  return chunk(
    "RIFF",
    latin1("WAVE"),
    chunk("fmt ", new Uint8Array(format.buffer)),
    chunk("data", samples),
    chunk("LIST", latin1("INFO"), chunk("ISFT", zeroEnded(MAKER)), chunk("ICMT", zeroEnded(said))),
  );
}

function chunk(id: string, ...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const bytes = new Uint8Array(8 + size + size % 2);
  bytes.set(latin1(id));
  new DataView(bytes.buffer).setUint32(4, size, true);
  let at = 8;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function zeroEnded(text: string): Uint8Array {
  return new TextEncoder().encode(`${text}\0`);
}

export interface Wav {
  /** Length in seconds, where the file tells it. */
  duration?: number;
  /** What is said, where the sandbox made the file. */
  said?: string;
}

/** What a WAV file tells about itself, as far as it is whole. */
export function readWav(bytes: Uint8Array): Wav {
  const info = new Map<string, string>();
  let bytesPerSecond = 0;
  let dataBytes: number | undefined;
  for (const { id, content } of chunksOf(bytes.subarray(12))) {
    if (id === "fmt " && content.length >= 16) bytesPerSecond = viewOf(content).getUint32(8, true);
    if (id === "data") dataBytes = content.length;
    if (id === "LIST" && decode(content.subarray(0, 4)) === "INFO") {
      for (const { id, content: text, whole } of chunksOf(content.subarray(4))) {
        if (whole) info.set(id, decode(text.subarray(0, -1)));
      }
    }
  }
  const said = info.get("ISFT") === MAKER ? info.get("ICMT") : undefined;
  return {
    ...(bytesPerSecond > 0 && dataBytes !== undefined && { duration: dataBytes / bytesPerSecond }),
    ...(said !== undefined && { said }),
  };
}

interface Chunk {
  id: string;
  content: Uint8Array;
  /** Whether the file holds all of it. What is written while it is recorded names no size, or one that is too large. */
  whole: boolean;
}

function* chunksOf(bytes: Uint8Array): Generator<Chunk> {
  const view = viewOf(bytes);
  for (let at = 0; at + 8 <= bytes.length;) {
    const size = view.getUint32(at + 4, true);
    const content = bytes.subarray(at + 8, at + 8 + size);
    yield { id: decode(bytes.subarray(at, at + 4)), content, whole: content.length === size };
    at += 8 + size + size % 2;
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
