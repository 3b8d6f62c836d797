/** The numbers in square brackets that a text cites by. In code they are something else. */

/** One of them, by its place in UTF-16 units. */
export interface Marker {
  number: number;
  start: number;
  end: number;
}

const MOST_DIGITS = 4;

/** What begins code, and what ends it: a run of backticks, or of tildes. */
interface Fence {
  character: string;
  length: number;
}

interface Open {
  number: number;
  digits: number;
  start: number;
}

/** Finds them in a text that comes in pieces, cut anywhere. */
export class MarkerReader {
  #at = 0;
  /** The run of characters that may be a fence. */
  #run: Fence = { character: "", length: 0 };
  #code: Fence | undefined;
  /** The marker that has begun. */
  #open: Open | undefined;
  #isEscaped = false;
  #isNewLine = false;

  /** Those that end in the piece. */
  read(piece: string): Marker[] {
    const found: Marker[] = [];
    for (let index = 0; index < piece.length; index++, this.#at++) {
      const marker = this.#take(piece[index]!);
      if (marker) found.push(marker);
    }
    return found;
  }

  #take(character: string): Marker | undefined {
    const isEscaped = this.#isEscaped;
    this.#isEscaped = character === "\\" && !isEscaped && !this.#code;
    if (!isEscaped && (character === "`" || character === "~")) {
      this.#open = undefined;
      this.#isNewLine = false;
      return this.#lengthen(character);
    }
    this.#endRun();
    this.#takeLineEnd(character);
    const open = this.#open;
    this.#open = undefined;
    if (character === "[") {
      if (!this.#code && !isEscaped) this.#open = { number: 0, digits: 0, start: this.#at };
      return undefined;
    }
    return open && this.#goOn(open, character);
  }

  #goOn({ number, digits, start }: Open, character: string): Marker | undefined {
    if (character === "]" && digits > 0) return { number, start, end: this.#at + 1 };
    if (character >= "0" && character <= "9" && digits < MOST_DIGITS) {
      this.#open = { number: number * 10 + Number(character), digits: digits + 1, start };
    }
    return undefined;
  }

  #lengthen(character: string): undefined {
    if (this.#run.character !== character) this.#endRun();
    this.#run = { character, length: this.#run.length + 1 };
  }

  #endRun(): void {
    const { character, length } = this.#run;
    if (length === 0) return;
    this.#run = { character: "", length: 0 };
    if (character === "~" && length < 3) return;
    const code = this.#code;
    if (!code) this.#code = { character, length };
    else if (character === code.character && (length === code.length || isBlock(code) && length > code.length)) {
      this.#code = undefined;
    }
  }

  /** A blank line ends code that is part of a line. */
  #takeLineEnd(character: string): void {
    if (character === "\r") return;
    if (character === "\n" && this.#isNewLine && this.#code && !isBlock(this.#code)) this.#code = undefined;
    this.#isNewLine = character === "\n";
  }
}

function isBlock({ length }: Fence): boolean {
  return length >= 3;
}
