import { assertEquals } from "@std/assert";
import house from "./house.ts";

const lint = (path: string, text: string) =>
  Deno.lint.runPlugin(house, path, text).map(({ id, message }) => `${id}: ${message}`);

const PROGRAM = "/repository/src/one.ts";

Deno.test("lint: a file and a function that are too long are found, in the program only", () => {
  const file = Array.from({ length: 301 }, (_, at) => `export const a${at} = ${at};`).join("\n");
  assertEquals(lint(PROGRAM, file), [
    "house/file-length: The file has 301 lines: think whether it holds two ideas; if it is one, keep it whole with " +
    "`// deno-lint-ignore-file house/file-length -- reason`",
  ]);
  assertEquals(lint("/repository/tests/one.ts", file), []);
  const run = `function run() {\n${"  f();\n".repeat(59)}}`;
  assertEquals(lint(PROGRAM, run), ["house/function-length: The function has 61 lines: split it, 60 is the limit"]);
});

Deno.test("lint: a table may be long", () => {
  const table = `const table = () => ({\n${Array.from({ length: 70 }, (_, at) => `  a${at}: 1,\n`).join("")}});`;
  assertEquals(lint(PROGRAM, table), []);
});

Deno.test("lint: ways through a function are counted, a switch as one, those of inner functions apart", () => {
  const branches = (count: number) => "if (a) f();\n".repeat(count);
  assertEquals(lint(PROGRAM, `function run() { ${branches(13)} }`), []);
  assertEquals(lint(PROGRAM, `function run() { ${branches(14)} }`), [
    "house/complexity: The function has 15 ways through it: split it, fewer than 15 are allowed",
  ]);
  assertEquals(lint(PROGRAM, `function run() { ${branches(7)} return () => { ${branches(7)} }; }`), []);
  const cases = Array.from({ length: 20 }, (_, at) => `case ${at}: return ${at};`).join("\n");
  assertEquals(lint(PROGRAM, `function run(a) { switch (a) { ${cases} } }`), []);
});

Deno.test("lint: a forbidden word is found inside a name, in tests too, and not inside another word", () => {
  assertEquals(lint("/repository/tests/one.ts", "const toldAnswers = untoldStories;"), [
    'house/forbidden-word: "toldAnswers": in place of "told" say what it is: emitted, sent, reported, stated',
  ]);
  assertEquals(lint(PROGRAM, "const ALL_KNOBS = 1;"), [
    'house/forbidden-word: "ALL_KNOBS": in place of "KNOBS" say what it is: tuning parameters',
  ]);
});

Deno.test("lint: a function that is assigned to a field is found where requests pass through", () => {
  const complaint =
    "house/old-function: A function that is assigned to a field outlives the request: name it first, or write it into a literal";
  const path = "/repository/src/inference/one.ts";
  assertEquals(lint(path, "ask.bill = () => open(ask);"), [complaint]);
  assertEquals(lint("/repository/plugins/chat/one.ts", "this.#open ??= function () {};"), [complaint]);
  assertEquals(lint(path, "const bill = () => open(ask); ask.bill = bill;"), []);
  assertEquals(lint(path, "socket.onmessage = () => {};"), []);
  assertEquals(lint("/repository/src/cli/one.ts", "ask.bill = () => open(ask);"), []);
});

Deno.test("lint: a comment whose sentence has to be read twice is found, with what to write instead", () => {
  const path = "/repository/src/inference/one.ts";
  const found = (comment: string, at = path) =>
    lint(at, `${comment}\nexport const a = 1;`).map((complaint) => complaint.split(" …")[0]);
  const begins = (text: string) => [`house/plain-comment: "${text}`];

  assertEquals(found("/** It opens. Of a stream, the first bytes. */"), begins("Of a stream, the"));
  assertEquals(found("/** The same. */"), begins("The same."));
  assertEquals(found("/** The same for audio. */"), begins("The same for audio."));
  assertEquals(found("// Whoever asks may wait."), begins("Whoever asks may wait."));
  assertEquals(found("/** Who served it. */"), begins("Who served it."));
  assertEquals(found("// It waits.\n// Neither is sound changed."), begins("Neither is sound changed."));
  assertEquals(found("/**\n * What keys used,\n * by day.\n */"), begins("What keys used, by"));
  assertEquals(found("/** It ends. Of\n * all. Whoever waits. */"), [
    ...begins("Of all."),
    ...begins("Whoever waits."),
  ]);

  assertEquals(lint(path, "/** What keys used. */"), [
    'house/plain-comment: "What keys used. …": name the thing: "The usage of each key", not "What keys used"; ' +
    'or begin with a verb: "Prices an answer"',
  ]);
});

Deno.test("lint: a comment that only holds such a word is left alone, as are strings and other folders", () => {
  const path = "/repository/src/inference/one.ts";
  for (
    const plain of [
      "/** The same driver, with other errors. */",
      "/** Often enough. Offline it waits. */",
      "/** Bytes of the body, the same as before, of what is left. */",
      "/** A whole answer. What ends early is no failure. */",
      "// What ends early is no failure.",
      "/** Whose key it is. */",
      "// Neither stream waits.",
      "// It is the end\n\n// of Of",
      'const text = "Of one. The same. Whoever";',
    ]
  ) assertEquals(lint(path, `${plain}\nexport const a = 1;`), [], plain);
  assertEquals(lint("/repository/tests/golden/one.ts", "/** Of one. */"), []);
});
