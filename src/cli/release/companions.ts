/** Files about the other files: what these are made of, and their sums. */
import { type Kind, make } from "./kind.ts";
import { LIST, STATEMENT, SUMS } from "../../programs/verify/names.ts";
import { digestsOf, sumsText } from "./digest.ts";
import { filesBelow } from "./files.ts";
import { licencesOf, licencesText, packageFolders, readLock } from "./packages.ts";
import { readLocks, statementText, workflowUrl } from "./provenance.ts";
import { run } from "./run.ts";
import { holdsProgram, sbomText } from "./sbom.ts";
import { readSource } from "./source.ts";

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

const files: Kind = {
  name: "files",
  needs: "tar",
  build: async ({ folder }, made) =>
    await Promise.all(
      made.filter((name) => name.endsWith(".tgz")).map((name) =>
        make("the list of the program's files", () => listFiles(folder, name))
      ),
    ),
};

/** The digests of the files in the package for npm, by which the command `verify` judges its own. */
async function listFiles(folder: string, name: string): Promise<string> {
  const place = await Deno.makeTempDir();
  try {
    await run("tar", ["-xzf", `${folder}/${name}`, "-C", place]);
    const root = `${place}/package`;
    const names = [...filesBelow(root)].map((path) => path.slice(root.length + 1)).sort();
    await Deno.writeTextFile(`${folder}/${LIST}`, sumsText(await digestsOf(root, names)));
    return LIST;
  } finally {
    await Deno.remove(place, { recursive: true });
  }
}

const sboms: Kind = {
  name: "sboms",
  needs: "git",
  async build({ folder }, made) {
    const artefacts = made.filter(holdsProgram);
    return await Promise.all(artefacts.map((name) =>
      make(`the bill of materials of ${name}`, async () => {
        const lock = await readLock();
        const { epoch } = await readSource();
        const digest = (await digestsOf(folder, [name])).get(name)!;
        const text = sbomText(lock, await licencesOf(lock), { name, digest, epoch, deno: Deno.version.deno });
        await Deno.writeTextFile(`${folder}/${name}.cdx.json`, text);
        return `${name}.cdx.json`;
      })
    ));
  },
};

const sums: Kind = {
  name: "sums",
  needs: "nothing",
  build: async ({ folder }, made) => [
    await make("the sums", async () => {
      await Deno.writeTextFile(`${folder}/${SUMS}`, sumsText(await digestsOf(folder, made)));
      return SUMS;
    }),
  ],
};

const statement: Kind = {
  name: "statement",
  needs: "git",
  build: async ({ folder }, made) => [
    await make("the statement of provenance", async () => {
      const text = statementText({
        source: await readSource(),
        digests: await digestsOf(folder, made),
        locks: await readLocks(),
        deno: Deno.version.deno,
        workflow: workflowUrl((name) => Deno.env.get(name)),
      });
      await Deno.writeTextFile(`${folder}/${STATEMENT}`, text);
      return STATEMENT;
    }),
  ],
};

/** In the order in which they are made. The last two cover all others. */
export const COMPANIONS: readonly Kind[] = [licences, files, sboms, sums, statement];
