/**
 * Runs `deno test` for all files below `tests`, but those of the folders in `--ignore`, with the other arguments that it gets. Prints
 * one line a file or group of files instead of one a test. Failures, skipped tests and whatever else Deno prints stay as they are.
 * On a terminal, the last line tells how far the run is. Exits as Deno does.
 */
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { doneIn, groupsOf, writeModule } from "./groups.ts";

interface Tally {
  passed: number;
  failed: number;
  ignored: number;
}

const SECONDS: Record<string, number> = { s: 1, ms: 1e-3, "µs": 1e-6 };

/** `./tests/a_test.ts => name of the test ... ok (3ms)`, as Deno prints it with `--parallel`. */
const RESULT = /^(\S+_test\.ts) => (.*) \.\.\. (ok|ignored|FAILED)(?: \(.*\))?$/;

const files = new Map<string, Tally>();
/** How long the tests of a file took, all together, in seconds. */
const times = new Map<string, number>();

const IGNORE = "--ignore=";
const ignored = Deno.args.filter((arg) => arg.startsWith(IGNORE)).flatMap((arg) => arg.slice(IGNORE.length).split(","));
const options = Deno.args.filter((arg) => !arg.startsWith(IGNORE));

const folder = Deno.makeTempDirSync();
const groups = groupsOf("tests", ignored);
const modules = groups.map((group, index) => writeModule(group, folder, index));
/** What a line names for the module that ran a group. */
const titles = new Map(groups.map(({ name, files }, index) => {
  const title = files.length === 1 ? `./${name}` : `./${name} (${files.length} files)`;
  return [`${index}_test.ts`, title];
}));

const isTerminal = Deno.stdout.isTerminal();
const totals: Tally = { passed: 0, failed: 0, ignored: 0 };
const fileCount = groups.reduce((sum, { files }) => sum + files.length, 0);
if (isTerminal) showProgress();

const child = new Deno.Command(Deno.execPath(), {
  args: ["test", ...options, ...modules],
  // Many tests wait, for a process or a time-out: two more files than there are cores keep these busy.
  env: { NO_COLOR: "1", DENO_JOBS: Deno.env.get("DENO_JOBS") ?? String(navigator.hardwareConcurrency + 2) },
  stdin: "null",
  stdout: "piped",
}).spawn();

for await (const line of createInterface({ input: Readable.from(child.stdout) })) {
  const [, path, name, result] = RESULT.exec(line) ?? [];
  if (path === undefined) {
    // Deno sums up at the end, after a blank line and the failures.
    if (/^(ok|FAILED) \| /.test(line)) printFiles();
    print(line);
    continue;
  }
  const file = titles.get(basename(path))!;
  const isStep = name!.includes(" ... ");
  if (!isStep) {
    count(file, result!);
    times.set(file, (times.get(file) ?? 0) + secondsIn(line));
  }
  if (result !== "ok") print(painted(line.replace(path, file)));
  if (isTerminal) showProgress();
}

const { code } = await child.status;
clearProgress();
printProcessorTime();
Deno.removeSync(folder, { recursive: true });
Deno.exit(code);

function count(file: string, result: string): void {
  const tally = files.get(file) ?? { passed: 0, failed: 0, ignored: 0 };
  files.set(file, tally);
  const outcome = result === "ok" ? "passed" : result === "FAILED" ? "failed" : "ignored";
  tally[outcome]++;
  totals[outcome]++;
}

/** Rewrites the last line of the terminal. */
function showProgress(): void {
  const done = doneIn(folder).reduce((sum, index) => sum + groups[index]!.files.length, 0);
  const line = `${done} of ${fileCount} files done, ${totals.passed} tests passed, ${totals.failed} failed`;
  // A line that is wider than the terminal would be left on it.
  write(`\r\x1b[K${line.slice(0, Deno.consoleSize().columns - 1)}`);
}

function clearProgress(): void {
  if (isTerminal) write("\r\x1b[K");
}

/** Linux alone tells what the processes that have ended took, in ticks of a hundredth of a second. */
function printProcessorTime(): void {
  if (Deno.build.os !== "linux") return;
  const [user, system] = Deno.readTextFileSync("/proc/self/stat").split(") ")[1]!.split(" ").slice(13).map(Number);
  print(`It took ${((user! + system!) / 6_000).toFixed(1)} minutes of processor time`);
}

/** The time at the end of a line: `(870µs)`, `(18ms)`, `(2s)` or `(1m23s)`. */
function secondsIn(line: string): number {
  const [, minutes = "0", count = "0", unit = "s"] = /\((?:(\d+)m)?(\d+)(s|ms|µs)\)$/.exec(line) ?? [];
  return Number(minutes) * 60 + Number(count) * SECONDS[unit]!;
}

function printFiles(): void {
  for (const [file, tally] of [...files].sort()) {
    const counts = Object.entries(tally).filter(([, count]) => count > 0).map(([word, count]) => `${count} ${word}`);
    print(painted(`${file}: ${counts.join(", ")} (${times.get(file)!.toFixed(1)} s)`));
  }
  print("");
}

/** Red on a terminal, for a line that tells of a failure. */
function painted(line: string): string {
  const isRed = isTerminal && !Deno.noColor && /\bfailed\b|\bFAILED\b/.test(line);
  return isRed ? `\x1b[31m${line}\x1b[39m` : line;
}

function print(line: string): void {
  clearProgress();
  // deno-lint-ignore no-console -- this is a command line
  console.log(line);
}

function write(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}
