/** Builds the documents into a static site. */
// Its file is found only once it is loaded.
import "minisearch";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { ROOT } from "../docs/documents.ts";
import { copyOf, type Places, sourceOf } from "./links.ts";
import { llms, llmsFull } from "./llms.ts";
import { render } from "./markdown.ts";
import { sitePages } from "./pages.ts";
import { searchScript } from "./search.ts";
import { framed } from "./template.ts";

export interface SiteOptions {
  /** The folder that is written. */
  out: string;
  /** The site's address, which ends in `/`; without it the addresses of llms.txt are relative. */
  base?: string;
  /** Where the repository's files can be read, up to their path. */
  source?: string;
}

const THEME = new URL("theme/", import.meta.url);

/** The script of the search library that a page without modules can load. */
const SEARCH_LIBRARY = join(dirname(createRequire(import.meta.url).resolve("minisearch")), "../umd/index.js");

async function write(path: string, content: string | Uint8Array): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await (typeof content === "string" ? Deno.writeTextFile(path, content) : Deno.writeFile(path, content));
}

/** Answers with the names of the files that it wrote. */
export async function buildSite({ out, base, source }: SiteOptions): Promise<string[]> {
  const pages = sitePages();
  const places: Places = { pages: new Map(pages.map((page) => [page.source, page])), files: new Set() };
  const files = new Map<string, string | Uint8Array>();
  for (const page of pages) {
    files.set(`${page.name}.html`, framed(page, pages, render(page, places), source));
    files.set(`${page.name}.md`, sourceOf(page, places));
  }
  files.set("llms.txt", llms(pages, base));
  files.set("llms-full.txt", llmsFull(pages, (page) => sourceOf(page, places)));
  files.set("search.js", searchScript(pages));
  files.set("minisearch.js", await Deno.readTextFile(SEARCH_LIBRARY));
  for await (const { name } of Deno.readDir(THEME)) files.set(name, await Deno.readTextFile(new URL(name, THEME)));
  for (const path of places.files) files.set(copyOf(path), await Deno.readFile(new URL(path, ROOT)));
  for (const [path, content] of files) await write(join(out, path), content);
  return [...files.keys()];
}
