/** The site of the documents: every link leads somewhere, nothing comes from another host, and people can read it. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { parseHTML } from "linkedom";
import { dirname, join, normalize } from "node:path/posix";
import { documents, readDocument } from "../docs/documents.ts";
import { withFolder } from "../support/process.ts";
import { buildSite } from "./build.ts";
import { placeOf } from "./links.ts";
import { sitePages } from "./pages.ts";

/** The part of an element that these tests read. */
interface Element {
  id: string;
  localName: string;
  textContent: string;
  getAttribute(name: string): string | null;
}

interface Built {
  files: Set<string>;
  read(path: string): string;
  elements(path: string, selector: string): Element[];
}

async function withSite(use: (site: Built) => void | Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const files = new Set(await buildSite({ out: folder }));
    const read = (path: string) => Deno.readTextFileSync(`${folder}/${path}`);
    const elements = (path: string, selector: string) => {
      const { document } = parseHTML(read(path)) as unknown as {
        document: { querySelectorAll(selector: string): ArrayLike<Element> };
      };
      return Array.from(document.querySelectorAll(selector));
    };
    await use({ files, read, elements });
  });
}

Deno.test("site: the list has every document of docs/ and each page beside the README, once", () => {
  const sources = sitePages().map(({ source }) => source).toSorted();
  const own = documents().map(({ path }) => path).filter((path) => /^(docs\/.*|[A-Z]+\.md)$/.test(path));
  assertEquals(sources, own.filter((path) => path !== "AGENTS.md").toSorted());
});

Deno.test("site: every link and every picture of every page leads to a file, and to a place in it", async () => {
  await withSite(({ files, elements }) => {
    const pages = [...files].filter((file) => file.endsWith(".html"));
    const ids = new Map(pages.map((page) => [page, elements(page, "[id]").map(({ id }) => id)]));
    const faults: string[] = [];
    for (const page of pages) {
      if (new Set(ids.get(page)).size !== ids.get(page)!.length) faults.push(`${page}: an id stands twice`);
      for (const element of elements(page, "a, img, script, link")) {
        const target = element.getAttribute("href") ?? element.getAttribute("src") ?? "";
        if (/^(https?:|mailto:|data:)/.test(target) && element.localName !== "script") continue;
        const [file = "", anchor] = decodeURI(target).split("#");
        const path = file === "" ? page : normalize(join(dirname(page), file));
        if (!files.has(path) || anchor !== undefined && !ids.get(path)?.includes(anchor)) {
          faults.push(`${page}: ${target}`);
        }
      }
    }
    assert(pages.length > 40);
    assertEquals(faults, []);
  });
});

Deno.test("site: no page asks another host, and each links its source", async () => {
  await withSite(({ files, read, elements }) => {
    for (const file of files) {
      if (!file.endsWith(".html")) continue;
      for (const element of elements(file, "link, script, img, iframe, source")) {
        const from = element.getAttribute("src") ?? element.getAttribute("href") ?? "";
        assert(!/^(\w+:)?\/\//.test(from), `${file}: ${from}`);
      }
      assert(!/@import|url\(\s*['"]?https?:/.test(read(file)), file);
      const [source] = elements(file, "footer a").map((link) => link.getAttribute("href"));
      assert(files.has(normalize(join(dirname(file), source!))), file);
    }
  });
});

Deno.test("site: diagrams are drawn, code is highlighted, and no fence is left", async () => {
  await withSite(({ read, elements }) => {
    const [svg] = elements("index.html", ".diagram svg");
    assertMatch(svg!.getAttribute("aria-label")!, /Claude Code, Anthropic Messages/);
    assertMatch(svg!.textContent, /lane \/oss/);
    assert(elements("clients.html", ".hljs-attr").length > 5);
    assert(!read("clients.html").includes("```"));
    assert(read("deployment.html").includes("☐ Configure") && !read("deployment.html").includes("[ ]"));
  });
});

Deno.test("site: llms.txt has the known form, and names the source of every page", async () => {
  await withSite(({ files, read }) => {
    const [title, , quote, ...rest] = read("llms.txt").split("\n");
    assertEquals(title, "# Laneway");
    assertMatch(quote!, /^> Laneway is /);
    const entries = rest.filter((line) => line.startsWith("- "));
    assertEquals(entries.filter((line) => !/^- \[[^\]]+\]\(\S+\.md\): ?\S/.test(line)), []);
    const linked = entries.map((line) => /\]\((\S+)\)/.exec(line)![1]!);
    assertEquals(
      linked.toSorted(),
      [...files].filter((file) => file.endsWith(".md") && !file.includes("files/")).sort(),
    );
    assertEquals(rest.filter((line) => line.startsWith("## ")).at(-1), "## Optional");
    const full = read("llms-full.txt");
    assert(full.includes("# Clients") && full.includes("](clients.md#codex)") && !full.includes("](../README.md"));
  });
});

Deno.test("site: addresses are absolute, and pages name their file in the repository, where these are known", async () => {
  await withFolder(async (folder) => {
    const [base, source] = ["https://docs.example/", "https://code.example/laneway/blob/main/"];
    await buildSite({ out: folder, base, source });
    const [index, page] = ["llms.txt", "clients.html"].map((name) => Deno.readTextFileSync(`${folder}/${name}`));
    assertMatch(index!, /\(https:\/\/docs\.example\/clients\.md\)/);
    assert(page!.includes(`href="${source}docs/clients.md"`));
  });
});

Deno.test("site: the mark beside a heading leads to that heading, also where its words stand twice", async () => {
  await withSite(({ files, elements }) => {
    for (const page of [...files].filter((file) => file.endsWith(".html"))) {
      const headings = elements(page, "main h2, main h3, main h4").map(({ id }) => `#${id}`);
      assertEquals(elements(page, "main a.anchor").map((mark) => mark.getAttribute("href")), headings, page);
    }
  });
});

Deno.test("site: a link leads to the page of a document, and to a copy of any other file", () => {
  const pages = sitePages();
  const places = { pages: new Map(pages.map((page) => [page.source, page])), files: new Set<string>() };
  const at = (source: string) => places.pages.get(source)!;
  const to = (target: string, source: string) => placeOf(target, at(source), places, ".html");
  assertEquals(to("docs/clients.md#codex", "README.md"), "clients.html#codex");
  assertEquals(to("../README.md", "docs/clients.md"), "index.html");
  assertEquals(to("../clients.md", "docs/decisions/README.md"), "../clients.html");
  assertEquals(to("https://example.com/a.md", "README.md"), "https://example.com/a.md");
  assertEquals(to("../../LICENSE", "docs/decisions/README.md"), "../files/LICENSE");
  assertEquals([...places.files], ["LICENSE"]);
});

Deno.test("recording: it is small, asks nobody, and its commands are the README's", () => {
  const [svg, readme] = ["docs/images/first-start.svg", "README.md"].map(readDocument) as [string, string];
  assert(svg.length < 100_000);
  assert(!/https?:\/\/(?!127\.0\.0\.1|www\.w3\.org)/.test(svg) && !/<script|<image|@import/.test(svg));
  const typed = [...svg.matchAll(/<text class="r t"[^>]*>(?:\$|&gt;) ([^<]*)</g)].map(([, line]) => line!.trim());
  assertEquals(typed.length, 4);
  for (const line of typed.slice(0, 3)) assert(readme.includes(line), line);
  assertMatch(typed[3]!, /task -q laneway connect claude-code /);
});
