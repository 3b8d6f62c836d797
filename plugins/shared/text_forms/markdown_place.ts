/** Where in a text of Markdown we are. */
export class MarkdownPlace {
  /** The last character of the line that is not a space; none at its start. */
  last = "";
  /** The last character of the line before that is not empty. */
  lastBefore = "";
  #fence: { mark: string; length: number } | undefined;
  /** How many backticks opened the code that we are in. */
  #inline = 0;
  /** Backticks or tildes that came last: more of them may follow. */
  #run = { mark: "", length: 0, isFirst: false };

  get isInCode(): boolean {
    this.#endRun();
    return this.#fence !== undefined || this.#inline > 0;
  }

  reset(): void {
    this.last = this.lastBefore = "";
    this.#fence = undefined;
    this.#inline = 0;
    this.#run.length = 0;
  }

  follow(text: string): void {
    if (!/[`~\n]/.test(text)) {
      if (this.#run.length > 0) this.#endRun();
      this.last = text.trimEnd().at(-1) ?? this.last;
      return;
    }
    for (let at = 0; at < text.length; at++) {
      const character = text[at]!;
      if (character === "`" || character === "~") {
        if (this.#run.mark !== character) this.#endRun();
        if (this.#run.length === 0) this.#run = { mark: character, length: 0, isFirst: this.last === "" };
        this.#run.length++;
      } else {
        this.#endRun();
        // An empty line ends the paragraph, and with it code in a line.
        if (character === "\n" && this.last === "") this.#inline = 0;
      }
      if (character === "\n") {
        this.lastBefore = this.last || this.lastBefore;
        this.last = "";
      } else if (character.trim() !== "") this.last = character;
    }
  }

  #endRun(): void {
    const { mark, length, isFirst } = this.#run;
    if (length === 0) return;
    this.#run.length = 0;
    if (this.#fence) {
      if (isFirst && mark === this.#fence.mark && length >= this.#fence.length) this.#fence = undefined;
    } else if (isFirst && length >= 3) this.#fence = { mark, length };
    else if (mark === "`") this.#inline = this.#inline === length ? 0 : this.#inline || length;
  }
}
