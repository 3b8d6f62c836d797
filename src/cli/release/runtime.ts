/** Deno for the image and the package for Debian, from npm, and Debian's libraries that it is linked with. */
import { existsSync } from "node:fs";
import pinned from "./runtime.json" with { type: "json" };
import { run } from "./run.ts";
import { bytesOf, type Entry, untar } from "./tar.ts";

export const ARCHITECTURES = ["amd64", "arm64"] as const;
export type Architecture = typeof ARCHITECTURES[number];

/** Debian's mirror has the newest versions only. The digests decide what is taken from either. */
const MIRRORS = ["http://deb.debian.org/debian", `http://snapshot.debian.org/archive/debian/${pinned.snapshot}`];

/** Deno's program. */
export async function denoFor(architecture: Architecture): Promise<Uint8Array<ArrayBuffer>> {
  const { package: name, integrity } = pinned[architecture];
  const wanted = integrity.replace(/^sha512-/, "");
  const packed = await downloaded(
    { name: `deno-${pinned.deno}-${architecture}.tgz`, algorithm: "SHA-512", digest: Uint8Array.fromBase64(wanted) },
    async (folder) => {
      const said = await run("npm", ["pack", `${name}@${pinned.deno}`, "--json", "--pack-destination", folder]);
      return JSON.parse(said)[0].filename;
    },
  );
  const archive = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  for (const { path, data } of untar(await bytesOf(archive))) if (path === "package/deno" && data) return data;
  throw new Error(`${name}@${pinned.deno} has no program`);
}

/** The files of a package of Debian's that a program needs while it runs: libraries of Deno, and their licences. */
const NEEDED =
  /^usr\/(lib(64)?\/([\w-]+\/)?(ld-linux-\S+|lib(c|m|dl|rt|pthread|gcc_s)\.so\.\d+)|share\/doc\/[\w-]+\/copyright)$/;

export async function librariesFor(architecture: Architecture): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const [path, digest] of Object.entries(pinned[architecture].libraries)) {
    const name = decodeURIComponent(path.slice(path.lastIndexOf("/") + 1));
    const file = await fileOf({ name, algorithm: "SHA-256", digest: Uint8Array.fromHex(digest) }, async (folder) => {
      const rest = [`${folder}/${name}`, `SHA256:${digest}`];
      for (const mirror of MIRRORS) {
        await run("/usr/lib/apt/apt-helper", ["download-file", `${mirror}/${path}`, ...rest], { mayFail: true });
        if (existsSync(`${folder}/${name}`)) return name;
      }
      throw new Error(`No mirror has ${name}: write its new version and digest into runtime.json`);
    });
    const { success, stdout } = await new Deno.Command("dpkg-deb", { args: ["--fsys-tarfile", file] }).output();
    if (!success) throw new Error(`dpkg-deb cannot read ${name}`);
    entries.push(...[...untar(stdout as Uint8Array<ArrayBuffer>)].filter(({ path }) => NEEDED.test(path)));
  }
  return entries;
}

interface Wanted {
  name: string;
  algorithm: "SHA-256" | "SHA-512";
  digest: Uint8Array;
}

async function downloaded(wanted: Wanted, download: (folder: string) => Promise<string>) {
  return await Deno.readFile(await fileOf(wanted, download));
}

/** The path of a file in a cache of the user, where only files with the right digest get. */
async function fileOf(wanted: Wanted, download: (folder: string) => Promise<string>): Promise<string> {
  const { name, algorithm, digest } = wanted;
  const cache = `${Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`}/laneway/release`;
  await Deno.mkdir(cache, { recursive: true });
  const isRight = async (path: string) => {
    const bytes = await Deno.readFile(path).catch(() => undefined);
    return bytes !== undefined && hex(await crypto.subtle.digest(algorithm, bytes)) === digest.toHex();
  };
  if (await isRight(`${cache}/${name}`)) return `${cache}/${name}`;
  const folder = await Deno.makeTempDir({ dir: cache });
  try {
    const path = `${folder}/${await download(folder)}`;
    if (!await isRight(path)) throw new Error(`${name} is not the file that runtime.json names: its digest differs`);
    await Deno.rename(path, `${cache}/${name}`);
    return `${cache}/${name}`;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function hex(digest: ArrayBuffer): string {
  return new Uint8Array(digest).toHex();
}
