/** The manifest by which winget installs the executables: three files, as its repository takes them. */
import manifest from "../../../deno.json" with { type: "json" };
import { PACKAGE } from "../../programs/version/registry.ts";
import { DESCRIPTION } from "./description.ts";
import { type Download, downloadsIn } from "./downloads.ts";
import { type Kind, type Made, make } from "./kind.ts";

const ID = "Laneway.Laneway";
const SCHEMA = "1.6.0";
const LOCALE = "en-US";

export const winget: Kind = {
  name: "winget",
  needs: "executables in the folder, and the variable GITHUB_REPOSITORY with the repository's name",
  async build({ folder }): Promise<Made[]> {
    let files: Record<string, string> = {};
    const failed = await make("the manifest for winget", async () => {
      const { repository, downloads } = await downloadsIn(folder, /windows/);
      files = manifestFiles(repository, downloads);
      return "";
    });
    if ("failure" in failed) return [failed];
    return await Promise.all(
      Object.entries(files).map(([file, text]) =>
        make(file, async () => {
          await Deno.writeTextFile(`${folder}/${file}`, text);
          return file;
        })
      ),
    );
  },
};

const PROCESSORS: Record<string, string> = { x86_64: "x64", aarch64: "arm64" };

/** The texts of the files by their names. */
export function manifestFiles(repository: string, downloads: readonly Download[]): Record<string, string> {
  const installers = downloads.map(({ target, url, digest }) => ({
    Architecture: PROCESSORS[target.split("-")[0]!]!,
    InstallerUrl: url,
    InstallerSha256: digest.toUpperCase(),
  }));
  const owner = repository.split("/").at(-2)!;
  return {
    [`${ID}.yaml`]: yaml("version", { DefaultLocale: LOCALE }),
    [`${ID}.installer.yaml`]: yaml("installer", {
      InstallerType: "portable",
      Commands: [PACKAGE],
      Installers: installers,
    }),
    [`${ID}.locale.${LOCALE}.yaml`]: yaml("defaultLocale", {
      PackageLocale: LOCALE,
      Publisher: owner,
      PackageName: "Laneway",
      PackageUrl: repository,
      License: "MIT",
      ShortDescription: DESCRIPTION,
    }),
  };
}

/** JSON is YAML, so strings need no rules of their own. */
function yaml(kind: string, fields: Record<string, unknown>): string {
  const whole = {
    PackageIdentifier: ID,
    PackageVersion: manifest.version,
    ...fields,
    ManifestType: kind,
    ManifestVersion: SCHEMA,
  };
  const lines = Object.entries(whole).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  return `# yaml-language-server: $schema=https://aka.ms/winget-manifest.${kind}.${SCHEMA}.schema.json\n${
    lines.join("")
  }`;
}
