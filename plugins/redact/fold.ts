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

/** The character's usual spelling; 0 if it is invisible. */
function folded(code: number): number {
  if (code < 0xa0) return code === 0 ? 0xfffd : code;
  if (code >= 0xff01 && code <= 0xff5e) return code - 0xfee0;
  if (code === 0xa0 || code >= 0x2000 && code <= 0x200a || code === 0x202f) return 0x20;
  if (code >= 0x2010 && code <= 0x2012) return 0x2d;
  const isInvisible = code === 0xad || code === 0x180e || code >= 0x200b && code <= 0x200f || code === 0xfeff ||
    code >= 0x202a && code <= 0x202e || code >= 0x2060 && code <= 0x2064 || code >= 0xfe00 && code <= 0xfe0f;
  return isInvisible ? 0 : code;
}
