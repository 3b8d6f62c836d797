/** Where the links of a document lead in the site. */
import { dirname, join, normalize, relative } from "node:path/posix";
import type { SitePage } from "./pages.ts";

export interface Places {
  pages: ReadonlyMap<string, SitePage>;
  /** Files that are no pages, such as pictures and examples of deployment: the site holds a copy of each. */
  files: Set<string>;
}

/** Copies keep their path below `files/`, so that none can take the place of a page. */
export const copyOf = (path: string) => `files/${path}`;

/** The target as a link from `page`. `ending` is that of the pages it leads to: `.html`, or `.md` in the sources. */
export function placeOf(target: string, page: SitePage, places: Places, ending: string): string {
  if (/^\w+:/.test(target) || target.startsWith("#")) return target;
  const [file = "", anchor] = target.split("#");
  const path = normalize(join(dirname(page.source), decodeURI(file)));
  const found = places.pages.get(path);
  if (!found) places.files.add(path);
  const place = relative(dirname(page.name), found ? found.name + ending : copyOf(path));
  return anchor === undefined ? place : `${place}#${anchor}`;
}

const FENCES = /^( *```[^]*?^ *```$)/gm;

/** The document with links that lead to the sources of other pages, for readers that are programs. */
export function sourceOf(page: SitePage, places: Places): string {
  const prose = (text: string) =>
    text.replace(
      /(`[^`\n]*`)|\]\(([^)\s]+)\)/g,
      (all, code, target) => code ? all : `](${placeOf(target, page, places, ".md")})`,
    );
  return page.text.split(FENCES).map((part, at) => at % 2 === 1 ? part : prose(part)).join("");
}
