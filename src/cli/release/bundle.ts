/**
 * The program as JavaScript in few files. Modules that are loaded when they are needed stay in files of their own.
 *
 * Modules name files by their addresses, such as a thread's module. All such addresses are rewritten before, because every file of
 * the bundle is in the same folder.
 */
import { ROOT } from "../compile.ts";
import { filesBelow } from "./files.ts";
import { run } from "./run.ts";

/** A part of the bundle: what it begins with, and the folder of the sources that becomes its own. */
export interface Part {
  readonly entries: readonly string[];
  readonly root: string;
  /** Its own folder in the bundle, with a slash at the end. */
  readonly folder?: string;
  /** Packages that stay packages. */
  readonly external?: readonly string[];
  /** The configuration with its packages, if it is not the program's. */
  readonly config?: string;
}

const FETCHER = "src/fetcher/";

/** All that runs: the program, the threads and processes that it starts, its launcher, and the fetcher. */
export const GATEWAY: Part = { entries: ["src/main.ts", "src/tokens/worker.ts"], root: "src/" };
export const LAUNCHED: readonly Part[] = [
  { ...GATEWAY, entries: [...GATEWAY.entries, "src/cli/keeper.ts"] },
  { entries: ["src/cli/launch.ts"], root: "src/cli/" },
  {
    entries: [`${FETCHER}main.ts`, `${FETCHER}worker.ts`, `${FETCHER}document_worker.ts`],
    root: FETCHER,
    folder: "fetcher/",
    config: `${FETCHER}documents/deno.json`,
  },
];

/**
 * Writes the parts to the folder, and returns the paths of the sources that are in them. The same sources give the same files,
 * wherever they are.
 */
export async function bundle(folder: string, parts: readonly Part[]): Promise<string[]> {
  const named = new Set<string>();
  const sources = await Deno.makeTempDir();
  try {
    await copySources(sources);
    for (const part of parts) {
      const { entries, external = [], config } = part;
      const options = ["--quiet", "--platform", "deno", "--code-splitting", "--node-modules-dir=auto"];
      const chosen = [...config ? ["--config", config] : [], ...external.map((name) => `--external=${name}`)];
      const output = `${folder}/${part.folder ?? ""}`;
      await run(Deno.execPath(), ["bundle", ...options, ...chosen, "--outdir", output, ...entries], { cwd: sources });
    }
    for (const path of filesBelow(folder)) {
      if (!path.endsWith(".js")) continue;
      const code = await Deno.readTextFile(path);
      for (const [, source] of code.matchAll(SOURCE)) named.add(source!);
      await Deno.writeTextFile(path, checked(code, path));
    }
    return [...named].sort();
  } finally {
    await Deno.remove(sources, { recursive: true });
  }
}

async function copySources(folder: string): Promise<void> {
  const files = ["deno.json", "deno.lock", "package.json", "gateway.default.json"];
  for (const name of files) await Deno.copyFile(new URL(name, ROOT), `${folder}/${name}`);
  for (const name of ["src", "plugins"]) {
    for (const path of filesBelow(`${ROOT.pathname}${name}`)) {
      const relative = path.slice(ROOT.pathname.length);
      await Deno.mkdir(`${folder}/${relative.slice(0, relative.lastIndexOf("/"))}`, { recursive: true });
      const bytes = await Deno.readFile(path);
      await Deno.writeFile(`${folder}/${relative}`, prepared(bytes, relative));
    }
  }
}

function prepared(bytes: Uint8Array, path: string): Uint8Array {
  if (path.startsWith("src/") && path.endsWith(".ts")) return readdressed(bytes, path);
  if (!/^src\/console\/.*\.(js|css)$/.test(path)) return bytes;
  return new TextEncoder().encode(withoutComments(new TextDecoder().decode(bytes)));
}

const COMMENT_LINES = /^[ \t]*(?:\/\*(?:[^*]|\*(?!\/))*\*\/|\/\/.*)[ \t]*\n/gm;

/**
 * The console's files are embedded as texts, from which the bundler takes nothing away. Browsers need no comments. A licence
 * stays: it has to be where its work is.
 */
export function withoutComments(text: string): string {
  return text.replace(COMMENT_LINES, (comment) => /\bLicen[cs]e\b/.test(comment) ? comment : "");
}

const ADDRESS = /new URL\("([^"]+)", import\.meta\.url\)/g;

function readdressed(bytes: Uint8Array, path: string): Uint8Array {
  const text = new TextDecoder().decode(bytes).replace(ADDRESS, (_, address: string) => {
    const place = new URL(address, `file:///${path}`).pathname.slice(1);
    return `new URL("${addressOf(place, path.startsWith(FETCHER))}", import.meta.url)`;
  });
  return new TextEncoder().encode(text);
}

/** The address of a file of the repository in the bundle, for the fetcher or for everything else. */
function addressOf(place: string, isFetcher: boolean): string {
  const own = place.replace(/^src\//, "").replace(/\.ts$/, ".js");
  return `./${isFetcher ? own.replace(/^fetcher\//, "") : own}`;
}

/** The lines in which the bundler names its sources. */
const SOURCE = /^\/\/ ([\w@.+/-]+\.\w+)(?: with \{.*\})?\n/gm;

function checked(code: string, path: string): string {
  const [address] = /new URL\([^()]*\.ts"[^()]*\)/.exec(code) ?? [];
  if (address) throw new Error(`${path} names a file that is not in the bundle: ${address}`);
  return code.replace(SOURCE, "");
}
