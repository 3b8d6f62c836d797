import { assertEquals } from "@std/assert";
import { loadFixtures } from "./support/fixtures.ts";
import { goldenOf } from "./support/golden.ts";
import { completionsGolden } from "./support/golden/completions.ts";
import { loadThreads, threadGolden } from "./support/golden/threads.ts";
import { fileGoldens } from "./support/golden/files.ts";
import { learnUsual, showUsual } from "./support/golden/usual.ts";
import { WIRES } from "./support/wires.ts";

/** What these files hold, and what they leave out: `support/golden.ts`. */
const GOLDEN = new URL("./golden/", import.meta.url);
const UPDATE = Deno.env.get("LANEWAY_UPDATE_GOLDEN") === "1";
const ADVICE = "If the change is right, run `deno task test:update` and read the diff";

const fixtures = new Map(WIRES.map(({ name }) => [name, loadFixtures(name)]));
const usual = await learnUsual(fixtures);
const estimates: string[] = [];
const present = filesIn("");

for (const wire of WIRES) {
  for (const fixture of fixtures.get(wire.name)!) {
    const name = `${wire.name}/${fixture.name}`;
    Deno.test(`golden: ${name}`, async () => {
      const { text, inputTokens } = await goldenOf(fixture, wire, usual, UPDATE);
      if (inputTokens !== undefined) estimates.push(`${name}: ${inputTokens}\n`);
      compare(`${name}.txt`, text);
    });
  }
}

for (const fixture of loadFixtures("completions")) {
  const name = `completions/${fixture.name}`;
  Deno.test(`golden: ${name}`, async () => compare(`${name}.txt`, await completionsGolden(fixture, UPDATE)));
}

for (const fixture of loadThreads()) {
  const name = `threads/${fixture.name}`;
  Deno.test(`golden: ${name}`, async () => compare(`${name}.txt`, await threadGolden(fixture, UPDATE)));
}

for (const [path, text] of await fileGoldens()) {
  Deno.test(`golden: ${path.replace(".txt", "")}`, () => compare(path, text));
}

Deno.test("golden: what is the same in every case", () => compare("envelopes.txt", showUsual(usual)));

Deno.test("golden: the estimate of every input", () => compare("estimates.txt", estimates.join("")));

Deno.test("golden: every file belongs to a case", () => {
  if (UPDATE) { for (const file of present) Deno.removeSync(new URL(file, GOLDEN)); }
  else assertEquals([...present], [], `No case has these files in tests/golden. Run \`deno task test:update\``);
});

/** Compares the file with the text, section by section, or writes it. */
function compare(file: string, text: string): void {
  const isPresent = present.delete(file);
  const url = new URL(file, GOLDEN);
  if (UPDATE) return write(url, text);
  if (!isPresent) throw new Error(`tests/golden/${file} is missing. ${ADVICE}`);
  const golden = Deno.readTextFileSync(url);
  if (text === golden) return;
  const [now, before] = [sectionsOf(text), sectionsOf(golden)];
  assertEquals([...now.keys()], [...before.keys()], `tests/golden/${file} has other headings. ${ADVICE}`);
  for (const [heading, section] of now) {
    assertEquals(section, before.get(heading), `tests/golden/${file}, "${heading}". ${ADVICE}`);
  }
  assertEquals(text, golden, `tests/golden/${file}. ${ADVICE}`);
}

function write(url: URL, text: string): void {
  Deno.mkdirSync(new URL(".", url), { recursive: true });
  Deno.writeTextFileSync(url, text);
}

function sectionsOf(text: string): Map<string, string> {
  return new Map(text.split(/^== /m).map((section) => [section.split(" ==\n")[0]!, section]));
}

/** The golden files that there are, by their paths. */
function filesIn(folder: string): Set<string> {
  const files = new Set<string>();
  for (const { name, isDirectory } of Deno.readDirSync(new URL(`./${folder}`, GOLDEN))) {
    if (isDirectory) { for (const file of filesIn(`${folder}${name}/`)) files.add(file); }
    else files.add(folder + name);
  }
  return files;
}
