/** `deno task site`: builds docs/, the README and the pages beside it into a static site. */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ROOT } from "../docs/documents.ts";
import { buildSite } from "./build.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: { out: { type: "string" }, base: { type: "string" }, source: { type: "string" } },
});
const slashed = (address?: string) => address?.replace(/\/?$/, "/");
const out = values.out ?? fileURLToPath(new URL("site", ROOT));
const files = await buildSite({ out, base: slashed(values.base), source: slashed(values.source) });
const pages = files.filter((name) => name.endsWith(".html")).length;
// deno-lint-ignore no-console -- this is a command line
console.log(`Wrote ${pages} pages to ${out}. Open ${out}/index.html.`);
