/** Writes `package.json`, for Node, from `deno.json`. With `--check`, it only reports whether that file is current. */
import manifest from "../../deno.json" with { type: "json" };

const file = new URL("../../package.json", import.meta.url);

/** The packages that only Node needs. */
export const OF_NODE = { ws: "8.23.0" };

/** The content for npm and Node: the packages by the names that the source uses, and the exports. */
export function packageText(): string {
  const { name, version, exports, imports } = manifest;
  const fetcher = JSON.parse(Deno.readTextFileSync(new URL("../fetcher/documents/deno.json", import.meta.url)));
  const interpreter = JSON.parse(Deno.readTextFileSync(new URL("../interpreter/deno.json", import.meta.url)));
  const content = {
    name,
    version,
    private: true,
    license: "MIT",
    type: "module",
    engines: { node: ">=24.9" },
    scripts: { start: "node src/node.ts" },
    exports: { ...exports, "./node": "./src/node.ts" },
    dependencies: versionsOf(imports),
    // As ordinary dependencies, Deno would download them at its first start, too. The fetcher and the interpreter have lists of their own there.
    peerDependencies: { ...OF_NODE, ...versionsOf({ ...fetcher.imports, ...interpreter.imports }) },
  };
  return JSON.stringify(content, null, 2) + "\n";
}

/** The versions of packages by the names that the source uses. */
function versionsOf(imports: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(imports).map(([name, specifier]) => [name, versionOf(name, specifier)]),
  );
}

/** `npm:zod@4.6.7` is version 4.6.7 of `zod`. Under another name, the specifier stays as an alias of the package. */
function versionOf(name: string, specifier: string): string {
  return specifier.startsWith(`npm:${name}@`) ? specifier.slice(`npm:${name}@`.length) : specifier;
}

if (import.meta.main) {
  if (!Deno.args.includes("--check")) {
    Deno.writeTextFileSync(file, packageText());
  } else if (Deno.readTextFileSync(file) !== packageText()) {
    // deno-lint-ignore no-console -- this is a command line
    console.error('package.json is stale: run "deno task package" and commit it');
    Deno.exit(1);
  }
}
