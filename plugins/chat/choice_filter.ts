/** Selects the chunks of the requested answer from a stream in which a server sends several answers. */
import type { ChatAnswer, ChatChoice } from "./wire.ts";

const [REASONING, TEXT, CALLS] = [1, 2, 4];

/**
 * Another id or another index is another answer: a second attempt behind a proxy, a second choice of a server that was asked
 * for one. Two habits are none: ids that are new with every chunk (older llama.cpp, LMDeploy, Foundry Local, whose indexes
 * count up as well), and indexes that number the kinds of content (LiteLLM: thoughts are 0, the text is 1; Copilot: the text is
 * 0, the calls are 1).
 */
export class ChoiceFilter {
  #id: string | undefined;
  /** Whether the id came twice, so that it names an answer. */
  #isNamed = false;
  /** The ids under which other answers came: their ends are no end of this one. */
  #others: Set<string | undefined> | undefined;
  /** Whether ids are new with every chunk. */
  #isFresh = false;
  /** A chunk of another id, while it is not known what ids mean here. */
  #held: ChatAnswer | undefined;
  /** Whether what stands under an index is the answer's: its first content decides. */
  readonly #indexes = new Map<number, boolean>();
  /** Every kind of content that came. */
  #kinds = 0;
  #isOver = false;
  /** Whether anything of another answer was left out. */
  hasOthers = false;

  /** The parts to read of the chunk, and of a chunk that was held back before it. */
  take(chunk: ChatAnswer): ChatAnswer[] {
    if (this.#isFresh || !tellsAnything(chunk)) return this.#pass(chunk);
    const id = typeof chunk.id === "string" && chunk.id !== "" ? chunk.id : this.#id;
    this.#id ??= id;
    const held = this.#held;
    if (id === this.#id) {
      if (this.#kinds !== 0) this.#isNamed = true;
      if (held) this.#drop();
      return this.#pass(chunk);
    }
    if (this.#isNamed || held?.id === id) return this.#leaveOut(chunk, id);
    if (!held) {
      if (!onlyEnds(chunk)) (this.#others ??= new Set()).add(id);
      this.#held = chunk;
      return [];
    }
    this.#isFresh = true;
    this.#held = undefined;
    return [held, chunk];
  }

  /** A chunk of another answer, unless it ends this one. */
  #leaveOut(chunk: ChatAnswer, id: string | undefined): ChatAnswer[] {
    if (!this.#isOver && !this.#others?.has(id) && onlyEnds(chunk)) return this.#pass(chunk);
    (this.#others ??= new Set()).add(id);
    this.#drop();
    this.#isNamed = true;
    return [];
  }

  /** The chunk that is still held back, if it only ends the answer: then it is its end, under whichever id. */
  end(): ChatAnswer[] {
    const held = this.#held;
    if (!held) return [];
    if (onlyEnds(held)) return [held];
    this.#drop();
    return [];
  }

  #drop(): void {
    this.#held = undefined;
    this.hasOthers = true;
  }

  #pass(chunk: ChatAnswer): ChatAnswer[] {
    const all = chunk.choices;
    if (this.#isFresh || !all) return [chunk];
    const inOrder = all.length > 1 ? all.toSorted((one, other) => (one.index ?? 0) - (other.index ?? 0)) : all;
    const choices = inOrder.filter((choice) => this.#isOurs(choice));
    if (choices.length === all.length) return [chunk];
    this.hasOthers = true;
    return choices.length > 0 || chunk.usage ? [{ ...chunk, choices }] : [];
  }

  /** A choice that begins with another kind of content goes on with the answer; thoughts never do. */
  #isOurs(choice: ChatChoice): boolean {
    const index = choice.index ?? 0;
    const kinds = kindsOf(choice);
    const isNew = kinds === 0 ? this.#indexes.size === 0 : (kinds & this.#kinds) === 0;
    const isLate = (kinds & REASONING) !== 0 && this.#kinds !== 0;
    const isOurs = this.#indexes.get(index) ?? (isNew && !isLate);
    // What says nothing decides nothing.
    if (kinds === 0 && !(choice.finish_reason && isOurs)) return isOurs;
    this.#indexes.set(index, isOurs);
    if (!isOurs) return false;
    this.#kinds |= kinds;
    if (choice.finish_reason) this.#isOver = true;
    return true;
  }
}

/** The choices of a whole answer that belong to it. One was asked for, and some hosts number it oddly. */
export function choicesOfOne(choices: readonly ChatChoice[]): ChatChoice[] {
  const inOrder = choices.toSorted((one, other) => (one.index ?? 0) - (other.index ?? 0));
  const numbered = inOrder.map((choice, index) => ({ ...choice, index }));
  return new ChoiceFilter().take({ choices: numbered }).flatMap((answer) => answer.choices ?? []);
}

/** Whether it brings nothing: a chunk that tells something, and only that, says that the answer is over. */
function onlyEnds({ choices }: ChatAnswer): boolean {
  return (choices ?? []).every((choice) => kindsOf(choice) === 0);
}

function tellsAnything({ choices }: ChatAnswer): boolean {
  return (choices ?? []).some((choice) => choice.finish_reason || kindsOf(choice) !== 0);
}

/** The kinds of content that a choice brings. */
function kindsOf({ delta, message }: ChatChoice): number {
  const increment = delta ?? message;
  if (!increment) return 0;
  const { content, reasoning_content, reasoning, reasoning_text, refusal, tool_calls, function_call } = increment;
  return (reasoning_content || reasoning || reasoning_text ? REASONING : 0) |
    (content?.length || refusal ? TEXT : 0) |
    (tool_calls?.length || function_call ? CALLS : 0);
}
