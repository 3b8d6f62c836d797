/** A text as a reader sees it: other spellings of the same characters would hide what is searched for. */
import type { SlicedWork } from "../../src/util/sliced_work.ts";

/** A text whose characters come from places in another one. */
export interface Folded {
  text: string;
  /** The place of each character in the original, and that of the end. Absent if nothing was folded. */
  places?: Uint32Array;
}

/** Invisible characters, other spaces and hyphens, wide forms of ASCII, and numeric escapes of ASCII. */
const OTHER_SPELLING =
  /[\u00a0\u00ad\u180e\u2000-\u2012\u2028-\u202f\u2060-\u2064\ufeff\ufe00-\ufe0f\uff01-\uff5e]|\\u00[2-7]/i;
const ESCAPE = /\\{1,8}u00([2-7][\da-f])/iy;
const SLICE = 65_536;

export function* fold(text: string): SlicedWork<Folded> {
  if (!OTHER_SPELLING.test(text)) return { text };
  const units = new Uint16Array(text.length);
  const places = new Uint32Array(text.length + 1);
  let count = 0;
  for (let at = 0; at < text.length;) {
    if (at % SLICE === 0) yield;
    const code = text.charCodeAt(at);
    const escaped = code === 0x5c ? escapeAt(text, at) : undefined;
    const unit = escaped?.unit ?? folded(code);
    if (unit !== 0) {
      units[count] = unit;
      places[count++] = at;
    }
    at += escaped?.length ?? 1;
  }
  places[count] = text.length;
  let written = "";
  for (let at = 0; at < count; at += SLICE / 4) {
    written += String.fromCharCode(...units.subarray(at, Math.min(count, at + SLICE / 4)));
  }
  return { text: written, places: places.slice(0, count + 1) };
}

function escapeAt(text: string, at: number): { unit: number; length: number } | undefined {
  ESCAPE.lastIndex = at;
  const found = ESCAPE.exec(text);
  return found ? { unit: parseInt(found[1]!, 16), length: found[0].length } : undefined;
}

/** The first and last characters of ranges, with the usual spelling of all of them. 0: they are invisible. */
const RANGES: readonly (readonly [from: number, to: number, usual: number])[] = [
  [0xa0, 0xa0, 0x20],
  [0xad, 0xad, 0],
  [0x180e, 0x180e, 0],
  [0x2000, 0x200a, 0x20],
  [0x200b, 0x200f, 0],
  [0x2010, 0x2012, 0x2d],
  [0x202a, 0x202e, 0],
  [0x202f, 0x202f, 0x20],
  [0x2060, 0x2064, 0],
  [0xfe00, 0xfe0f, 0],
  [0xfeff, 0xfeff, 0],
];
const [FIRST, WIDE_FROM, WIDE_TO, TO_ASCII] = [0xa0, 0xff01, 0xff5e, 0xfee0];
/** Takes the place of a NUL, which no text needs. */
const REPLACEMENT = 0xfffd;

/** The character's usual spelling; 0 if it is invisible. */
function folded(code: number): number {
  if (code < FIRST) return code || REPLACEMENT;
  if (code >= WIDE_FROM && code <= WIDE_TO) return code - TO_ASCII;
  for (const [from, to, usual] of RANGES) if (code >= from && code <= to) return usual;
  return code;
}
