/** Searches a text for everything that is to be replaced, in slices and in linear time. */
import type { SlicedWork } from "../../src/util/sliced_work.ts";
import { type Kind, LONGEST, PLACEHOLDER } from "./placeholder.ts";

/** A place in a text that is to be replaced. */
export interface Match {
  start: number;
  end: number;
  kind: Kind;
  /** Whether the same text is also to be replaced where it stands alone. */
  spreads: boolean;
}

/**
 * Recognizes one kind of text. The trigger is a short text by which it is noticed, and must not match texts of any length, so that
 * a search takes linear time.
 */
export interface Detector {
  /** A global expression. */
  trigger: RegExp;
  /** The most characters that the trigger matches. */
  longest: number;
  /**
   * The match at a trigger. A number: nothing is there, and the search may go on at this place. Each call may read only a
   * bounded number of characters, besides those that it returns as read.
   */
  read(text: string, at: number, trigger: string): Match | number | undefined;
}

/** Finds texts that look like placeholders, so that they are never taken for some. */
export const lookalikes: Detector = {
  trigger: PLACEHOLDER,
  longest: LONGEST,
  read: (_text, at, trigger) => ({ start: at, end: at + trigger.length, kind: "text", spreads: false }),
};

/** How many characters are searched before others may run. */
const SLICE = 65_536;

/** All matches, in order. Those that overlap are one. */
export function* scan(text: string, detectors: readonly Detector[]): SlicedWork<Match[]> {
  const found: Match[] = [];
  for (const detector of detectors) {
    let done = 0;
    for (let begin = 0; begin < text.length; begin += SLICE) {
      if (begin > 0) yield;
      done = search(text, begin, done, detector, found);
    }
  }
  return merged(found);
}

/** Searches one slice, from `done` on. Returns where the next search begins. */
function search(text: string, begin: number, done: number, detector: Detector, found: Match[]): number {
  const { trigger, longest } = detector;
  const end = Math.min(text.length, begin + SLICE);
  if (done >= end) return done;
  // A trigger may begin in this slice and end in the next one.
  const slice = begin === 0 && end === text.length ? text : text.slice(begin, end + longest);
  let reached = done;
  trigger.lastIndex = Math.max(0, done - begin);
  for (let one = trigger.exec(slice); one; one = trigger.exec(slice)) {
    const at = begin + one.index;
    if (at >= end) break;
    const match = detector.read(text, at, one[0]);
    if (match === undefined) {
      trigger.lastIndex = one.index + 1;
      continue;
    }
    if (typeof match !== "number") found.push(match);
    reached = Math.max(typeof match === "number" ? match : match.end, at + 1);
    if (reached >= end) break;
    trigger.lastIndex = reached - begin;
  }
  return Math.max(reached, 0);
}

/** The matches in order, with those that overlap as one. */
export function merged(matches: Match[]): Match[] {
  if (matches.length < 2) return matches;
  const all: Match[] = [];
  for (const match of matches.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = all.at(-1);
    if (!last || match.start >= last.end) {
      all.push({ ...match });
    } else if (match.end > last.end) {
      // None of the two is the whole.
      last.end = match.end;
      last.kind = "secret";
      last.spreads ||= match.spreads;
    } else if (match.start === last.start && match.end === last.end && last.kind === "text") {
      last.kind = match.kind;
      last.spreads = match.spreads;
    }
  }
  return all;
}

/** Whether a letter or digit of ASCII is at this place. */
export function isWordAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39 || code >= 0x41 && code <= 0x5a || code >= 0x61 && code <= 0x7a;
}

/** The match of a sticky expression at this place. Empty if there is none. */
export function runAt(expression: RegExp, text: string, at: number): string {
  expression.lastIndex = at;
  return expression.exec(text)?.[0] ?? "";
}
