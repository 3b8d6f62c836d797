/**
 * Runs on Node what `folders.ts` says, or what of it is named, two processes at a time. Prints one line a folder, and the tests that
 * fail. The last line is like that of Deno's tests.
 */
import { install, NODE } from "../clients/install.ts";
import { NODE_FOLDERS, runs } from "./folders.ts";
import { withCopy } from "./program.ts";

const PROCESSES = 2;
/** A group that takes longer hangs. */
const PATIENCE_MS = 30 * 60_000;
const RUN = ["--import", "./tests/node/hooks.ts", "tests/node/group.ts"];

const totals = { passed: 0, failed: 0, ignored: 0 };

const installed = await install(NODE, "node");
if ("reason" in installed) throw new Error(installed.reason);
const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`;
const groups = groupsOnNode(Deno.args);

await withCopy(cache, async (folder) => {
  const workers = Array.from({ length: PROCESSES }, async () => {
    for (let group = groups.shift(); group; group = groups.shift()) await run(group, installed.program, folder);
  });
  await Promise.all(workers);
});
print(
  `\n${
    totals.failed === 0 ? "ok" : "FAILED"
  } | ${totals.passed} passed | ${totals.failed} failed | ${totals.ignored} ignored`,
);
Deno.exit(totals.failed === 0 ? 0 : 1);

interface Group {
  name: string;
  files: string[];
}

/** One of each folder, with all of its files, or with those that are named or in a named folder. */
function groupsOnNode(named: readonly string[]): Group[] {
  const isNamed = (file: string) => named.length === 0 || named.some((path) => `${file}/`.startsWith(`${path}/`));
  return Object.keys(NODE_FOLDERS)
    .map((name) => ({
      name: `tests/${name}`,
      files: testFiles(`tests/${name}`).filter((file) => runs(file) && isNamed(file)),
    }))
    .filter(({ files }) => files.length > 0);
}

function testFiles(path: string): string[] {
  if (path.endsWith("_test.ts")) return [path];
  return [...Deno.readDirSync(path)].flatMap(({ name, isDirectory }) =>
    isDirectory || name.endsWith("_test.ts") ? testFiles(`${path}/${name}`) : []
  ).sort();
}

async function run({ name, files }: Group, node: string, folder: string): Promise<void> {
  const began = performance.now();
  const child = new Deno.Command(node, {
    args: [...RUN, ...files],
    cwd: folder,
    env: { NO_COLOR: "1", ...name === "tests/laws" && { LANEWAY_RELIABILITY: "most" } },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGTERM"), PATIENCE_MS);
  const [said, complaint] = await Promise.all([child.stdout.text(), child.stderr.text(), child.status]);
  clearTimeout(timer);
  const [, ...counts] = /^\w+ \| (\d+) passed \| (\d+) failed \| (\d+) ignored\n$/m.exec(said) ?? [];
  const [passed = 0, failed = 1, ignored = 0] = counts.map(Number);
  totals.passed += passed;
  totals.failed += failed;
  totals.ignored += ignored;
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  print(`node: ${name}: ${passed} passed, ${failed} failed, ${ignored} ignored (${seconds} s)`);
  if (failed > 0) print(said + complaint.slice(-10_000));
  else for (const line of said.split("\n")) if (line.endsWith(" ... ignored")) print(line);
}

function print(text: string): void {
  // deno-lint-ignore no-console -- this is a command line
  console.log(text);
}
