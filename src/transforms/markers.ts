/** Citation markers: numbers in square brackets. In code they mean something else. */

/** One marker, with its position in UTF-16 units. */
export interface Marker {
  number: number;
  start: number;
  end: number;
}

const MOST_DIGITS = 4;

/** A fence begins and ends code: a run of backticks or tildes. */
interface Fence {
  character: string;
  length: number;
}

interface Open {
  number: number;
  digits: number;
  start: number;
}

/** Finds markers in a text that arrives in arbitrary pieces. */
export class MarkerReader {
  #at = 0;
  /** The current run of characters that may be a fence. */
  #run: Fence = { character: "", length: 0 };
  #code: Fence | undefined;
  /** The marker that has begun but not ended. */
  #open: Open | undefined;
  #isEscaped = false;
  #isNewLine = false;

  /** The markers that end in this piece. */
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

  /** A blank line ends inline code. */
  #takeLineEnd(character: string): void {
    if (character === "\r") return;
    if (character === "\n" && this.#isNewLine && this.#code && !isBlock(this.#code)) this.#code = undefined;
    this.#isNewLine = character === "\n";
  }
}

function isBlock({ length }: Fence): boolean {
  return length >= 3;
}
