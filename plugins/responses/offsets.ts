/** Places in a text: this wire counts code points, and the canonical form counts UTF-16 units. */

/** Converts places in one text. Beyond the text, units and code points count as they are. */
export interface Offsets {
  /** The place of a UTF-16 unit, in code points. */
  toCodePoints(units: number): number;
  /** The place of a code point, in UTF-16 units. */
  toUnits(points: number): number;
}

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/;
const SAME: Offsets = { toCodePoints: (units) => units, toUnits: (points) => points };

/** Reads the text once, because a text can have thousands of citations. */
export function offsetsIn(text: string): Offsets {
  if (!PAIR.test(text)) return SAME;
  const pairs = pairsIn(text);
  const length = text.length;
  return {
    toCodePoints(units) {
      if (units > length) return units - pairs.length;
      const at = wholePlace(units);
      // A place in the middle of a pair is the one after it.
      return at - countWhere(pairs, (pair) => pair + 1 < at);
    },
    toUnits(points) {
      if (points > length - pairs.length) return points + pairs.length;
      const at = wholePlace(points);
      return at + countWhere(pairs, (pair, before) => pair - before < at);
    },
  };
}

/** Where the surrogate pairs of a text begin. */
function pairsIn(text: string): number[] {
  const pairs: number[] = [];
  for (let at = 0; at < text.length; at++) {
    if (text.codePointAt(at)! > 0xffff) pairs.push(at++);
  }
  return pairs;
}

/** How many pairs at the beginning of the list fulfil a condition that none after them fulfils. */
function countWhere(pairs: readonly number[], holds: (pair: number, before: number) => boolean): number {
  let low = 0;
  let high = pairs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(pairs[middle]!, middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function wholePlace(place: number): number {
  return Math.max(0, Math.ceil(place));
}
