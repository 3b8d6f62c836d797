/** Vectors and relevance that mean something, made of the words alone. */

const WIDTH = 64;

export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** The tokens of a text: its words and two marks around them. */
export function countTokens(text: string): number {
  return wordsOf(text).length + 2;
}

/** One vector of length 1: texts that share words have similar ones. */
export function embed(text: string, width = WIDTH): number[] {
  return normalize(mean(embedWords(text, width)));
}

/** A row for each word, and at least one: a model's output before pooling. */
export function embedWords(text: string, width = WIDTH): number[][] {
  const words = wordsOf(text);
  return (words.length === 0 ? [text] : words).map((word) => {
    const row = new Array<number>(width).fill(0);
    let seed = 2166136261;
    for (const character of word) seed = Math.imul(seed ^ character.codePointAt(0)!, 16777619) >>> 0;
    for (let step = 0; step < 8; step++) {
      seed = Math.imul(seed ^ (seed >>> 13), 1540483477) >>> 0;
      row[seed % width]! += seed & 65536 ? 1 : -1;
    }
    return row.some((value) => value !== 0) ? row : row.fill(1, 0, 1);
  });
}

function mean(rows: readonly number[][]): number[] {
  return rows[0]!.map((_, column) => rows.reduce((sum, row) => sum + row[column]!, 0) / rows.length);
}

function normalize(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

/** How well a text answers the query, from 0 to 1: the share of the query's words that it has, long texts a little less. */
export function relevance(query: string, text: string): number {
  const wanted = new Set(wordsOf(query));
  const words = new Set(wordsOf(text));
  const shared = [...wanted].filter((word) => words.has(word)).length;
  return wanted.size === 0 ? 0 : shared / wanted.size * (1 - Math.min(words.size, 1000) / 10_000);
}
