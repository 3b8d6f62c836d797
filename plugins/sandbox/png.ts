/** Writes PNG files (ISO 15948) with four colours. */
import type { PictureSize } from "../../src/canonical/draw.ts";
import { builtin, hasBuiltin } from "../../src/util/builtin.ts";

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** Bits of one pixel. */
const DEPTH = 2;
const PALETTE = 3;
/** The filters of a row: as it is, or as its difference to the row above. */
const [AS_IT_IS, UP] = [0, 2];

/** `cells`: numbers of `colours`, spread over the whole picture. The first colour is transparent if wanted. */
export function writePng(
  { width, height }: PictureSize,
  cells: readonly (readonly number[])[],
  colours: readonly (readonly number[])[],
  isTransparent: boolean,
): Uint8Array<ArrayBuffer> {
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, DEPTH);
  header.setUint8(9, PALETTE);
  const parts = [
    Uint8Array.from(SIGNATURE),
    chunk("IHDR", new Uint8Array(header.buffer)),
    chunk("PLTE", Uint8Array.from(colours.flat())),
    ...isTransparent ? [chunk("tRNS", Uint8Array.of(0))] : [],
    chunk("IDAT", compressed(rowsOf(width, height, cells))),
    chunk("IEND", new Uint8Array()),
  ];
  const file = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    file.set(part, at);
    at += part.length;
  }
  return file;
}

function rowsOf(width: number, height: number, cells: readonly (readonly number[])[]): Uint8Array {
  const length = 1 + Math.ceil(width * DEPTH / 8);
  const rows = new Uint8Array(length * height);
  let above = -1;
  for (let y = 0; y < height; y++) {
    const place = Math.floor(y * cells.length / height);
    const row = rows.subarray(y * length, (y + 1) * length);
    // A row like the one above it differs from that by nothing, which takes hardly a bit.
    if (place === above) {
      row[0] = UP;
      continue;
    }
    above = place;
    row[0] = AS_IT_IS;
    const colours = cells[place]!;
    for (let x = 0; x < width; x++) {
      const colour = colours[Math.floor(x * colours.length / width)]!;
      row[1 + (x >> 2)]! |= colour << (6 - (x & 3) * DEPTH);
    }
  }
  return rows;
}

/** A part of the file: its length, its name, its data, and a checksum of both. */
function chunk(name: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(12 + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(name), 4);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, checksum(bytes.subarray(4, 8 + data.length)));
  return bytes;
}

/** The checksum of the file format: CRC-32. */
function checksum(bytes: Uint8Array): number {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

function compressed(bytes: Uint8Array): Uint8Array {
  return hasBuiltin("node:zlib") ? builtin("node:zlib").deflateSync(bytes) : stored(bytes);
}

/** The most bytes of one block that is not compressed. */
const BLOCK = 0xffff;

/** The zlib format (RFC 1950) without compression, for runtimes that have only a compressor which waits. */
export function stored(bytes: Uint8Array): Uint8Array {
  const blocks = Math.max(1, Math.ceil(bytes.length / BLOCK));
  const all = new DataView(new ArrayBuffer(2 + blocks * 5 + bytes.length + 4));
  all.setUint16(0, 0x7801);
  let at = 2;
  let [low, high] = [1, 0];
  for (let block = 0; block < blocks; block++) {
    const piece = bytes.subarray(block * BLOCK, (block + 1) * BLOCK);
    all.setUint8(at, block === blocks - 1 ? 1 : 0);
    all.setUint16(at + 1, piece.length, true);
    all.setUint16(at + 3, piece.length ^ 0xffff, true);
    new Uint8Array(all.buffer).set(piece, at + 5);
    at += 5 + piece.length;
    for (const byte of piece) {
      low = (low + byte) % 65_521;
      high = (high + low) % 65_521;
    }
  }
  all.setUint32(at, high * 65_536 + low);
  return new Uint8Array(all.buffer);
}
