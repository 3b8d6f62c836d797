/** Writes pictures as PNG (RFC 2083): color without transparency, eight bits a channel. */
import { zlibSync } from "fflate";

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** `pixels`: four bytes each, of which the fourth is left out. */
export function encodePng(pixels: Uint8Array, width: number, height: number): Uint8Array<ArrayBuffer> {
  const line = 1 + 3 * width;
  const rows = new Uint8Array(line * height);
  for (let y = 0; y < height; y++) {
    // Each line is the difference to the one above: pages are mostly white.
    rows[y * line] = UP;
    for (let x = 0; x < width; x++) {
      const from = 4 * (y * width + x);
      const above = from - 4 * width;
      const to = y * line + 1 + 3 * x;
      for (let channel = 0; channel < 3; channel++) {
        rows[to + channel] = pixels[from + channel]! - (y > 0 ? pixels[above + channel]! : 0);
      }
    }
  }
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  head.set([8, TRUECOLOR, 0, 0, 0], 8);
  const pieces = [
    Uint8Array.from(SIGNATURE),
    chunk("IHDR", head),
    chunk("IDAT", zlibSync(rows, { level: 4 })),
    chunk("IEND", new Uint8Array()),
  ];
  const png = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    png.set(piece, at);
    at += piece.length;
  }
  return png;
}

const [UP, TRUECOLOR] = [2, 2];

function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(12 + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  for (let at = 0; at < 4; at++) bytes[4 + at] = type.charCodeAt(at);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, checksum(bytes.subarray(4, 8 + data.length)));
  return bytes;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function checksum(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) value = TABLE[(value ^ byte) & 255]! ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
