/** The sources of the executables. */
import { stripTypeScriptTypes } from "node:module";
import { ROOT } from "../compile.ts";
import { filesBelow } from "./files.ts";

/** An executable is built from these files and from the folders of `CODE`. The lock speaks of `package.json` as well. */
const FILES = ["deno.json", "deno.lock", "package.json", "gateway.default.json"];
const CODE = ["src", "plugins"];

/**
 * Copies the sources to `folder` as JavaScript, without comments and indentation. An executable would hold each source in
 * TypeScript twice, as it is written and as it runs. Lines keep their numbers, so that stack traces name the lines of the
 * repository.
 */
export async function copySources(folder: string): Promise<void> {
  const places = await placesByFile();
  const root = ROOT.pathname;
  const code = CODE.flatMap((name) => [...filesBelow(`${root}${name}`)].map((path) => path.slice(root.length)));
  for (const path of [...FILES, ...code]) {
    const file = new URL(path, ROOT);
    const bytes = await Deno.readFile(file);
    const isTyped = /(?<!\.d)\.ts$/.test(path);
    const copy = `${folder}/${isTyped ? path.replace(/ts$/, "js") : path}`;
    const text = compact(bytes, places.get(file.href) ?? NOWHERE);
    await Deno.mkdir(copy.slice(0, copy.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(copy, isTyped ? withoutTypes(text) : text);
    await Deno.utime(copy, 0, 0); // an executable holds the times, and equal sources give equal executables
  }
}

/** The addresses by which a module names another one. */
const SPECIFIER = /(\bfrom |\bimport |\bimport\(|\bnew URL\()"(\.{1,2}\/[^"\n]+)\.ts"/g;

/** A module as JavaScript, with the same lines. It names the other modules as they are named then. */
export function withoutTypes(source: string): string {
  const lines = source.split("\n");
  const stripped = stripTypeScriptTypes(source).split("\n");
  // A type leaves white space. White space at the end of a line of the source is part of a text.
  const trimmed = stripped.map((line, index) => lines[index]!.endsWith(" ") ? line : line.trimEnd());
  return trimmed.join("\n").replace(SPECIFIER, '$1"$2.js"');
}

/** A part of a source, in bytes from the beginning of its file. */
type Part = readonly [start: number, end: number];

/** The parts of a source that may be left out, and those in which white space says something. */
interface Places {
  comments: Part[];
  templates: Part[];
}

const NOWHERE: Places = { comments: [], templates: [] };

/** The comments and templates of the sources, by the address of the file. */
async function placesByFile(): Promise<Map<string, Places>> {
  const plugin = new URL("comments.ts", import.meta.url).pathname;
  const config = await Deno.makeTempFile({ suffix: ".json" });
  try {
    const rules = { tags: [], include: ["release/comments", "release/templates"] };
    await Deno.writeTextFile(config, JSON.stringify({ lint: { plugins: [plugin], rules } }));
    const args = ["lint", "--json", "--config", config, ...CODE];
    const { stdout } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).output();
    const { diagnostics, errors }: Lint = JSON.parse(new TextDecoder().decode(stdout));
    if (errors.length > 0) throw new Error(`Cannot read the sources: ${JSON.stringify(errors[0])}`);
    const found = new Map<string, Places>();
    for (const { filename, code, range } of diagnostics) {
      const places = found.get(filename) ?? { comments: [], templates: [] };
      const part: Part = [range.start.bytePos, range.end.bytePos];
      (code === "release/comments" ? places.comments : places.templates).push(part);
      found.set(filename, places);
    }
    return found;
  } finally {
    await Deno.remove(config);
  }
}

/** The output of `deno lint --json`, as far as it is read. */
interface Lint {
  diagnostics: { filename: string; code: string; range: { start: { bytePos: number }; end: { bytePos: number } } }[];
  errors: unknown[];
}

/** A source without its comments, and without the indentation outside templates. */
export function compact(source: Uint8Array, { comments, templates }: Places): string {
  const textOf = (start: number, end?: number) => new TextDecoder().decode(source.subarray(start, end));
  const cuts = [...comments, ...indentationIn(source, [...comments, ...templates])];
  let text = "";
  let at = 0;
  for (const [start, end] of cuts.toSorted(([one], [other]) => one - other)) {
    const lines = textOf(start, end).split("\n").length - 1;
    text += textOf(at, start).replace(/ +$/, "") + "\n".repeat(lines);
    // A comment may be all that is between two words.
    if (lines === 0 && source[start] !== SPACE) text += " ";
    at = end;
  }
  return text + textOf(at);
}

const [SPACE, NEWLINE] = [32, 10];

/** The spaces at the beginning of lines that do not begin in one of these parts. */
function indentationIn(source: Uint8Array, parts: readonly Part[]): Part[] {
  const found: Part[] = [];
  for (let start = 0; start !== -1;) {
    let end = start;
    while (source[end] === SPACE) end++;
    if (end > start && !parts.some((part) => part[0] < start && start < part[1])) found.push([start, end]);
    const newline = source.indexOf(NEWLINE, end);
    start = newline === -1 ? -1 : newline + 1;
  }
  return found;
}
