/** The characters of scripts that put no space between words. */
const UNSPACED = String
  .raw`[[\p{L}\p{M}\p{N}]&&[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]]`;
const ALONE = String.raw`[${UNSPACED}\p{ExtPict}]`;
const RUN = new RegExp(String.raw`(?<alone>${ALONE}+)|[[\p{L}\p{M}\p{N}]--${UNSPACED}]+`, "gv");

/** A stretch of letters, digits or pictures. */
export interface Run {
  text: string;
  /**
   * What it is looked up by: its word. Where no space stands between words, nobody can tell them apart without a dictionary,
   * and every character and every pair of neighbours counts as one.
   */
  terms: string[];
}

/** The runs of a text, in lower case and in one form where Unicode has several. */
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
