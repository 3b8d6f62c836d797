/** Files about the other files: what these are made of, and their sums. */
import { type Kind, make } from "./kind.ts";
import { licencesText, packageFolders, readLock } from "./packages.ts";
import { sbomText } from "./sbom.ts";

const licences: Kind = {
  name: "licences",
  needs: "nothing",
  build: async ({ folder }) => [
    await make("the licences", async () => {
      const text = await licencesText(await packageFolders(await readLock()));
      await Deno.writeTextFile(`${folder}/LICENSES.txt`, text);
      return "LICENSES.txt";
    }),
  ],
};

const sbom: Kind = {
  name: "sbom",
  needs: "nothing",
  build: async ({ folder }) => [
    await make("the bill of materials", async () => {
      await Deno.writeTextFile(`${folder}/laneway.cdx.json`, sbomText(await readLock()));
      return "laneway.cdx.json";
    }),
  ],
};

const sums: Kind = {
  name: "sums",
  needs: "nothing",
  build: async ({ folder }, made) => [
    await make("the sums", async () => {
      const lines = made.map(async (name) => `${await checksumOf(`${folder}/${name}`)}  ${name}\n`);
      await Deno.writeTextFile(`${folder}/SHA256SUMS`, (await Promise.all(lines)).join(""));
      return "SHA256SUMS";
    }),
  ],
};

async function checksumOf(path: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(path))).toHex();
}

/** In the order in which they are made. The last one covers all others. */
export const COMPANIONS: readonly Kind[] = [licences, sbom, sums];
