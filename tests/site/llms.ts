/** `llms.txt` and `llms-full.txt`: the documents for readers that are programs, in the form of https://llmstxt.org. */
import type { SitePage } from "./pages.ts";
import { summaryOf } from "./template.ts";

/** The pages that a reader with a short window can leave out. */
const OPTIONAL = new Set(["Decisions", "Take part"]);

/** `base` makes the addresses absolute. */
export function llms(pages: readonly SitePage[], base = ""): string {
  const index = pages.find(({ name }) => name === "index")!;
  const line = (page: SitePage) => `- [${page.title}](${base}${page.name}.md): ${summaryOf(page)}`;
  const sections = Map.groupBy(
    pages,
    ({ section }) => OPTIONAL.has(section) ? "Optional" : section,
  );
  const lists = [...sections].map(([section, inside]) => `## ${section}\n\n${inside.map(line).join("\n")}\n`);
  return [`# Laneway\n`, `> ${summaryOf(index)}\n`, ...lists].join("\n");
}

export function llmsFull(pages: readonly SitePage[], source: (page: SitePage) => string): string {
  return pages.filter(({ section }) => !OPTIONAL.has(section))
    .map((page) => `<!-- ${page.name}.md -->\n\n${source(page).trim()}\n`).join("\n");
}
