/**
 * Makes what is released: `deno task release [--out folder] [kind...] [target...]`. Without a kind it makes all of them, and without
 * a target executables for all six.
 */
import { parseArgs } from "node:util";
import { binaries, TARGETS } from "./release/binaries.ts";
import { COMPANIONS } from "./release/companions.ts";
import type { Kind, Release } from "./release/kind.ts";
import { homebrew } from "./release/homebrew.ts";
import { deb } from "./release/deb.ts";
import { image } from "./release/image.ts";
import { npm } from "./release/npm.ts";
import { writeProgram } from "./release/program.ts";
import { winget } from "./release/winget.ts";

const KINDS: readonly Kind[] = [npm, image, deb, binaries, homebrew, winget];

/** Makes what can be made. Returns one line about each file that cannot. */
async function release(kinds: readonly Kind[], place: Release): Promise<string[]> {
  const files: string[] = [];
  const failures: string[] = [];
  for (const kind of [...kinds, ...COMPANIONS]) {
    for (const made of await kind.build(place, files)) {
      if ("file" in made) files.push(made.file);
      else failures.push(made.failure);
    }
  }
  return failures;
}

/** Calls `use` with a release whose program is bundled once, when it is first needed. */
async function withProgram<T>(place: Omit<Release, "program">, use: (release: Release) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir();
  let written: Promise<void> | undefined;
  try {
    return await use({ ...place, program: () => (written ??= writeProgram(folder)).then(() => folder) });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The absolute path, because programs that make the files run in other folders. */
async function absolute(folder: string): Promise<string> {
  await Deno.mkdir(folder, { recursive: true });
  return await Deno.realPath(folder);
}

function usage(): string {
  const lines = KINDS.map(({ name, needs }) => `  --${name.padEnd(12)}needs ${needs}`);
  return ["Usage: deno task release [--out folder] [kind...] [target...]", "", "Kinds:", ...lines, ""].join("\n");
}

async function main(): Promise<number> {
  const options = Object.fromEntries(KINDS.map(({ name }) => [name, { type: "boolean" } as const]));
  const { values: { out, help, ...chosen }, positionals } = parseArgs({
    options: { out: { type: "string", default: "release" }, help: { type: "boolean" }, ...options },
    allowPositionals: true,
  });
  if (help) return say(usage(), 0);
  const unknown = positionals.filter((target) => !TARGETS.includes(target));
  if (unknown.length > 0) return say(`Unknown target ${unknown.join(", ")}; known: ${TARGETS.join(", ")}`, 1);
  const named = KINDS.filter(({ name }) => name in chosen);
  const targets = positionals.length > 0 ? positionals : TARGETS;
  const place = { folder: await absolute(out as string), targets };
  const failures = await withProgram(place, (all) => release(named.length > 0 ? named : KINDS, all));
  return failures.length > 0 ? say(failures.join("\n"), 1) : 0;
}

function say(text: string, code: number): number {
  // deno-lint-ignore no-console -- this is a command line
  (code === 0 ? console.log : console.error)(text);
  return code;
}

if (import.meta.main) Deno.exit(await main());
