/** The characters of scripts without spaces between words. */
const UNSPACED = String
  .raw`[[\p{L}\p{M}\p{N}]&&[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]]`;
const ALONE = String.raw`[${UNSPACED}\p{ExtPict}]`;
const RUN = new RegExp(String.raw`(?<alone>${ALONE}+)|[[\p{L}\p{M}\p{N}]--${UNSPACED}]+`, "gv");

/** A sequence of letters, digits or pictographs. */
export interface Run {
  text: string;
  /**
   * The index terms: the word itself. In scripts without spaces, words cannot be separated without a dictionary, so every character
   * and every pair of neighbours is a term.
   */
  terms: string[];
}

/** The runs of a text, in lower case and in a normalized Unicode form. */
export function runsOf(text: string): Run[] {
  return Array.from(text.normalize("NFKC").toLowerCase().matchAll(RUN), ([run, alone]) => ({
    text: run,
    terms: alone ? charactersAndPairs(run) : [run],
  }));
}

function charactersAndPairs(text: string): string[] {
  const characters = Array.from(text);
  return [...characters, ...characters.slice(1).map((character, index) => characters[index] + character)];
}
