/** Code in place of a gateway's: many small functions, each with code and objects of its own. */

/** 500 of them take about 40 µs in a loop on the machine of `docs/performance.md`. */
export function manyFunctions(count: number): () => void {
  const functions = Array.from({ length: count }, (_, at) =>
    new Function(
      "words",
      `const found = { name${at}: words[${at % 13}], list: [words.length, ${at}], text: "" };
       for (const word of words) if (word.length > ${3 + at % 5}) found.text += word;
       return { ...found, size${at}: found.text.length + found.list[1] };`,
    ));
  return () => functions.forEach((one) => one(WORDS));
}

const WORDS = "The words of a request, at which each of the functions looks in its own way".split(" ");
