import { assertEquals } from "@std/assert";
import { MarkerReader } from "../../src/transforms/markers.ts";

function placesIn(pieces: Iterable<string>): string[] {
  const reader = new MarkerReader();
  const text = [...pieces].join("");
  return [...pieces].flatMap((piece) => reader.read(piece)).map(({ number, start, end }) =>
    `${number}=${text.slice(start, end)}`
  );
}

const TEXTS: [name: string, text: string, found: string[]][] = [
  ["after words, side by side, at both ends", "[1] So [2][3].\n[4]", ["1=[1]", "2=[2]", "3=[3]", "4=[4]"]],
  ["what only looks like one", "[] [x] [1 [12345] [1 2] [-1] [[5]] 1]", ["5=[5]"]],
  ["behind a character of two units", "🙂[1]", ["1=[1]"]],
  ["code in a line", "So `a[1]` is [2].", ["2=[2]"]],
  ["code with backticks in it", "So ``a`[1]`` is [2].", ["2=[2]"]],
  ["a block of code", "So:\n```js\na[1] = `b[2]`;\n```\nIt is [3].", ["3=[3]"]],
  ["a longer fence", "````\n```\na[1]\n```\n[2]\n````\n[3]", ["3=[3]"]],
  ["tildes", "~~no~~ [1]\n~~~\na[2]\n~~~\n[3]", ["1=[1]", "3=[3]"]],
  ["a block that never ends", "```\na[1]\n\n[2]", []],
  ["a backtick that ends with its paragraph", "It`s [1] so.\n\nAnd [2].", ["2=[2]"]],
  ["backslashes", "\\`[1]\\` \\[2] \\\\[3]", ["1=[1]", "3=[3]"]],
];

for (const [name, text, found] of TEXTS) {
  Deno.test(`markers: ${name}`, () => {
    assertEquals(placesIn([text]), found);
    assertEquals(placesIn([...Array(text.length).keys()].map((at) => text[at]!)), found, "unit by unit");
  });
}
