/**
 * Builds the package for npm: the program as JavaScript, because Node refuses TypeScript below `node_modules`, its types, and the
 * command `laneway`.
 */
import manifest from "../../../deno.json" with { type: "json" };
import { OF_NODE } from "../write_package.ts";
import { ROOT } from "../compile.ts";
import { DESCRIPTION } from "./description.ts";
import { bundle, LAUNCHED, type Part } from "./bundle.ts";
import { type Kind, make } from "./kind.ts";
import { PACKAGE } from "../../programs/version/registry.ts";
import { run } from "./run.ts";
import { repositoryUrl } from "./source.ts";

/** The modules that others load, by their names below the package's. */
const EXPORTS = {
  ".": "src/app.ts",
  "./run": "src/main.ts",
  "./plugin": "src/plugin.ts",
  "./web": "src/platform/web.ts",
  "./testing": "src/programs/testing/mod.ts",
  "./node": "src/node.ts",
} as const;

/** Modules that run in threads and processes of their own. The program names them by their addresses. */
const APART = [
  "src/tokens/worker.ts",
  "src/cli/keeper.ts",
  ...["node_lock", "node_thread_process", "node_thread_scope"].map((name) => `src/platform/${name}.ts`),
];

/**
 * Packages that stay packages, because the types name them, because plugins share them with the program, or because only Node
 * needs them. All others are part of the program.
 */
const EXTERNAL = ["@opentelemetry/api", "jose", "oauth4webapi", "zod"] as const;

const PROGRAM: Part = {
  entries: [...Object.values(EXPORTS), ...APART],
  root: "src/",
  external: [...EXTERNAL, ...Object.keys(OF_NODE)],
};

/** The fetcher, which the launcher starts, and the module that its threads begin with. */
const FETCHER: readonly Part[] = [
  ...LAUNCHED.filter(({ folder }) => folder === "fetcher/"),
  { entries: ["src/platform/node_thread_scope.ts"], root: "src/platform/", folder: "fetcher/platform/" },
];

export const npm: Kind = {
  name: "npm",
  needs: "npm, and its registry for the compiler that writes the types",
  build: async ({ folder }) => [await make("the package for npm", () => buildNpmPackage(folder))],
};

/** Data that the launcher reads before it loads the program. */
const DATA = ["gateway.default.json", "plugins/providers/presets.json"];

async function copyData(file: string, folder: string): Promise<void> {
  await Deno.mkdir(`${folder}/${file}`.replace(/[^/]*$/, ""), { recursive: true });
  await Deno.copyFile(new URL(file, ROOT), `${folder}/${file}`);
}

/** Builds `laneway-<version>.tgz` in the folder and returns its name. */
export async function buildNpmPackage(folder: string): Promise<string> {
  const place = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${place}/package`);
    await bundle(`${place}/package`, [PROGRAM, ...FETCHER]);
    for (const file of DATA) await copyData(file, `${place}/package`);
    await declare(place);
    await Deno.copyFile(new URL("npm_command.js", import.meta.url), `${place}/package/laneway.js`);
    await Deno.chmod(`${place}/package/laneway.js`, 0o755);
    await Deno.copyFile(new URL("README.md", ROOT), `${place}/package/README.md`);
    await Deno.writeTextFile(`${place}/package/package.json`, await packageText());
    const packed = await run("npm", ["pack", "--json", "--pack-destination", folder], { cwd: `${place}/package` });
    return JSON.parse(packed)[0].filename;
  } finally {
    await Deno.remove(place, { recursive: true });
  }
}

async function packageText(): Promise<string> {
  const providers = JSON.parse(await Deno.readTextFile(new URL("plugins/providers/presets.json", ROOT)));
  const exports = Object.entries(EXPORTS).map(([name, file]) => {
    const path = file.replace(/^src\/(.*)\.ts$/, "$1");
    return [name, { types: `./types/src/${path}.d.ts`, default: `./${path}.js` }];
  });
  const versions = EXTERNAL.map((name) => [name, manifest.imports[name].replace(`npm:${name}@`, "")]);
  const repository = repositoryUrl();
  const content = {
    name: PACKAGE,
    version: manifest.version,
    description: DESCRIPTION,
    ...(repository && { repository: { type: "git", url: `git+${repository}.git` } }),
    keywords: ["llm", "gateway", "proxy", ...Object.keys(providers)],
    license: "MIT",
    type: "module",
    bin: { [PACKAGE]: "laneway.js" },
    exports: Object.fromEntries(exports),
    engines: { node: ">=24.9" },
    dependencies: { ...Object.fromEntries(versions), ...OF_NODE },
    publishConfig: { access: "public", provenance: true },
  };
  return JSON.stringify(content, null, 2) + "\n";
}

const COMPILER = ["typescript@7.0.2", "@types/node@24.3.0"];

/** Writes the types of the exported modules, and of what these name, to `package/types`. */
async function declare(place: string): Promise<void> {
  const sources = `${place}/sources`;
  await Deno.mkdir(sources);
  await run("cp", ["-r", ...["src", "plugins", "package.json", "deno.json", "gateway.default.json"], sources]);
  await run("npm", [
    "install",
    "--prefer-offline",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-save",
    ...COMPILER,
  ], {
    cwd: sources,
  });
  const options = {
    ...{ target: "esnext", module: "nodenext", lib: ["esnext", "dom", "dom.iterable"], types: ["node"] },
    ...{ declaration: true, emitDeclarationOnly: true, allowImportingTsExtensions: true },
    ...{ skipLibCheck: true, resolveJsonModule: true, strict: true, rootDir: ".", outDir: "types" },
  };
  const config = { compilerOptions: options, files: Object.values(EXPORTS) };
  await Deno.writeTextFile(`${sources}/tsconfig.json`, JSON.stringify(config));
  // It does not know Deno's own names, which no exported type has: `deno check` has found the program right.
  await run(`${sources}/node_modules/.bin/tsc`, ["-p", "."], { cwd: sources, mayFail: true });
  const seen = new Set<string>();
  for (const file of Object.values(EXPORTS)) await copyTypes(file.replace(/\.ts$/, ".d.ts"), place, seen);
}

/** Copies the types of a module and of all that it names. */
async function copyTypes(path: string, place: string, seen: Set<string>): Promise<void> {
  if (seen.has(path)) return;
  seen.add(path);
  const text = await Deno.readTextFile(`${place}/sources/types/${path}`);
  const local = /((?:from |import |import\()")(\.[^"]+)\.ts"/g;
  const copy = `${place}/package/types/${path}`;
  await Deno.mkdir(copy.slice(0, copy.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(copy, text.replace(local, '$1$2.js"'));
  for (const [, , other] of text.matchAll(local)) {
    await copyTypes(new URL(`${other}.d.ts`, `file:///${path}`).pathname.slice(1), place, seen);
  }
}
