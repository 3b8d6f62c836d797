/** The files of the program that runs, with their digests. */
import { codeFolder } from "../../config/permissions.ts";
import { builtin } from "../../util/builtin.ts";
import { CommandError } from "../program.ts";
import type { Digests } from "./listed.ts";

/** More than the program has. */
const MOST_FILES = 10_000;

/** The files below the folder of the program's code, without those of other packages. Absent if it runs from a clone. */
export async function ownFiles(folder = releasedFolder()): Promise<Digests | undefined> {
  if (folder === undefined) return undefined;
  const { readdir } = builtin("node:fs/promises");
  const digests: Digests = new Map();
  const visit = async (below: string) => {
    for (const entry of await readdir(`${folder}${below}`, { withFileTypes: true })) {
      const name = `${below}${entry.name}`;
      if (entry.isDirectory() && entry.name !== "node_modules") await visit(`${name}/`);
      else if (!entry.isDirectory()) digests.set(name, entry.isFile() ? await digestOf(`${folder}${name}`) : "");
      if (digests.size > MOST_FILES) throw new CommandError(`${folder} has more files than the program`);
    }
  };
  await visit("");
  return digests;
}

/** Releases have JavaScript only. */
function releasedFolder(): string | undefined {
  return import.meta.url.endsWith(".ts") ? undefined : codeFolder();
}

/** The SHA-256 digest of a file in hexadecimal. */
export async function digestOf(path: string): Promise<string> {
  const hash = builtin("node:crypto").createHash("sha256");
  for await (const piece of builtin("node:fs").createReadStream(path)) hash.update(piece as Uint8Array);
  return hash.digest("hex");
}
