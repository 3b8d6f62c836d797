/** The formula by which Homebrew installs the executables. */
import manifest from "../../../deno.json" with { type: "json" };
import { PACKAGE } from "../../programs/version/registry.ts";
import { DESCRIPTION } from "./description.ts";
import { type Download, downloadsIn } from "./downloads.ts";
import { type Kind, make } from "./kind.ts";

export const homebrew: Kind = {
  name: "homebrew",
  needs: "executables in the folder, and the variable GITHUB_REPOSITORY with the repository's name",
  build: async ({ folder }) => [
    await make("the formula for Homebrew", async () => {
      const { repository, downloads } = await downloadsIn(folder, /linux|darwin/);
      await Deno.writeTextFile(`${folder}/${PACKAGE}.rb`, formulaText(repository, downloads));
      return `${PACKAGE}.rb`;
    }),
  ],
};

const SYSTEMS = { darwin: "macos", linux: "linux" } as const;
const PROCESSORS = { aarch64: "arm", x86_64: "intel" } as const;

export function formulaText(repository: string, downloads: readonly Download[]): string {
  const systems = Object.entries(SYSTEMS).flatMap(([system, name]) => {
    const own = downloads.filter(({ target }) => target.includes(system));
    return own.length === 0 ? [] : [`  on_${name} do`, ...own.flatMap(processorLines), "  end", ""];
  });
  return [
    "class Laneway < Formula",
    `  desc "${DESCRIPTION}"`,
    `  homepage "${repository}"`,
    `  version "${manifest.version}"`,
    '  license "MIT"',
    "",
    ...systems,
    "  def install",
    `    bin.install Dir["${PACKAGE}-*"].first => "${PACKAGE}"`,
    "  end",
    "",
    "  service do",
    `    run opt_bin/"${PACKAGE}"`,
    "    keep_alive true",
    "  end",
    "",
    "  test do",
    `    assert_equal version.to_s, shell_output("#{bin}/${PACKAGE} --version").strip`,
    "  end",
    "end",
    "",
  ].join("\n");
}

function processorLines({ target, url, digest }: Download): string[] {
  const [processor] = target.split("-") as [keyof typeof PROCESSORS];
  return [`    on_${PROCESSORS[processor]} do`, `      url "${url}"`, `      sha256 "${digest}"`, "    end"];
}
