/** How many bytes a browser is sent for the console: until the first view of each page, and in all. */
import { assert, assertEquals } from "@std/assert";
import { newApp } from "../support/app.ts";

/** Well below the 150 kB that a first view may take. The largest page is the guide. */
const MOST_OF_A_PAGE = 95_000;
/** Everything, as if somebody opened every page. */
const MOST_OF_ALL = 260_000;

const ROOT = new URL("../../src/console/", import.meta.url);
const app = newApp();

/** The text of a file, and how many bytes are sent for it. */
async function fileAt(name: string): Promise<{ text: string; bytes: number }> {
  const response = await app.get(`/console/${name}`);
  assertEquals(response.status, 200, name);
  const sent = await app.get(`/console/${name}`, { "accept-encoding": "br" });
  return { text: await response.text(), bytes: (await sent.arrayBuffer()).byteLength };
}

const files = new Map<string, ReturnType<typeof fileAt>>();
function file(name: string): ReturnType<typeof fileAt> {
  const known = files.get(name) ?? fileAt(name);
  files.set(name, known);
  return known;
}

/** The modules that a module imports. `isLater`: those of its `import()`. */
function importsOf(name: string, text: string, isLater: boolean): string[] {
  const pattern = isLater ? /\bimport\s*\(\s*["']([^"']+)["']/g : /\b(?:from|import)\s*["']([^"']+)["']/g;
  return [...text.matchAll(pattern)].map(([, to]) => new URL(to!, `http://gateway/console/${name}`).pathname.slice(9));
}

/** All that is loaded before a page is drawn, with its charts. */
async function loadedBy(page: string): Promise<Set<string>> {
  const found = new Set(["", "theme.js", "all.css", "app.js", page]);
  for (const name of found) {
    if (!name.endsWith(".js")) continue;
    const { text } = await file(name);
    for (const one of importsOf(name, text, false)) found.add(one);
    // A library that is loaded with the first chart belongs to the first view.
    for (const one of importsOf(name, text, true)) if (one.startsWith("lib/")) found.add(one);
  }
  return found;
}

async function bytesOf(names: Iterable<string>): Promise<number> {
  let bytes = 0;
  for (const name of names) bytes += (await file(name)).bytes;
  return bytes;
}

/** The modules of the pages, as the table of the pages names them. */
async function pages(): Promise<string[]> {
  const table = await Deno.readTextFile(new URL("frame/pages.js", ROOT));
  const loads = table.matchAll(/\bload:.*?import\("\.\.\/([\w./]+)"\)/gs);
  const found = [...loads].map(([, name]) => name!);
  assertEquals(found.length, table.match(/\bload:/g)!.length);
  return [...new Set(found)];
}

Deno.test("console sizes: until its first view a page is sent little", async () => {
  // One session and one request are pages of their own.
  for (const page of [...await pages(), "session.js", "inspect_request.js", "live_history.js"]) {
    const bytes = await bytesOf(await loadedBy(page));
    assert(bytes < MOST_OF_A_PAGE, `${page}: ${bytes} bytes are sent`);
  }
});

Deno.test("console sizes: Markdown, charts and comparisons of files come with the pages that show them", async () => {
  const users = async (library: string) => {
    const found = [];
    for (const page of await pages()) if ((await loadedBy(page)).has(`lib/${library}.js`)) found.push(page);
    return found;
  };
  assertEquals((await users("uplot")).filter((page) => ["keys.js", "models.js", "setup.js"].includes(page)), []);
  assertEquals((await users("marked")).filter((page) => ["live.js", "sessions.js", "usage.js"].includes(page)), []);
  assertEquals((await users("node-diff3")).filter((page) => ["live.js", "sessions.js", "usage.js"].includes(page)), []);
});

Deno.test("console sizes: all files together are small", async () => {
  const found = new Set(["", "theme.js", "all.css", "app.js"]);
  for (const name of found) {
    if (!name.endsWith(".js")) continue;
    const { text } = await file(name);
    for (const one of [...importsOf(name, text, false), ...importsOf(name, text, true)]) found.add(one);
  }
  const own = [...filesIn("")].filter((name) => name.endsWith(".js"));
  assertEquals(own.filter((name) => !found.has(name)), [], "Every module is loaded by some page");
  const bytes = await bytesOf(found);
  assert(bytes < MOST_OF_ALL, `${bytes} bytes are sent for all of it`);
});

function* filesIn(folder: string): Generator<string> {
  for (const { name, isFile } of Deno.readDirSync(new URL(folder, ROOT))) {
    if (isFile) yield folder + name;
    else yield* filesIn(`${folder}${name}/`);
  }
}
