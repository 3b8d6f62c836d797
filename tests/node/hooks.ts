/**
 * Loaded by Node before the tests. The names that `tests/deno.json` maps to files are found. Only files of the tests get `Deno`, so
 * that code of the gateway that needs it fails on Node as it would for a user.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import "../../src/platform/node.ts";
import manifest from "../deno.json" with { type: "json" };

const TESTS = new URL("../", import.meta.url).href;
const SHIM = new URL("deno.ts", import.meta.url).href;
const OF_DENO = new URL("../../src/platform/deno.ts", import.meta.url).href;
const OF_NODE = new URL("platform.ts", import.meta.url).href;
const MAPPED = new Map(Object.entries<string>(manifest.imports));

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(targetOf(specifier), context);
    // A program on Node names its platform where the tests leave the default.
    if (resolved.url === OF_DENO) return { ...resolved, url: OF_NODE };
    // A test may load a file of the console as a module, and the gateway as a text.
    return context.importAttributes?.type === "text" ? { ...resolved, url: `${resolved.url}?text` } : resolved;
  },
  load(url, context, next) {
    if (!mayUseDeno(url)) return next(url, context);
    const source = `import { Deno, Request } from ${JSON.stringify(SHIM)}; ${readFileSync(fileURLToPath(url), "utf8")}`;
    return { format: "module-typescript", shortCircuit: true, source };
  },
});

/** The file or the path in a package for which the name stands; a package's own name is that of its folder. */
function targetOf(specifier: string): string {
  const mapped = MAPPED.get(specifier);
  if (mapped?.startsWith(".")) return new URL(mapped, TESTS).href;
  const [, path] = /^npm:(?:@[^/]+\/)?[^@/][^/]*(\/.*)$/.exec(mapped ?? "") ?? [];
  return path ? specifier.split("/")[0] + path : specifier;
}

function mayUseDeno(url: string): boolean {
  if (!url.startsWith(TESTS) || !url.endsWith(".ts") || url.startsWith(new URL(".", import.meta.url).href)) {
    return false;
  }
  return /\bDeno\.|new Request\(/.test(readFileSync(fileURLToPath(url), "utf8"));
}
