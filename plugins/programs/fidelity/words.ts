/** Verdicts in few words. */
import type { FieldTrace, Verdict } from "./verdict.ts";

/** More places than these say no more. */
const MOST_PLACES = 3;

function inPlaces(places: readonly FieldTrace[]): string {
  const kept = places.filter(({ gone }) => !gone).map(({ name }) => name);
  const gone = places.filter(({ gone }) => gone).map(({ name }) => `without ${name}`);
  const shown = [...kept.length > 0 ? [`as ${kept[0]}`, ...kept.slice(1)] : [], ...gone];
  return (shown.length > MOST_PLACES ? [...shown.slice(0, MOST_PLACES), "…"] : shown).join(", ");
}

/** As the tables have it, in Markdown. */
export function inWords(verdict: Verdict): string {
  switch (verdict.is) {
    case "carried":
      return verdict.notes.length > 0 ? "carried, noted" : "carried";
    case "mapped":
      return inPlaces(verdict.to) + (verdict.notes.length > 0 ? "; noted" : "");
    case "dropped":
    case "refused":
    case "failed":
    case "answered":
      return verdict.is;
    case "idle":
      return "–";
    case "silent":
      return "**lost**";
    default:
      return verdict satisfies never;
  }
}
