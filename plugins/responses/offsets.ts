/** Places in a text: this wire counts code points, and the canonical form counts UTF-16 units. */

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/;

/** The place of a UTF-16 unit, in code points. Beyond the text, units count as they are. */
export function toCodePoints(text: string, units: number): number {
  if (!PAIR.test(text)) return units;
  let points = 0;
  for (let at = 0; at < units; at += widthAt(text, at)) points++;
  return points;
}

/** The place of a code point, in UTF-16 units. */
export function toUnits(text: string, points: number): number {
  if (!PAIR.test(text)) return points;
  let at = 0;
  for (let point = 0; point < points; point++) at += widthAt(text, at);
  return at;
}

function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}
