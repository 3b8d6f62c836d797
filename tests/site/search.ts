/** The index of the site's search: each section of each page. */
import { proseOf } from "../docs/documents.ts";
import { headingsOf, plainOf, type SitePage } from "./pages.ts";

export interface Entry {
  /** The address: `clients.html#codex`. */
  id: string;
  page: string;
  heading: string;
  text: string;
}

/** The sections of a page. Commands and configurations are words that people look for, so blocks of code are part of them. */
export function entriesOf(page: SitePage): Entry[] {
  const headings = headingsOf(page.text);
  const isHeading = new Set(proseOf(page.text).match(/^#{1,6} .+$/gm) ?? []);
  const parts: string[][] = [];
  for (const line of page.text.split("\n")) {
    if (isHeading.has(line)) parts.push([]);
    else parts.at(-1)?.push(line);
  }
  return headings.map(({ heading, anchor, level }, at) => ({
    id: level === 1 ? `${page.name}.html` : `${page.name}.html#${anchor}`,
    page: page.title,
    heading: level === 1 ? page.title : heading,
    text: plainOf((parts[at] ?? []).join(" ").replace(/```\w*|[|]|-{3,}/g, " ")),
  }));
}

/** As a script, because a page that was opened as a file may not fetch. */
export function searchScript(pages: readonly SitePage[]): string {
  return `window.lanewayPages = ${JSON.stringify(pages.flatMap(entriesOf))};\n`;
}
