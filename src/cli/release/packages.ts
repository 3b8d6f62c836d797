/** The packages that the lock file pins. */
import { folderOf } from "../cached.ts";
import { ROOT } from "../compile.ts";
import { filesBelow } from "./files.ts";
import { run } from "./run.ts";

/** The part of `deno.lock` that is read: the packages from npm by `name@version`, and their dependencies. */
export interface Lock {
  npm: Record<string, { integrity: string; dependencies?: string[] }>;
  /** The specifiers of the packages that the fetcher names, if its packages are among them. */
  fetcher?: string[];
}

export async function readLock(): Promise<Lock> {
  return JSON.parse(await Deno.readTextFile(new URL("deno.lock", ROOT)));
}

/** The list of the fetcher with documents, which has all its packages. */
const FETCHER = "src/fetcher/documents/";

/** The packages of the program and of the fetcher, which is part of the image and of the package for Debian. */
export async function readWholeLock(): Promise<Lock> {
  // Their licences are read from the cache.
  await run(Deno.execPath(), ["cache", "--quiet", "--config", `${FETCHER}deno.json`, "src/fetcher/main.ts"]);
  const read = async (name: string) => JSON.parse(await Deno.readTextFile(new URL(`${FETCHER}${name}`, ROOT)));
  const [{ npm }, { imports }] = await Promise.all([read("deno.lock"), read("deno.json")]);
  return { npm: { ...(await readLock()).npm, ...npm }, fetcher: Object.values(imports) };
}

/** The folders of the locked packages. */
export async function packageFolders({ npm }: Lock): Promise<string[]> {
  const { npmCache }: { npmCache: string } = JSON.parse(await run(Deno.execPath(), ["info", "--json"]));
  return Object.keys(npm).map((pin) => `${npmCache}/registry.npmjs.org/${folderOf(pin)}`);
}

/** The licences of the locked packages as their manifests name them, by `name@version`. */
export async function licencesOf(lock: Lock): Promise<Map<string, string>> {
  const folders = await packageFolders(lock);
  const named = Object.keys(lock.npm).map(async (pin, index) => {
    const { license } = JSON.parse(await Deno.readTextFile(`${folders[index]}/package.json`));
    return [pin, typeof license === "string" ? license : license?.type ?? ""] as const;
  });
  return new Map(await Promise.all(named));
}

/** Licences are published beside the executables, where people can read them. */
export const LICENCE = /\/LICEN[CS]E(\.\w+)?$/i;

/** The licences of the packages in these folders. A package that brings no text has the name of its licence. */
export async function licencesText(folders: readonly string[]): Promise<string> {
  const texts = folders.toSorted().map(async (folder) => {
    const [, name] = /registry\.npmjs\.org\/(.+)$/.exec(folder)!;
    const paths = [...filesBelow(folder)].filter((path) => LICENCE.test(path)).sort();
    const texts = await Promise.all(paths.map(async (path) => (await Deno.readTextFile(path)).trim()));
    if (texts.length === 0) texts.push(JSON.parse(await Deno.readTextFile(`${folder}/package.json`)).license);
    return `${name}\n\n${texts.join("\n\n")}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}
