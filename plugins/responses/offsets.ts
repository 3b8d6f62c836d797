/** Places in a text: this wire counts code points, and the canonical form counts UTF-16 units. */

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/;

/** The place of a UTF-16 unit, in code points. Beyond the text, units count as they are. */
export function toCodePoints(text: string, units: number): number {
  if (!PAIR.test(text)) return units;
  let points = 0;
  const end = Math.min(units, text.length);
  for (let at = 0; at < end; at += widthAt(text, at)) points++;
  return points + Math.max(0, units - text.length);
}

/** The place of a code point, in UTF-16 units. Beyond the text, code points count as they are. */
export function toUnits(text: string, points: number): number {
  if (!PAIR.test(text)) return points;
  let at = 0;
  let point = 0;
  for (; point < points && at < text.length; point++) at += widthAt(text, at);
  return at + Math.max(0, points - point);
}

function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}
