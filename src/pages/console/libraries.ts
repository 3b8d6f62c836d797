/** The packages that the console's pages are built on, as their authors publish them, imported as texts. */
import diff3 from "node-diff3" with { type: "text" };
import core from "@preact/signals-core" with { type: "text" };
import hooks from "preact/hooks" with { type: "text" };
import htm from "htm" with { type: "text" };
import marked from "marked" with { type: "text" };
import preact from "preact" with { type: "text" };
import signals from "@preact/signals" with { type: "text" };
import plotStyle from "uplot/dist/uPlot.min.css" with { type: "text" };
import uplot from "uplot/dist/uPlot.iife.min.js" with { type: "text" };

/** The text of each package, by the name that modules import it by. */
const PACKAGES: Readonly<Record<string, string>> = {
  "@preact/signals": signals,
  "@preact/signals-core": core,
  htm,
  marked,
  "node-diff3": diff3,
  preact,
  "preact/hooks": hooks,
  // Only its classic script is published without white space, which is two thirds of its module.
  uplot: `${uplot}\nexport default uPlot;\n`,
};

/** The packages as files of the console. */
export const LIBRARIES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(PACKAGES).map(([name, text]) => [fileOf(name), withoutMap(text)]),
);

/** The style sheets of packages. */
export const LIBRARY_STYLES: Readonly<Record<string, string>> = { "lib/uplot": plotStyle };

/**
 * The text of a module whose imports of packages lead to the files above. A browser knows no package by its name, and
 * the map that would tell it needs a script in the page, which the policy forbids.
 */
export function linked(file: string, text: string): string {
  const up = file.split("/").slice(1).map(() => "../").join("") || "./";
  return text.replace(
    /(\bfrom\s*|\bimport\s*\(\s*)(["'])([^"']+)\2/g,
    (all, before, quote, name) => Object.hasOwn(PACKAGES, name) ? `${before}${quote}${up}${fileOf(name)}${quote}` : all,
  );
}

const COMMENT = /^[ ]*\/\*\*(?:(?!\*\/)[^])*\*\/$/gm;

/**
 * A module without its comments, which are a fifth of what is sent. The lines keep their numbers, and a licence stays: it
 * has to be where its work is.
 */
export function withoutComments(text: string): string {
  return text.replace(COMMENT, (comment) => /\bLicen[cs]e\b/.test(comment) ? comment : comment.replace(/[^\n]+/g, ""));
}

function fileOf(name: string): string {
  return `lib/${name.replace("@", "").replaceAll("/", "_")}.js`;
}

/** Without the address of a source map, which the console does not serve. */
function withoutMap(text: string): string {
  return text.replace(/\/\/# sourceMappingURL=.*$/m, "");
}
