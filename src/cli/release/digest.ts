import { digestOf } from "../../programs/verify/own_files.ts";

/** The digests of files of a release, by their names. */
export async function digestsOf(folder: string, names: readonly string[]): Promise<Map<string, string>> {
  return new Map(await Promise.all(names.map(async (name) => [name, await digestOf(`${folder}/${name}`)] as const)));
}

/** Digests in the form that `sha256sum --check` reads. */
export function sumsText(digests: ReadonlyMap<string, string>): string {
  return [...digests].map(([name, digest]) => `${digest}  ${name}\n`).join("");
}
