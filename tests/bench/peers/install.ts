/**
 * Puts the peers into a cache folder of the user, once for each set of versions. Only then anything is downloaded. Node and its
 * packages come by npm, LiteLLM by pip into a virtual environment.
 */
import versions from "./versions.json" with { type: "json" };

export type PeerName = keyof typeof versions;
export const PEER_NAMES = Object.keys(versions) as PeerName[];

export interface Packages {
  npm?: string[];
  /** Unpacked as it is: one of its packages is on no registry, and it runs without. */
  tarball?: string;
  pip?: string[];
}

/** What is installed, as a report names it. */
export function versionOf(name: PeerName, { tarball, pip, npm }: Packages = versions[name]): string {
  return (tarball ?? pip?.[0] ?? npm![0]!).replace(/^.*?(@|==)(?=\d)/, "");
}

/** The folder of a peer. Throws with what the installer prints where it cannot be installed. */
export async function install(name: PeerName, packages: Packages = versions[name]): Promise<string> {
  const hash = new Uint8Array(
    await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(packages))),
  );
  const folder = `${cacheFolder()}/laneway/peers/${name.toLowerCase().replaceAll(" ", "-")}-${
    hash.toHex().slice(0, 8)
  }`;
  if (await exists(`${folder}/installed`)) return folder;
  await Deno.mkdir(folder, { recursive: true });
  if (packages.pip) {
    await run("python3", ["-m", "venv", folder], folder);
    await run(`${folder}/bin/pip`, ["install", "--quiet", ...packages.pip], folder);
  }
  if (packages.npm) {
    await run("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", ...packages.npm], folder);
  }
  if (packages.tarball) {
    const { stdout } = await run("npm", ["pack", "--silent", packages.tarball], folder);
    await run("tar", ["xzf", stdout.trim().split("\n").at(-1)!], folder);
    await Deno.rename(`${folder}/package`, `${folder}/node_modules/unpacked`);
  }
  await Deno.writeTextFile(`${folder}/installed`, "");
  return folder;
}

function cacheFolder(): string {
  return Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`;
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

async function run(command: string, args: string[], cwd: string): Promise<{ stdout: string }> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args, cwd, stdin: "null" }).output();
  const [printed, failure] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (!success) throw new Error(`${command} ${args.join(" ")}: ${failure!.trim().slice(-600)}`);
  return { stdout: printed! };
}
