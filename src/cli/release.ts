/**
 * Builds what is published: an executable for each system and architecture, their checksums, and the bill of materials.
 * `deno task release [folder] [target...]`.
 */
import manifest from "../../deno.json" with { type: "json" };
import { type Lock, sbomText } from "./sbom.ts";

const ROOT = new URL("../../", import.meta.url);
/** What `deno compile` can build for. */
const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
  "aarch64-pc-windows-msvc",
];

/** The task `compile`, for a target and into a file. */
function compileArgs(target: string, output: string): string[] {
  const [, ...args] = manifest.tasks.compile.split(" ");
  const at = args.indexOf("--output");
  return args.with(at + 1, output).toSpliced(at, 0, "--target", target);
}

async function build(target: string, folder: string): Promise<string> {
  const name = `laneway-${manifest.version}-${target}${target.includes("windows") ? ".exe" : ""}`;
  const args = compileArgs(target, `${folder}/${name}`);
  const { success } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).spawn().status;
  if (!success) throw new Error(`Cannot build ${name}`);
  return name;
}

async function checksumOf(path: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(path))).toHex();
}

async function release(folder: string, targets: readonly string[]): Promise<void> {
  const unknown = targets.filter((target) => !TARGETS.includes(target));
  if (unknown.length > 0) throw new Error(`Unknown target ${unknown.join(", ")}; known: ${TARGETS.join(", ")}`);
  const names: string[] = [];
  for (const target of targets) names.push(await build(target, folder));
  const lock: Lock = JSON.parse(await Deno.readTextFile(new URL("deno.lock", ROOT)));
  await Deno.writeTextFile(`${folder}/laneway.cdx.json`, sbomText(lock));
  names.push("laneway.cdx.json");
  const lines = await Promise.all(names.map(async (name) => `${await checksumOf(`${folder}/${name}`)}  ${name}\n`));
  await Deno.writeTextFile(`${folder}/SHA256SUMS`, lines.join(""));
}

if (import.meta.main) {
  const [folder = "release", ...targets] = Deno.args;
  await release(await absolute(folder), targets.length > 0 ? targets : TARGETS);
}

/** `deno compile` runs in the folder of the source. */
async function absolute(folder: string): Promise<string> {
  await Deno.mkdir(folder, { recursive: true });
  return await Deno.realPath(folder);
}
