/** The questions that a command asks its user, in whatever way the terminal allows. */

export interface Choice {
  value: string;
  label: string;
  /** A few words that explain it. */
  hint?: string;
}

/** Every answer is `undefined` if the user leaves: by Ctrl+C, or because there is no more input. */
export interface Dialog {
  choose(question: string, choices: readonly Choice[], first?: string): Promise<string | undefined>;
  /** `first`: those that are chosen at the beginning. */
  chooseSeveral(question: string, choices: readonly Choice[], first?: readonly string[]): Promise<string[] | undefined>;
  /** `first`: the answer if nothing is entered. `check` returns why an answer cannot be used. */
  enter(question: string, options?: Entry): Promise<string | undefined>;
  /** The answer is not shown. */
  enterSecret(question: string): Promise<string | undefined>;
  confirm(question: string, first: boolean): Promise<boolean | undefined>;
  say(text: string): void;
}

export interface Entry {
  first?: string;
  /** An example. */
  example?: string;
  check?(answer: string): string | undefined;
}
