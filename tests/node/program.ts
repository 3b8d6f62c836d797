/** A copy of the repository with its packages and those of the tests, as `npm install` would leave it. */
import deno from "../../deno.json" with { type: "json" };
import manifest from "../deno.json" with { type: "json" };
import node from "../../package.json" with { type: "json" };
import { copy } from "../support/copy.ts";

const ROOT = new URL("../../", import.meta.url);
const NPM = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--force"];
const FOLDERS = ["src", "plugins", "tests", "docs", "examples", "deploy"];

/** The packages that a user installs for what is off by default. */
const ON_REQUEST = { "@opentelemetry/sdk-node": "0.301.0" };

/** Calls `use` with the copy's folder. It is beside the packages in the cache, which are installed once for each set of versions. */
export async function withCopy(cache: string, use: (folder: string) => Promise<void>): Promise<void> {
  const packages = await installPackages(cache);
  const folder = await Deno.makeTempDir({ dir: packages });
  try {
    await copyProgram(folder, packages);
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

export async function copyProgram(folder: string, packages: string): Promise<void> {
  for (const name of FOLDERS) await copy(new URL(name, ROOT).pathname, `${folder}/${name}`);
  for (const { name, isFile } of Deno.readDirSync(ROOT)) {
    if (isFile && name !== ".git") await Deno.copyFile(new URL(name, ROOT), `${folder}/${name}`);
  }
  // Links would be followed to files that the gateway may not read.
  await run("cp", [Deno.build.os === "linux" ? "-al" : "-a", `${packages}/node_modules`, `${folder}/node_modules`]);
}

export async function installPackages(cache: string): Promise<string> {
  const content = JSON.stringify({ private: true, dependencies: dependencies() }, null, 2);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(NPM + content));
  const folder = `${cache}/laneway/tests_on_node/${new Uint8Array(digest).toHex().slice(0, 16)}`;
  const ready = `${folder}/ready`;
  if (await Deno.stat(ready).then(() => true, () => false)) return folder;
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/package.json`, content);
  await run("npm", NPM, folder);
  await Deno.writeTextFile(ready, "");
  return folder;
}

/** The packages by the names that the source and the tests use. Two names of one package are one. */
function dependencies(): Record<string, string> {
  const named = Object.entries({ ...manifest.imports, ...deno.imports }).flatMap(([name, specifier]) => {
    const [, found, version] = /^npm:((?:@[^/]+\/)?[^/@]+)@([^/]+)/.exec(specifier) ?? [];
    if (!found) return [];
    const own = /^(?:@[^/]+\/)?[^/]+/.exec(name)![0];
    return [[own, own === found ? version! : `npm:${found}@${version}`]];
  });
  return { ...Object.fromEntries(named), ...node.peerDependencies, ...ON_REQUEST };
}

async function run(program: string, args: string[], cwd?: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, cwd, stdin: "null" }).output();
  if (!success) throw new Error(`${program} failed: ${new TextDecoder().decode(stderr)}`);
}
