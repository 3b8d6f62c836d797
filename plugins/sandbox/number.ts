/** Numbers that fit a JSON schema. */
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { isNumber, toDouble } from "../../src/canonical/raw_number.ts";

/** A number within the bounds, near 1 where they allow it. */
export function numberFor(schema: JsonObject, whole: boolean, position: number): number {
  const [low, lowIsOpen] = bound(schema.minimum, schema.exclusiveMinimum, -1);
  const [high, highIsOpen] = bound(schema.maximum, schema.exclusiveMaximum, 1);
  const inside = (value: number) =>
    (whole ? Number.isInteger(value) : Number.isFinite(value)) &&
    (lowIsOpen ? value > low : value >= low) && (highIsOpen ? value < high : value <= high);
  const { multipleOf } = schema;
  const step = typeof multipleOf === "number" && multipleOf > 0 ? multipleOf : whole ? 1 : undefined;
  const candidates = step === undefined ? [1, low, low / 2 + high / 2, low + 1, high, high - 1] : [
    Math.ceil(1 / step) * step,
    Math.ceil(low / step) * step,
    (Math.ceil(low / step) + 1) * step,
    Math.floor(high / step) * step,
    (Math.floor(high / step) - 1) * step,
  ];
  const value = candidates.find(inside) ?? 0;
  const next = value + position * (step ?? 1);
  return inside(next) ? next : value;
}

/** The limit, and whether it is outside itself; `side` is -1 for the lower, 1 for the upper. */
function bound(limit: JsonValue | undefined, open: JsonValue | undefined, side: -1 | 1): [number, boolean] {
  const closed = limit !== undefined && isNumber(limit) ? toDouble(limit) : side * Infinity;
  // In the fourth draft `exclusiveMinimum` was a flag beside `minimum`.
  if (open === undefined || !isNumber(open)) return [closed, open === true];
  const edge = toDouble(open);
  return side * edge <= side * closed ? [edge, true] : [closed, false];
}
