/** The frame of a page: navigation, search, the switch of colours, and the way to its source. */
import { dirname, relative } from "node:path/posix";
import { readDocument } from "../docs/documents.ts";
import { escapeHtml } from "./markdown.ts";
import { headingsOf, type SitePage } from "./pages.ts";

const README = readDocument("README.md");

/** The page's description for search engines, previews and programs: from the README's table, or its first paragraph. */
export function summaryOf({ source, text }: SitePage): string {
  const [, about] = new RegExp(`^\\| \\[[^|]*\\]\\(${RegExp.escape(source)}\\) *\\| (.*?) *\\|$`, "m").exec(README) ??
    [];
  if (about !== undefined) return about[0]!.toUpperCase() + about.slice(1);
  const [, paragraph = ""] = /^# .+\n\n((?:[^#\n`|].*\n)+)/m.exec(text) ?? [];
  return paragraph.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*_]/g, "").replace(/\s+/g, " ").trim();
}

function navigation(pages: readonly SitePage[], current: SitePage, to: (name: string) => string): string {
  const sections = Map.groupBy(pages, ({ section }) => section);
  return [...sections].map(([section, inside]) => {
    const items = inside.map(({ name, title }) =>
      `<li><a href="${to(`${name}.html`)}"${name === current.name ? ' aria-current="page"' : ""}>${
        escapeHtml(title)
      }</a></li>`
    );
    const isOpen = section !== "Decisions" || section === current.section;
    return `<details${isOpen ? " open" : ""}><summary>${section}</summary><ul>${items.join("")}</ul></details>`;
  }).join("\n");
}

function contents(page: SitePage): string {
  const items = headingsOf(page.text).filter(({ level }) => level === 2 || level === 3);
  if (items.length < 3) return "";
  const links = items.map(({ level, heading, anchor }) =>
    `<li class="level-${level}"><a href="#${anchor}">${escapeHtml(heading)}</a></li>`
  );
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${links.join("")}</ul></nav>`;
}

export function framed(page: SitePage, pages: readonly SitePage[], body: string, source?: string): string {
  const to = (path: string) => relative(dirname(page.name), path);
  const own = `${page.name.split("/").at(-1)}.md`;
  const links = [
    `<a href="${own}">Source of this page</a>`,
    ...(source === undefined ? [] : [`<a href="${escapeHtml(source + page.source)}">In the repository</a>`]),
    `<a href="${to("llms.txt")}">llms.txt</a>`,
  ];
  return `<!doctype html>
<html lang="en" data-root="${to("index.html").replace(/index\.html$/, "")}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escapeHtml(summaryOf(page))}">
<title>${escapeHtml(page.name === "index" ? "Laneway" : `${page.title} · Laneway`)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${to("site.css")}">
<link rel="alternate" type="text/markdown" href="${own}">
<script src="${to("colours.js")}"></script>
<script src="${to("site.js")}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<button id="menu" type="button" aria-expanded="false" aria-controls="pages">Menu</button>
<a class="brand" href="${to("index.html")}">Laneway</a>
<form id="search" role="search" hidden><label for="query" class="unseen">Search</label>
<input id="query" type="search" placeholder="Search ( / )" autocomplete="off" aria-controls="found"></form>
<button id="colours" type="button" hidden>Colours: system</button>
</header>
<div id="found" role="region" aria-label="Search results" aria-live="polite" hidden></div>
<div class="columns">
<nav id="pages" aria-label="Pages">
${navigation(pages, page, to)}
</nav>
<main id="content" tabindex="-1">
${body}
<footer>${links.join(" · ")}</footer>
</main>
${contents(page)}
</div>
</body>
</html>
`;
}
