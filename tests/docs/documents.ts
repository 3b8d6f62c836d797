/** The documents of the repository, read as far as the tests need it: headings, links, blocks of code, tables. */

export const ROOT = new URL("../../", import.meta.url);

/** What git keeps, and what others wrote. */
const SKIPPED = new Set([".git", "node_modules"]);

/** Folders at the root that tasks write. */
const BUILT = new Set(["site", "release"]);

export interface Document {
  /** From the root of the repository: `docs/clients.md`. */
  path: string;
  text: string;
}

export interface Block {
  path: string;
  /** The language behind the fence: `sh`. */
  language: string;
  code: string;
}

/** Every Markdown file of the repository. */
export function documents(): Document[] {
  return [...pathsBelow("")].sort().map((path) => ({ path, text: Deno.readTextFileSync(new URL(path, ROOT)) }));
}

function* pathsBelow(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder || "./", ROOT))) {
    if (isDirectory && !SKIPPED.has(name) && !(folder === "" && BUILT.has(name))) {
      yield* pathsBelow(`${folder}${name}/`);
    } else if (name.endsWith(".md")) yield `${folder}${name}`;
  }
}

export function readDocument(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

/** The texts of all sources below a folder. */
export function* sourcesBelow(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, ROOT))) {
    if (isDirectory) yield* sourcesBelow(`${folder}${name}/`);
    else if (name.endsWith(".ts")) yield readDocument(`${folder}${name}`);
  }
}

const FENCE = /^( *)```(\w*)[^\n]*\n([^]*?)^\1```$/gm;

export function blocksOf({ path, text }: Document): Block[] {
  return [...text.matchAll(FENCE)].map(([, , language = "", code = ""]) => ({ path, language, code }));
}

/** The text without its blocks of code, in which nothing is a heading or a link. */
export function proseOf(text: string): string {
  return text.replace(FENCE, "");
}

/** What can stand behind the `#` of a link to the document, as GitHub makes it of the headings. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of proseOf(text).matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
    const slug = plain.trim().toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** The targets of all links and pictures, in their order. */
export function linksOf(text: string): string[] {
  const prose = proseOf(text).replace(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)].map(([, target]) => target!);
}

/** The commands in the document's blocks of shell, each in one line as the shell reads it. */
export function commandsOf(document: Document): string[] {
  return blocksOf(document).filter(({ language }) => /^(sh|bash|shell|console)$/.test(language))
    .flatMap(({ code }) => code.replaceAll(/\\\n\s*/g, "").split("\n"))
    .map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#"));
}

/** The rows of the first table below a heading, each as its cells without the marks of code. */
export function tableBelow(path: string, heading: string): string[][] {
  const text = readDocument(path);
  const at = text.search(new RegExp(`^#+ ${heading}$`, "m"));
  if (at < 0) throw new Error(`${path} has no heading "${heading}"`);
  const [table = ""] = /(?:^\|.*\n)+/m.exec(text.slice(at)) ?? [];
  const rows = table.trim().split("\n").slice(2);
  return rows.map((row) => row.slice(1, -1).split(/(?<!\\)\|/).map((cell) => cell.replaceAll("`", "").trim()));
}
