/** The program in a folder that Deno runs without a network: for executables, the image and the package for Debian. */
import manifest from "../../../deno.json" with { type: "json" };
import { ROOT } from "../compile.ts";
import { bundle, LAUNCHED } from "./bundle.ts";
import { filesBelow } from "./files.ts";
import { licencesText, packageFolders, readWholeLock } from "./packages.ts";

/** Files of the repository that are read at run time, or that tell people what they have. */
const FILES = ["gateway.default.json", "plugins/providers/presets.json", "LICENSE"];

/** The launcher sees by it that no package is missing. */
const NO_PACKAGES = { version: "5", npm: {} };

/** Writes the program to the folder. */
export async function writeProgram(folder: string): Promise<void> {
  await bundle(folder, LAUNCHED);
  await Deno.mkdir(`${folder}/plugins/providers`, { recursive: true });
  for (const name of FILES) await Deno.copyFile(new URL(name, ROOT), `${folder}/${name}`);
  await writeConfig(`${folder}/`, manifest.unstable);
  await Deno.mkdir(`${folder}/fetcher/documents`, { recursive: true });
  for (const name of ["fetcher", "fetcher/documents"]) await writeConfig(`${folder}/${name}/`, ["worker-options"]);
  await Deno.writeTextFile(`${folder}/LICENSES.txt`, await licencesText(await packageFolders(await readWholeLock())));
  // Executables hold the times of their files, and equal sources give equal executables.
  for (const path of filesBelow(folder)) await Deno.utime(path, 0, 0);
}

async function writeConfig(place: string, unstable: readonly string[]): Promise<void> {
  await Deno.writeTextFile(`${place}deno.json`, JSON.stringify({ unstable, nodeModulesDir: "none" }));
  await Deno.writeTextFile(`${place}deno.lock`, JSON.stringify(NO_PACKAGES));
}
