/** Where the documents point to is there: files, headings, and the files that they name. */
import { assert, assertEquals } from "@std/assert";
import { dirname, join, normalize } from "node:path/posix";
import { LAYERS } from "../support/architecture.ts";
import { anchorsOf, documents, linksOf, proseOf, readDocument, ROOT, sourcesBelow, tableBelow } from "./documents.ts";

const all = documents();
const anchors = new Map(all.map(({ path, text }) => [path, anchorsOf(text)]));

function isThere(path: string): boolean {
  try {
    Deno.statSync(new URL(path, ROOT));
    return true;
  } catch {
    return false;
  }
}

/** What is wrong with a link, if anything. Addresses of the web are not looked at: the tests use no network. */
function faultOf(from: string, target: string): string | undefined {
  if (/^(https?|mailto):/.test(target)) return undefined;
  const [file = "", anchor] = decodeURI(target).split("#");
  const path = file === "" ? from : normalize(join(dirname(from), file));
  if (path.startsWith("..") || !isThere(path)) return `${from}: no file "${target}"`;
  if (anchor !== undefined && !anchors.get(path)?.has(anchor)) return `${from}: no heading "${target}"`;
}

Deno.test("links: every relative link of every document leads to a file, and to a heading where it names one", () => {
  assert(all.length > 5, "The documents were not found");
  assertEquals(all.flatMap(({ path, text }) => linksOf(text).flatMap((target) => faultOf(path, target) ?? [])), []);
});

Deno.test("links: a link to no file or no heading is found", () => {
  assertEquals(faultOf("docs/clients.md", "../README.md#start"), undefined);
  assertEquals(faultOf("docs/clients.md", "https://example.com/#any"), undefined);
  assertEquals(faultOf("docs/clients.md", "#codex"), undefined);
  for (const target of ["README.md", "../README.md#stop", "#no-such", "../../outside.md"]) {
    assert(faultOf("docs/clients.md", target), target);
  }
  assertEquals(linksOf("[a](b.md) `[c](d.md)`\n```sh\n[e](f.md)\n```\n![g](h.png#i)"), ["b.md", "h.png#i"]);
  assertEquals([...anchorsOf("# A `b`, c_d\n## Same\n## Same\n```sh\n# no\n```\n")], ["a-b-c_d", "same", "same-1"]);
});

Deno.test("links: every page of docs/ can be reached from the README", () => {
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path) || !anchors.has(path)) return;
    seen.add(path);
    for (const target of linksOf(readDocument(path))) {
      if (!/^\w+:/.test(target)) visit(normalize(join(dirname(path), target.split("#")[0]!)));
    }
  };
  visit("README.md");
  assertEquals(all.map(({ path }) => path).filter((path) => path.startsWith("docs/") && !seen.has(path)), []);
});

/** A path in marks of code: `src/handle.ts`, `plugins/chat/`. Not one with a place to fill in, or a pattern. */
const NAMED_PATH = /`((?:src|plugins|tests|docs|deploy|examples|\.ci)\/[\w./-]*)`/g;

Deno.test("links: every file and folder that a document names is there", () => {
  const missing = all.flatMap(({ path, text }) =>
    [...proseOf(text).matchAll(NAMED_PATH)].filter(([, named]) => !isThere(named!)).map(([, named]) =>
      `${path}: ${named}`
    )
  );
  assertEquals(missing, []);
});

Deno.test("tree: the tree in how_it_works.md is the tree of src/ and plugins/", () => {
  const [, tree = ""] = /^## The tree\n\n```\n([^]*?)```/m.exec(readDocument("docs/how_it_works.md")) ?? [];
  for (const root of ["src", "plugins"]) {
    const [, part = ""] = new RegExp(`^${root}/.*\\n((?: +.*\\n)+)`, "m").exec(tree) ?? [];
    const named = part.split("\n").flatMap((line) => line.trim().match(/^\S+(?: {2}\S+)*/)?.[0].split(/ +/) ?? []);
    const there = [...Deno.readDirSync(new URL(root, ROOT))].map(({ name, isDirectory }) =>
      isDirectory ? `${name}/` : name
    );
    assertEquals(named.toSorted(), there.toSorted(), `What is in ${root}/, in docs/how_it_works.md`);
  }
});

Deno.test("tree: the layers in how_it_works.md are those that the architecture test knows", () => {
  const [, layers = ""] = /layers below it:\n\n```\n([^]*?)```/.exec(readDocument("docs/how_it_works.md")) ?? [];
  const named = layers.split("←").map((layer) => layer.match(/\w+/g)?.toSorted());
  const known = LAYERS.map((layer) => layer.map((path) => path.replace(/^src\/|\.ts$/g, "")).toSorted());
  assertEquals(named, known);
});

/** What the gateway says, in a symptom; `…` and `"…"` stand for what differs. */
function* quotedIn(symptom: string): Generator<string> {
  for (const [, words] of symptom.matchAll(/`([^`]+)`/g)) {
    for (const piece of words!.split(/"[^"]*"|…/)) if (/\w+ \w+/.test(piece)) yield piece.trim();
  }
}

Deno.test("troubleshooting: every message that is quoted is one of the gateway's", () => {
  const sources = [...sourcesBelow("src/"), ...sourcesBelow("plugins/")].join("\n");
  const symptoms = readDocument("docs/troubleshooting.md").split("\n").flatMap((line) =>
    /^\| (.+?) +\|/.exec(line)?.[1] ?? []
  );
  const quoted = symptoms.flatMap((symptom) => [...quotedIn(symptom)]);
  assert(quoted.length > 5);
  assertEquals(quoted.filter((words) => !sources.includes(words)), []);
});

Deno.test("lifetimes: every place that keeps the rule is where the page says, and there are as many as it says", () => {
  const places = tableBelow("docs/lifetimes.md", "The places that keep the rule");
  const gone = places.filter(([path, name]) =>
    !new RegExp(`(function|class) ${name}\\b`).test(Deno.readTextFileSync(new URL(path!, ROOT)))
  );
  assertEquals(gone, []);
  assertEquals([places.length, readDocument("docs/lifetimes.md").includes("Seventeen functions and classes")], [
    17,
    true,
  ]);
});

Deno.test("agents: the page fits on one screen", () => {
  const lines = readDocument("AGENTS.md").trimEnd().split("\n").length;
  assert(lines <= 45, `AGENTS.md has ${lines} lines, and may have 45`);
});

Deno.test("readme: it is read in a few minutes", () => {
  const lines = readDocument("README.md").trimEnd().split("\n").length;
  assert(lines <= 200, `README.md has ${lines} lines, and may have 200: what is longer has its place in docs/`);
});
