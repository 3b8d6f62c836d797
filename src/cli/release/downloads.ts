/** The executables of a release as package managers download them. */
import { executableFor, TARGETS } from "./binaries.ts";
import { digestsOf } from "./digest.ts";
import manifest from "../../../deno.json" with { type: "json" };
import { repositoryUrl } from "./source.ts";

export interface Download {
  target: string;
  url: string;
  /** The SHA-256 digest. */
  digest: string;
}

/** The executables in the folder for such targets. Throws if there are none, or if nobody said where they will be. */
export async function downloadsIn(
  folder: string,
  targets: RegExp,
): Promise<{ repository: string; downloads: Download[] }> {
  const there = new Set([...Deno.readDirSync(folder)].map(({ name }) => name));
  const own = TARGETS.filter((target) => targets.test(target) && there.has(executableFor(target)));
  if (own.length === 0) throw new Error("the executables that it installs are not in the folder");
  const repository = repositoryUrl();
  if (!repository) throw new Error("set GITHUB_REPOSITORY to the repository's name, such as owner/laneway");
  const digests = await digestsOf(folder, own.map(executableFor));
  const base = `${repository}/releases/download/v${manifest.version}`;
  const downloads = own.map((target) => {
    const name = executableFor(target);
    return { target, url: `${base}/${name}`, digest: digests.get(name)! };
  });
  return { repository, downloads };
}
