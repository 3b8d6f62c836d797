/**
 * Regular expressions that a model writes, matched in time that grows with the pattern and the text only: all ways through the
 * pattern are followed at once, so that no pattern can make the gateway try them one after another. It has no references back and
 * no look around.
 */
import type { SlicedWork } from "../util/sliced_work.ts";
import { isWord, type Node, parsePattern, PatternError, type Place, type Test } from "./pattern_syntax.ts";

/** How large the pattern may become once its repetitions are written out. */
const MOST_STATES = 1_000;
/** After how many characters others may run: some milliseconds with the largest pattern. */
const CHARACTERS_AT_ONCE = 64;

/** One step of a compiled pattern. `to`: where it may go on. */
type State = { test?: Test; place?: Place; to: number[]; isEnd?: true };

export class LinearPattern {
  readonly #states: State[] = [];

  /** Throws `PatternError` if the pattern is no regular expression of the kind that is matched here. */
  constructor(pattern: string) {
    const last = this.#add(parsePattern(pattern), this.#push({ to: [] }));
    this.#behind([last], { to: [], isEnd: true });
  }

  /** Whether the pattern occurs in the text. `budget`: the steps that are left, which are all that it takes time for. */
  *occursIn(text: string, budget: { steps: number }): SlicedWork<boolean> {
    const states = this.#states;
    const seen = new Int32Array(states.length).fill(-1);
    let current: number[] = [];
    for (let at = 0; at <= text.length; at++) {
      if (at % CHARACTERS_AT_ONCE === 0) yield;
      const stack = [...current, 0];
      const next: number[] = [];
      while (stack.length > 0) {
        const number = stack.pop()!;
        if (--budget.steps < 0) throw new PatternError("The search took too many steps: use a simpler pattern", true);
        if (seen[number] === at) continue;
        seen[number] = at;
        const state = states[number]!;
        if (state.isEnd) return true;
        if (state.place && !isAt(state.place, text, at)) continue;
        if (!state.test) { for (const one of state.to) stack.push(one); }
        else if (at < text.length && state.test(text.charCodeAt(at))) { for (const one of state.to) next.push(one); }
      }
      current = next;
    }
    return false;
  }

  #push(state: State): number {
    if (this.#states.length >= MOST_STATES) throw new PatternError("The pattern repeats too much");
    return this.#states.push(state) - 1;
  }

  /**
   * Adds the node behind the state `after`, and returns the one behind which the pattern goes on. It is always a single one, so
   * that there are about as many ways between states as there are states.
   */
  #add(node: Node, after: number): number {
    switch (node.type) {
      case "one":
        return this.#behind([after], { test: node.test, to: [] });
      case "place":
        return this.#behind([after], { place: node.place, to: [] });
      case "all":
        return node.of.reduce((last, one) => this.#add(one, last), after);
      case "any":
        return this.#behind(node.of.map((one) => this.#add(one, after)), { to: [] });
      case "repeat":
        return this.#repeat(node, after);
    }
  }

  #repeat({ of, least, most }: Extract<Node, { type: "repeat" }>, after: number): number {
    const required = this.#copies(of, least, after).at(-1) ?? after;
    if (most === least) return required;
    if (most !== Infinity) {
      const optional = this.#copies(of, most - least, required);
      return this.#behind([required, ...optional], { to: [] });
    }
    const fork = this.#behind([required], { to: [] });
    this.#states[this.#add(of, fork)]!.to.push(fork);
    return fork;
  }

  /** Adds the node so many times, one behind the other, and returns the end of each. A node without states is added once. */
  #copies(node: Node, count: number, after: number): number[] {
    const ends: number[] = [];
    let last = after;
    while (ends.length < count) {
      const before = this.#states.length;
      last = this.#add(node, last);
      ends.push(last);
      if (this.#states.length === before) break;
    }
    return ends;
  }

  #behind(after: readonly number[], state: State): number {
    const number = this.#push(state);
    for (const one of new Set(after)) this.#states[one]!.to.push(number);
    return number;
  }
}

function isAt(place: Place, text: string, at: number): boolean {
  if (place === "start") return at === 0;
  if (place === "end") return at === text.length;
  const isEdge = (at > 0 && isWord(text.charCodeAt(at - 1))) !== (at < text.length && isWord(text.charCodeAt(at)));
  return isEdge === (place === "edge");
}
