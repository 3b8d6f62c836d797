/** The command `verify`: compares the program that runs with the checksums and the statement of a release. */
import manifest from "../../../deno.json" with { type: "json" };
import { builtin } from "../../util/builtin.ts";
import { printable } from "../../util/printable.ts";
import { VERIFY } from "../commands/release.ts";
import { readArguments } from "../flags.ts";
import { printJson } from "../json_output.ts";
import { CommandError, type Program, UsageError } from "../program.ts";
import { type Difference, differencesBetween, judgeExecutable } from "./compare.ts";
import { type Digests, readStatement, readSums } from "./listed.ts";
import { LIST, SUMS } from "./names.ts";
import { digestOf, ownFiles } from "./own_files.ts";

/** A statement, bare or in its signature's bundle. */
const STATEMENT = /\.(intoto|sigstore)\.jsonl?$/;

/** A release of a hundred files has 20 kB of checksums. */
const LONGEST = 4_000_000;

interface Verdict {
  result: "ok" | "differs" | "not listed";
  /** One sentence without a full stop at its end. */
  message: string;
  differences?: readonly Difference[];
}

/** The facts of a release: its digests by name, and the folders in which its files may be. */
export interface Listed {
  digests: Digests;
  sources: string[];
  folders: Set<string>;
}

/** Returns the exit code. Throws `UsageError` and `CommandError`. */
export async function verify(args: string[], program: Program, folder?: string): Promise<number> {
  const { platform: { executable }, streams } = program;
  const { values: { json }, positionals } = readArguments(args, VERIFY.options);
  if (positionals.length === 0) throw new UsageError("Name a release's folder, or its SHA256SUMS and statement");
  const listed = await readListed(positionals);
  const verdict: Verdict = executable === undefined
    ? await verdictOfFiles(listed, folder)
    : judgeExecutable(executable, await digestOf(executable), listed.digests);
  const { result, message, differences = [] } = verdict;
  const isWell = result === "ok";
  if (json) printJson(streams, { ok: isWell, version: manifest.version, ...verdict, by: listed.sources });
  else {
    for (const { result, name } of differences) streams.print(`${result.padEnd(10)}  ${printable(name)}`);
    streams.print(`${result}: ${printable(message)} (by ${printable(listed.sources.join(" and "))})`);
  }
  return isWell ? 0 : 1;
}

/** The digests of all files and folders that were named. They must not contradict each other. */
async function readListed(paths: readonly string[]): Promise<Listed> {
  const listed: Listed = { digests: new Map(), sources: [], folders: new Set() };
  for (const path of (await Promise.all(paths.map(filesAt))).flat()) {
    const { dirname, basename } = builtin("node:path");
    const text = await readBounded(path);
    const source = basename(path);
    const digests = /^\s*\{/.test(text) ? readStatement(text, source) : readSums(text, source);
    for (const [name, digest] of digests) {
      const other = listed.digests.get(name) ?? digest;
      if (other !== digest) {
        throw new CommandError(`${source}: "${name}" has another checksum in ${listed.sources.at(-1)}`);
      }
      listed.digests.set(name, digest);
    }
    listed.sources.push(source);
    listed.folders.add(dirname(path));
  }
  return listed;
}

/** The checksums and statements in a folder, or the file itself. */
async function filesAt(path: string): Promise<string[]> {
  const { stat, readdir } = builtin("node:fs/promises");
  const about = await stat(path).catch((error) => cannotRead(path, error));
  if (!about.isDirectory()) return [path];
  const found = (await readdir(path)).filter((name) => name === SUMS || STATEMENT.test(name)).sort();
  if (found.length === 0) throw new CommandError(`${path} has neither ${SUMS} nor a statement`);
  return found.map((name) => `${path}/${name}`);
}

async function readBounded(path: string): Promise<string> {
  const { stat, readFile } = builtin("node:fs/promises");
  try {
    const about = await stat(path);
    if (!about.isFile()) throw new CommandError(`${path} is not a file`);
    if (about.size > LONGEST) throw new CommandError(`${path} is too long for checksums or a statement`);
    return await readFile(path, "utf8");
  } catch (error) {
    return cannotRead(path, error);
  }
}

function cannotRead(path: string, error: unknown): never {
  if (error instanceof CommandError) throw error;
  const isMissing = (error as { code?: string }).code === "ENOENT";
  throw new CommandError(`Cannot read ${path}: ${isMissing ? "there is no such file" : (error as Error).message}`);
}

/** Compares the files of a package, which a release lists in a file of its own. */
async function verdictOfFiles({ digests, folders }: Listed, folder?: string): Promise<Verdict> {
  const files = await ownFiles(folder);
  if (!files) {
    return {
      result: "not listed",
      message: "this runs from a clone, whose files git compares: git status, git verify-tag",
    };
  }
  const expected = digests.get(LIST);
  if (expected === undefined) return { result: "not listed", message: `the release does not list ${LIST}` };
  const { existsSync } = builtin("node:fs");
  const list = [...folders].map((folder) => `${folder}/${LIST}`).find((path) => existsSync(path));
  if (list === undefined) {
    throw new CommandError(`Cannot compare the program's files: ${LIST} has to be beside the sums`);
  }
  const text = await readBounded(list);
  if (await digestOf(list) !== expected) return { result: "differs", message: `${LIST} is not the one of the release` };
  const differences = differencesBetween(files, readSums(text, LIST));
  if (differences.length === 0) {
    return {
      result: "ok",
      message: `all ${files.size} files of this program are those of version ${manifest.version}`,
    };
  }
  const result = differences.every(({ result }) => result === "not listed") ? "not listed" : "differs";
  return {
    result,
    message: `${differences.length} of the program's files are not as in version ${manifest.version}`,
    differences,
  };
}
