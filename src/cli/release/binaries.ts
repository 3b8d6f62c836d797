/** Executables of the program for all systems, by `deno compile`. */
import manifest from "../../../deno.json" with { type: "json" };
import { COMPILE } from "../compile.ts";
import { filesBelow } from "./files.ts";
import { type Kind, type Made, make, type Release } from "./kind.ts";
import { LICENCE, packageFolders, readLock } from "./packages.ts";
import { copySources } from "./sources.ts";

/** The targets of `deno compile`. */
export const TARGETS = [
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

export const binaries: Kind = {
  name: "binaries",
  needs: "Deno's runtime for the target, which is downloaded unless the variable DENORT_BIN_<target> has its path",
  build,
};

/** The name of the executable. */
export function executableFor(target: string): string {
  return `laneway-${manifest.version}-${target}${target.includes("windows") ? ".exe" : ""}`;
}

async function build({ folder, targets }: Release): Promise<Made[]> {
  const sources = await Deno.makeTempDir();
  try {
    const options = await exclusions();
    await copySources(sources);
    const made: Made[] = [];
    for (const target of targets) made.push(await make(target, () => compiled(target, folder, sources, options)));
    return made;
  } finally {
    await Deno.remove(sources, { recursive: true });
  }
}

/** The options that leave out the files of packages that the program does not use. */
async function exclusions(): Promise<string[]> {
  const packages = await packageFolders(await readLock());
  const unused = packages.flatMap((folder) => [...filesBelow(folder)]).filter((path) =>
    [...UNUSED, LICENCE].some((pattern) => pattern.test(path))
  );
  return unused.flatMap((path) => ["--exclude", path]);
}

async function compiled(target: string, folder: string, sources: string, options: readonly string[]): Promise<string> {
  const name = executableFor(target);
  const own = COMPILE.map((option) => option.replace(/\.ts$/, ".js"));
  const output = ["--no-check", "--target", target, "--output", `${folder}/${name}`];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["compile", ...own, ...options, ...output, "src/main.js"],
    cwd: sources,
    env: runtimeFor(target),
    stdin: "null",
    stdout: "inherit",
  }).output();
  const said = new TextDecoder().decode(stderr);
  if (!success) throw new Error(reasonIn(said));
  await Deno.stderr.write(new TextEncoder().encode(said));
  return name;
}

/** Shells allow no hyphen in the name of a variable. */
function runtimeFor(target: string): Record<string, string> {
  const path = Deno.env.get(`DENORT_BIN_${target.replaceAll("-", "_")}`);
  return path === undefined ? {} : { DENORT_BIN: path };
}

/** The reason in the output of `deno compile`, where the first line says what it did and the second cause says what failed. */
function reasonIn(said: string): string {
  // deno-lint-ignore no-control-regex -- these are the colours of a terminal
  const lines = said.replace(/\x1b\[[\d;]*m/g, "").split("\n");
  const line = lines.find((line) => /^ +1: /.test(line)) ?? lines.find((line) => line.startsWith("error: "));
  return (line ?? lines[0]!).replace(/^ +1: |^error: /, "");
}
