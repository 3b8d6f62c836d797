/**
 * Builds the package for npm: the program as JavaScript, because Node refuses TypeScript below `node_modules`, its types, and the
 * command `laneway`.
 */
import manifest from "../../deno.json" with { type: "json" };
import { OF_NODE } from "./write_package.ts";
import { ROOT } from "./compile.ts";

/** The name on npm's registry, and of the command. */
const NAME = "laneway";

/** The modules that others load, by their names below the package's. */
const EXPORTS = {
  ".": "src/app.ts",
  "./run": "src/main.ts",
  "./plugin": "src/plugin.ts",
  "./web": "src/platform/web.ts",
  "./testing": "src/programs/testing/mod.ts",
  "./node": "src/node.ts",
} as const;

/** Modules that run in threads of their own. The program names them by their addresses. */
const THREADS = ["src/tokens/worker.ts", "src/platform/node_thread_scope.ts"];

/**
 * Packages that stay packages, because the types name them, because plugins share them with the program, or because only Node
 * needs them. All others are part of the program.
 */
const EXTERNAL = ["@opentelemetry/api", "jose", "oauth4webapi", "zod"] as const;

/** Builds `laneway-<version>.tgz` in the folder and returns its name. Needs npm, and its registry for the compiler. */
export async function buildNpmPackage(folder: string): Promise<string> {
  const place = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${place}/package`);
    await bundle(`${place}/package`);
    await declare(place);
    await Deno.copyFile(new URL("npm_command.js", import.meta.url), `${place}/package/laneway.js`);
    await Deno.chmod(`${place}/package/laneway.js`, 0o755);
    await Deno.copyFile(new URL("README.md", ROOT), `${place}/package/README.md`);
    await Deno.writeTextFile(`${place}/package/package.json`, packageText());
    const packed = await run("npm", ["pack", "--json", "--pack-destination", folder], `${place}/package`);
    return JSON.parse(packed)[0].filename;
  } finally {
    await Deno.remove(place, { recursive: true });
  }
}

function packageText(): string {
  const exports = Object.entries(EXPORTS).map(([name, file]) => {
    const path = file.replace(/^src\/(.*)\.ts$/, "$1");
    return [name, { types: `./types/src/${path}.d.ts`, default: `./${path}.js` }];
  });
  const versions = EXTERNAL.map((name) => [name, manifest.imports[name].replace(`npm:${name}@`, "")]);
  const content = {
    name: NAME,
    version: manifest.version,
    description: "A gateway that lets every coding agent, editor and SDK use open models",
    keywords: ["llm", "gateway", "proxy", "openai", "anthropic", "ollama", "gemini", "vllm"],
    license: "MIT",
    type: "module",
    bin: { [NAME]: "laneway.js" },
    exports: Object.fromEntries(exports),
    engines: { node: ">=24.9" },
    dependencies: { ...Object.fromEntries(versions), ...OF_NODE },
    publishConfig: { access: "public", provenance: true },
  };
  return JSON.stringify(content, null, 2) + "\n";
}

async function bundle(folder: string): Promise<void> {
  const external = [...EXTERNAL, ...Object.keys(OF_NODE)].map((name) => `--external=${name}`);
  const options = ["--quiet", "--platform", "deno", "--code-splitting", "--outdir", folder, ...external];
  await run(Deno.execPath(), ["bundle", ...options, ...Object.values(EXPORTS), ...THREADS]);
  for (const { name, isFile } of Deno.readDirSync(folder)) {
    if (isFile) {
      await Deno.writeTextFile(`${folder}/${name}`, readdressed(await Deno.readTextFile(`${folder}/${name}`)));
    }
  }
}

/** The modules are in other places than their sources, from which they name each other. */
function readdressed(code: string): string {
  const { worker, scope } = { worker: "./tokens/worker.js", scope: "./platform/node_thread_scope.js" };
  return code
    .replaceAll('new URL("./worker.ts", import.meta.url)', `new URL("${worker}", import.meta.url)`)
    .replaceAll('new URL("./node_thread_scope.ts", import.meta.url)', `new URL("${scope}", import.meta.url)`)
    .replaceAll('new URL("../", import.meta.url)', 'new URL("./", import.meta.url)');
}

const COMPILER = ["typescript@7.0.2", "@types/node@24.3.0"];

/** Writes the types of the exported modules, and of what these name, to `package/types`. */
async function declare(place: string): Promise<void> {
  const sources = `${place}/sources`;
  await Deno.mkdir(sources);
  await run("cp", ["-r", ...["src", "plugins", "package.json", "deno.json", "gateway.default.json"], sources]);
  await run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", ...COMPILER], sources);
  const options = {
    ...{ target: "esnext", module: "nodenext", lib: ["esnext", "dom", "dom.iterable"], types: ["node"] },
    ...{ declaration: true, emitDeclarationOnly: true, allowImportingTsExtensions: true },
    ...{ skipLibCheck: true, resolveJsonModule: true, strict: true, rootDir: ".", outDir: "types" },
  };
  const config = { compilerOptions: options, files: Object.values(EXPORTS) };
  await Deno.writeTextFile(`${sources}/tsconfig.json`, JSON.stringify(config));
  // It does not know Deno's own names, which no exported type has: `deno check` has found the program right.
  await run(`${sources}/node_modules/.bin/tsc`, ["-p", "."], sources, { mayFail: true });
  const seen = new Set<string>();
  for (const file of Object.values(EXPORTS)) await copyTypes(file.replace(/\.ts$/, ".d.ts"), place, seen);
}

/** Copies the types of a module and of all that it names. */
async function copyTypes(path: string, place: string, seen: Set<string>): Promise<void> {
  if (seen.has(path)) return;
  seen.add(path);
  const text = await Deno.readTextFile(`${place}/sources/types/${path}`);
  const local = /((?:from |import\()")(\.[^"]+)\.ts"/g;
  const copy = `${place}/package/types/${path}`;
  await Deno.mkdir(copy.slice(0, copy.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(copy, text.replace(local, '$1$2.js"'));
  for (const [, , other] of text.matchAll(local)) {
    await copyTypes(new URL(`${other}.d.ts`, `file:///${path}`).pathname.slice(1), place, seen);
  }
}

/** Runs a program and returns its output. Throws with what it said if it fails. */
async function run(
  program: string,
  args: readonly string[],
  cwd: string | URL = ROOT,
  { mayFail = false } = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args: [...args], cwd, stdin: "null" }).output();
  const text = new TextDecoder().decode(stdout);
  if (!success && !mayFail) throw new Error(`${program} ${args[0]}: ${text}${new TextDecoder().decode(stderr)}`);
  return text;
}
