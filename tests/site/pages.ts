/** The pages of the site, in the order of its navigation: `pages.json` lists them. */
import { anchorsOf, documents, proseOf, readDocument } from "../docs/documents.ts";
import listed from "./pages.json" with { type: "json" };

export interface SitePage {
  /** Below the repository's root: `docs/clients.md`. */
  source: string;
  /** Below the site's root, without an ending: `clients`. */
  name: string;
  /** Its name in the navigation. */
  title: string;
  section: string;
  text: string;
}

interface Listed {
  title: string;
  pages?: { path: string; title?: string }[];
  folder?: string;
}

/** Where a document stands in the site: `docs/` is its root, and a README is the page of its folder. */
function nameOf(source: string): string {
  return source.replace(/^docs\//, "").replace(/\.md$/, "").replace(/(^|\/)README$/, "$1index").toLowerCase();
}

export function headingOf(text: string): string {
  const [, heading = ""] = /^# (.+)$/m.exec(proseOf(text)) ?? [];
  return heading.replaceAll("`", "");
}

/** The documents of a folder, its README first. */
function inFolder(folder: string): { path: string; title?: string }[] {
  const paths = documents().map(({ path }) => path).filter((path) => path.startsWith(folder));
  const isIndex = (path: string) => path.endsWith("/README.md");
  return [...paths.filter(isIndex), ...paths.filter((path) => !isIndex(path))].map((path) => ({ path }));
}

export function sitePages(): SitePage[] {
  return (listed as Listed[]).flatMap(({ title: section, pages, folder }) =>
    (pages ?? inFolder(folder!)).map(({ path, title }) => {
      const text = readDocument(path);
      return { source: path, name: nameOf(path), title: title ?? headingOf(text), section, text };
    })
  );
}

/** The headings with their anchors, in their order. */
export function headingsOf(text: string): { level: number; heading: string; anchor: string }[] {
  const anchors = [...anchorsOf(text)];
  return [...proseOf(text).matchAll(/^(#{1,6}) (.+)$/gm)].map(([, marks, heading], at) => ({
    level: marks!.length,
    heading: plainOf(heading!),
    anchor: anchors[at]!,
  }));
}

/** The text that a reader sees: without marks of links, code and emphasis. */
export function plainOf(markdown: string): string {
  return markdown.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]|<[^>]+>/g, "").replace(/\s+/g, " ").trim();
}
