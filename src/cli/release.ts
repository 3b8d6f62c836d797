/**
 * Builds the release: executables, the package for npm, their checksums, and the bill of materials.
 * `deno task release [--out folder] [--binaries] [--npm] [target...]`: without a kind, all of them; without a target, all six.
 */
import { parseArgs } from "node:util";
import { stripTypeScriptTypes } from "node:module";
import manifest from "../../deno.json" with { type: "json" };
import { folderOf } from "./cached.ts";
import { compile, ROOT } from "./compile.ts";
import { buildNpmPackage } from "./npm_package.ts";

/** The targets of `deno compile`. */
const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
  "aarch64-pc-windows-msvc",
];

/**
 * Types, sources, source maps, CommonJS twins, and files of packages for browsers, bundlers, readers or a command line. Together they
 * are as large as the code that runs. The gateway uses neither zod's former version nor its small one, and encrypts or signs no
 * tokens with jose.
 */
export const UNUSED = [
  /\.([cm]?ts|map|cjs|md)$|\.umd\.js$|\/marked\/[^/]+\/(bin|man)\//,
  /\/browser\/|\/dist\/experimental\/|\.min\.mjs$|\.iife\.js$/,
  /\/(cli\.m?js|bin\.mjs|test-events\.js|test\.util\.js|tsconfig\.json)$/,
  /\/zod\/[^/]+\/((v3|v4-mini|mini|v4\/mini)\/|compile\.js$)/,
  /\/jose\/[^/]+\/dist\/webapi\/(index\.js|jw[eks]\/|key\/|jwks\/remote|jwt\/[^v]|util\/decode|lib\/(jwe_|jws_sign|deflate|key_algorithm|key_management|content_encryption|asn1))/,
  /\/jsonc-parser\/[^/]+\/lib\/esm\/|\/node-diff3\/[^/]+\/src\/|\/fastest-levenshtein\/[^/]+\/(esm\/|bench|test|\.)/,
  /\/preact\/[^/]+\/((compat|debug|devtools|jsx-runtime|src|test-utils)\/|hooks\/src\/)|\/htm\/[^/]+\/(mini|preact|react|src)\//,
  /\/signals(-core)?\/[^/]+\/(src\/|utils\/|dist\/signals(-core)?\.(min|module)?\.?js$)|\/uPlot\.(iife|esm|cjs)\.js$/,
  /\/deno-std\/[^/]+\/(?!package\.json|http\/(_negotiation|cookie|etag|negotiation)|encoding\/(base64|_common64|_common_detach)\.|streams\/(limited_bytes|to_text))/,
];

/** Licences are published beside the executables, where people can read them. */
const LICENCE = /\/LICEN[CS]E(\.\w+)?$/i;

/** The folders of the locked packages. */
async function packageFolders({ npm }: Lock): Promise<string[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"], cwd: ROOT }).output();
  const { npmCache }: { npmCache: string } = JSON.parse(new TextDecoder().decode(stdout));
  return Object.keys(npm).map((pin) => `${npmCache}/registry.npmjs.org/${folderOf(pin)}`);
}

/** The licences of the packages in these folders. A package that brings no text has the name of its licence. */
async function licencesText(folders: readonly string[]): Promise<string> {
  const texts = folders.toSorted().map(async (folder) => {
    const [, name] = /registry\.npmjs\.org\/(.+)$/.exec(folder)!;
    const paths = [...filesBelow(folder)].filter((path) => LICENCE.test(path)).sort();
    const texts = await Promise.all(paths.map(async (path) => (await Deno.readTextFile(path)).trim()));
    if (texts.length === 0) texts.push(JSON.parse(await Deno.readTextFile(`${folder}/package.json`)).license);
    return `${name}\n\n${texts.join("\n\n")}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}

function* filesBelow(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* filesBelow(`${folder}/${name}`);
    else yield `${folder}/${name}`;
  }
}

/** An executable is built from these files and from the folders of `CODE`. The lock speaks of `package.json` as well. */
const FILES = ["deno.json", "deno.lock", "package.json", "gateway.default.json"];
const CODE = ["src", "plugins"];

/**
 * Copies the sources to `folder` as JavaScript, without comments and indentation. An executable would hold each source in
 * TypeScript twice, as it is written and as it runs. Lines keep their numbers, so that stack traces name the lines of the
 * repository.
 */
export async function copySources(folder: string): Promise<void> {
  const places = await placesByFile();
  const root = ROOT.pathname;
  const code = CODE.flatMap((name) => [...filesBelow(`${root}${name}`)].map((path) => path.slice(root.length)));
  for (const path of [...FILES, ...code]) {
    const file = new URL(path, ROOT);
    const bytes = await Deno.readFile(file);
    const isTyped = /(?<!\.d)\.ts$/.test(path);
    const copy = `${folder}/${isTyped ? path.replace(/ts$/, "js") : path}`;
    const text = compact(bytes, places.get(file.href) ?? NOWHERE);
    await Deno.mkdir(copy.slice(0, copy.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(copy, isTyped ? withoutTypes(text) : text);
    await Deno.utime(copy, 0, 0); // an executable holds the times, and equal sources give equal executables
  }
}

/** The addresses by which a module names another one. */
const SPECIFIER = /(\bfrom |\bimport |\bimport\(|\bnew URL\()"(\.{1,2}\/[^"\n]+)\.ts"/g;

/** A module as JavaScript, with the same lines. It names the other modules as they are named then. */
export function withoutTypes(source: string): string {
  const lines = source.split("\n");
  const stripped = stripTypeScriptTypes(source).split("\n");
  // A type leaves white space. White space at the end of a line of the source is part of a text.
  const trimmed = stripped.map((line, index) => lines[index]!.endsWith(" ") ? line : line.trimEnd());
  return trimmed.join("\n").replace(SPECIFIER, '$1"$2.js"');
}

/** A part of a source, in bytes from the beginning of its file. */
type Part = readonly [start: number, end: number];

/** The parts of a source that may be left out, and those in which white space says something. */
interface Places {
  comments: Part[];
  templates: Part[];
}

const NOWHERE: Places = { comments: [], templates: [] };

/** The comments and templates of the sources, by the address of the file. */
async function placesByFile(): Promise<Map<string, Places>> {
  const plugin = new URL("comments.ts", import.meta.url).pathname;
  const config = await Deno.makeTempFile({ suffix: ".json" });
  try {
    const rules = { tags: [], include: ["release/comments", "release/templates"] };
    await Deno.writeTextFile(config, JSON.stringify({ lint: { plugins: [plugin], rules } }));
    const args = ["lint", "--json", "--config", config, ...CODE];
    const { stdout } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).output();
    const { diagnostics, errors }: Lint = JSON.parse(new TextDecoder().decode(stdout));
    if (errors.length > 0) throw new Error(`Cannot read the sources: ${JSON.stringify(errors[0])}`);
    const found = new Map<string, Places>();
    for (const { filename, code, range } of diagnostics) {
      const places = found.get(filename) ?? { comments: [], templates: [] };
      const part: Part = [range.start.bytePos, range.end.bytePos];
      (code === "release/comments" ? places.comments : places.templates).push(part);
      found.set(filename, places);
    }
    return found;
  } finally {
    await Deno.remove(config);
  }
}

/** The output of `deno lint --json`, as far as it is read. */
interface Lint {
  diagnostics: { filename: string; code: string; range: { start: { bytePos: number }; end: { bytePos: number } } }[];
  errors: unknown[];
}

/** A source without its comments, and without the indentation outside templates. */
export function compact(source: Uint8Array, { comments, templates }: Places): string {
  const textOf = (start: number, end?: number) => new TextDecoder().decode(source.subarray(start, end));
  const cuts = [...comments, ...indentationIn(source, [...comments, ...templates])];
  let text = "";
  let at = 0;
  for (const [start, end] of cuts.toSorted(([one], [other]) => one - other)) {
    const lines = textOf(start, end).split("\n").length - 1;
    text += textOf(at, start).replace(/ +$/, "") + "\n".repeat(lines);
    // A comment may be all that is between two words.
    if (lines === 0 && source[start] !== SPACE) text += " ";
    at = end;
  }
  return text + textOf(at);
}

const [SPACE, NEWLINE] = [32, 10];

/** The spaces at the beginning of lines that do not begin in one of these parts. */
function indentationIn(source: Uint8Array, parts: readonly Part[]): Part[] {
  const found: Part[] = [];
  for (let start = 0; start !== -1;) {
    let end = start;
    while (source[end] === SPACE) end++;
    if (end > start && !parts.some((part) => part[0] < start && start < part[1])) found.push([start, end]);
    const newline = source.indexOf(NEWLINE, end);
    start = newline === -1 ? -1 : newline + 1;
  }
  return found;
}

async function build(target: string, folder: string, unused: readonly string[], root: string): Promise<string> {
  const name = `laneway-${manifest.version}-${target}${target.includes("windows") ? ".exe" : ""}`;
  const excluded = unused.flatMap((path) => ["--exclude", path]);
  const isBuilt = await compile(`${folder}/${name}`, ["--no-check", "--target", target, ...excluded], root, "js");
  if (!isBuilt) throw new Error(`Cannot build ${name}`);
  return name;
}

async function checksumOf(path: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(path))).toHex();
}

/** A file of the release that is made by itself: what it is, and what makes it and returns its name. */
type Piece = readonly [what: string, make: () => Promise<string>];

/** Makes the executables for the targets and passes them to `use`, with the sources that they share. */
async function withBinaries<T>(
  folder: string,
  targets: readonly string[],
  packages: readonly string[],
  use: (pieces: Piece[]) => Promise<T>,
): Promise<T> {
  const unused = packages.flatMap((folder) => [...filesBelow(folder)]).filter((path) =>
    [...UNUSED, LICENCE].some((pattern) => pattern.test(path))
  );
  const sources = await Deno.makeTempDir();
  try {
    if (targets.length > 0) await copySources(sources);
    return await use(targets.map((target) => [target, () => build(target, folder, unused, sources)]));
  } finally {
    await Deno.remove(sources, { recursive: true });
  }
}

/** Makes what can be made. Returns one line about each piece that cannot. */
async function release(folder: string, targets: readonly string[], more: readonly Piece[]): Promise<string[]> {
  const lock: Lock = JSON.parse(await Deno.readTextFile(new URL("deno.lock", ROOT)));
  const packages = await packageFolders(lock);
  const names: string[] = [];
  const failures: string[] = [];
  await withBinaries(folder, targets, packages, async (binaries) => {
    for (const [what, make] of [...binaries, ...more]) {
      try {
        names.push(await make());
      } catch (error) {
        failures.push(`Cannot make ${what}: ${(error as Error).message.trim().split("\n")[0]}`);
      }
    }
  });
  await Deno.writeTextFile(`${folder}/laneway.cdx.json`, sbomText(lock));
  await Deno.writeTextFile(`${folder}/LICENSES.txt`, await licencesText(packages));
  names.push("laneway.cdx.json", "LICENSES.txt");
  const lines = await Promise.all(names.map(async (name) => `${await checksumOf(`${folder}/${name}`)}  ${name}\n`));
  await Deno.writeTextFile(`${folder}/SHA256SUMS`, lines.join(""));
  return failures;
}

if (import.meta.main) {
  const { values: { out, ...kinds }, positionals } = parseArgs({
    options: { out: { type: "string", default: "release" }, binaries: { type: "boolean" }, npm: { type: "boolean" } },
    allowPositionals: true,
  });
  const unknown = positionals.filter((target) => !TARGETS.includes(target));
  if (unknown.length > 0) throw new Error(`Unknown target ${unknown.join(", ")}; known: ${TARGETS.join(", ")}`);
  const isAll = !kinds.binaries && !kinds.npm;
  const folder = await absolute(out);
  const targets = positionals.length > 0 ? positionals : TARGETS;
  const failures = await release(
    folder,
    isAll || kinds.binaries ? targets : [],
    isAll || kinds.npm ? [["the package for npm", () => buildNpmPackage(folder)]] : [],
  );
  // deno-lint-ignore no-console -- this is a command line
  for (const line of failures) console.error(line);
  if (failures.length > 0) Deno.exit(1);
}

/** The absolute path, because `deno compile` runs in the folder of the source. */
async function absolute(folder: string): Promise<string> {
  await Deno.mkdir(folder, { recursive: true });
  return await Deno.realPath(folder);
}

/** The part of `deno.lock` that is read: the packages from npm by `name@version`, and their dependencies. */
export interface Lock {
  npm: Record<string, { integrity: string; dependencies?: string[] }>;
}

/** The bill of materials as text. Equal locks give equal texts, so that builds can be compared. */
export function sbomText(lock: Lock): string {
  const names = Object.keys(lock.npm).toSorted();
  const own = `pkg:npm/${manifest.name.replace("@", "%40")}@${manifest.version}`;
  const direct = Object.values(manifest.imports).map((specifier) => specifier.replace(/^npm:/, ""));
  const bill = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "application", "bom-ref": own, ...namesOf(manifest), purl: own } },
    components: names.map((name) => componentOf(name, lock.npm[name]!.integrity)),
    dependencies: [
      { ref: own, dependsOn: direct.map(purlOf).toSorted() },
      ...names.map((name) => ({
        ref: purlOf(name),
        dependsOn: (lock.npm[name]!.dependencies ?? []).map((one) => purlOf(pinned(one, names))),
      })),
    ],
  };
  return JSON.stringify(bill, null, 2) + "\n";
}

function componentOf(pin: string, integrity: string) {
  const [name, version] = split(pin);
  const [algorithm = "", digest = ""] = integrity.split("-");
  return {
    type: "library",
    "bom-ref": purlOf(pin),
    ...namesOf({ name, version }),
    purl: purlOf(pin),
    hashes: [{ alg: algorithm.replace("sha", "SHA-"), content: Uint8Array.fromBase64(digest).toHex() }],
  };
}

/** CycloneDX keeps the scope of a package apart from its name. */
function namesOf({ name, version }: { name: string; version: string }) {
  const [group, bare] = name.startsWith("@") ? name.split("/") : [];
  return bare === undefined ? { name, version } : { group, name: bare, version };
}

function split(pin: string): [name: string, version: string] {
  // The version is followed by the peers that the package is used with.
  const [, name = "", version = ""] = /^(.[^@]*)@([^_]*)/.exec(pin) ?? [];
  return [name, version];
}

function purlOf(pin: string): string {
  const [name, version] = split(pin);
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

/** The lock names the version of a dependency only if there are several. */
function pinned(name: string, pins: readonly string[]): string {
  return pins.includes(name) ? name : pins.find((pin) => split(pin)[0] === name) ?? name;
}
