/** The console's page as a browser gets it: it asks for little, and for all of that at once. */

const STYLE = /^ *<link rel="stylesheet" href="([^"]+)">\n/gm;
const SCRIPT = /^( *)<script type="module"/m;
const IMPORT = /\b(?:from|import)\s*["']([^"']+)["']/g;

/** The style sheets of the page, in their order, as one. `textOf`: the text of a file. */
export function wholeStyle(page: string, textOf: (file: string) => string): string {
  return [...page.matchAll(STYLE)].map(([, file]) => textOf(file!)).join("\n");
}

/**
 * The page with its style sheets as one file, and with the modules that are needed first. Otherwise the browser would ask
 * for each only once it has read the one that imports it.
 */
export function wholePage(page: string, { style, modules }: { style: string; modules: readonly string[] }): string {
  const link = `    <link rel="stylesheet" href="${style}">\n`;
  const preloads = modules.map((file) => `$1<link rel="modulepreload" href="${file}">\n`).join("");
  const [first] = page.matchAll(STYLE);
  return page.replace(first![0], link + first![0]).replace(STYLE, (all, file) => file === style ? all : "")
    .replace(SCRIPT, `${preloads}$1<script type="module"`);
}

/** The files that a module loads before it runs, itself first. Modules that are imported later are not among them. */
export function modulesOf(entry: string, textOf: (file: string) => string): string[] {
  const found = new Set([entry]);
  for (const file of found) {
    for (const [, specifier] of textOf(file).matchAll(IMPORT)) {
      found.add(new URL(specifier!, `file:///${file}`).pathname.slice(1));
    }
  }
  return [...found];
}
