/** Ends completions at the texts that the server was not sent, because it takes only a few. */

export interface Cut {
  text: string;
  /** The text at which the completion ends. Absent if it goes on. */
  stop?: string;
}

/** Passes the pieces of one completion on, but for what may be the beginning of a stop. */
export class StopCutter {
  readonly #stops: readonly string[];
  readonly #longest: number;
  #held = "";

  constructor(stops: readonly string[]) {
    this.#stops = stops;
    this.#longest = Math.max(0, ...stops.map(({ length }) => length));
  }

  /** `isLast`: whether the completion ends with this piece. */
  push(piece: string, isLast = false): Cut {
    if (this.#longest === 0) return { text: piece };
    const text = this.#held + piece;
    const found = firstStop(text, this.#stops);
    if (found) return { text: text.slice(0, found.at), stop: found.stop };
    const held = isLast ? 0 : this.#heldLength(text);
    this.#held = text.slice(text.length - held);
    return { text: text.slice(0, text.length - held) };
  }

  /** The length of the longest end of the text that begins a stop. */
  #heldLength(text: string): number {
    let longest = 0;
    for (const stop of this.#stops) {
      let at = Math.max(0, text.length - stop.length + 1);
      for (
        at = text.indexOf(stop[0]!, at);
        at >= 0 && text.length - at > longest;
        at = text.indexOf(stop[0]!, at + 1)
      ) {
        if (stop.startsWith(text.slice(at))) longest = text.length - at;
      }
    }
    return longest;
  }
}

/** The stop that is complete first, as a server sees it that writes token by token. The longest, if several end there. */
function firstStop(text: string, stops: readonly string[]): { at: number; stop: string } | undefined {
  let first: { at: number; stop: string } | undefined;
  let firstEnd = Infinity;
  for (const stop of stops) {
    const at = text.indexOf(stop);
    const end = at + stop.length;
    if (at < 0 || end > firstEnd || (end === firstEnd && at > first!.at)) continue;
    first = { at, stop };
    firstEnd = end;
  }
  return first;
}
