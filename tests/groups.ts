/**
 * How the test command spreads the test files over the processor. A file by itself costs a start of the engine and a load of the whole
 * gateway; files of a group share both. What takes long begins first, so that no core is idle at the end.
 */
/**
 * What computes, longest first. The files of a folder run one after another in one module graph: short tests that start no process.
 * A file that is listed runs by itself.
 */
const COMPUTING = [
  "tests/laws",
  "tests/inference",
  "tests/regressions",
  "tests/sdk",
  "tests/plugins",
  "tests/deploy/proxies_test.ts",
  "tests/state/continuity/kill_test.ts",
  "tests/plugins/shared/text_forms_test.ts",
  "tests/context/isolation_test.ts",
  "tests/laws/counting_test.ts",
  "tests/fetcher/reading_test.ts",
  "tests/fidelity/table_test.ts",
  "tests/http",
  "tests/upstream",
  "tests/console",
  "tests/tokens",
  "tests/transforms",
  "tests/routing",
  "tests/regressions/memory_test.ts",
  "tests/observe",
  "tests/canonical",
  "tests/config",
  "tests/util",
  "tests/lanes",
];

/** What runs long because it waits for a process or a time-out, longest first; by itself also in a folder above. */
const WAITING = [
  "tests/cli/life_test.ts",
  "tests/platform/transport_test.ts",
  "tests/docs/tutorial_test.ts",
  "tests/docs/commands_test.ts",
  "tests/console/browser_test.ts",
  "tests/site/browser_test.ts",
  "tests/cli/npx_test.ts",
  "tests/sockets/unread_test.ts",
  "tests/cli/workers_test.ts",
  "tests/cli/keeper_test.ts",
  "tests/state/redis/limits_test.ts",
  "tests/sockets/websocket_slow_reader_test.ts",
  "tests/observe/traces_test.ts",
  "tests/inference/background_test.ts",
  "tests/cli/release_test.ts",
  "tests/reliability/every_byte_sockets_test.ts",
  "tests/sockets/slow_reader_test.ts",
  "tests/main_test.ts",
  "tests/observe/unread_output_test.ts",
  "tests/observe/prometheus_test.ts",
  "tests/inference/attempt_test.ts",
  "tests/http/descriptors_test.ts",
  "tests/reliability/reading_test.ts",
  "tests/reliability/leaving_test.ts",
  "tests/state/continuity/contract_test.ts",
  "tests/state/redis/link_test.ts",
  "tests/state/redis/gateways_test.ts",
  "tests/state/redis/background_test.ts",
];

/** Files that run in one module graph: one file, or those of a folder. */
export interface Group {
  /** The path of the file or the folder. */
  name: string;
  files: string[];
}

/** All test files below `root`, without those of the folders in `ignored`, as groups in the order in which they begin. */
export function groupsOf(root: string, ignored: readonly string[]): Group[] {
  const alone = new Set([...COMPUTING, ...WAITING]);
  const groups = new Map<string, Group>();
  for (const file of testFiles(root, ignored).sort()) {
    const folder = alone.has(file) ? undefined : COMPUTING.find((folder) => file.startsWith(`${folder}/`));
    const name = folder ?? file;
    const group = groups.get(name) ?? { name, files: [] };
    group.files.push(file);
    groups.set(name, group);
  }
  const named = (names: readonly string[]) => names.flatMap((name) => groups.get(name) ?? []);
  const [computing, waiting] = [named(COMPUTING), named(WAITING)];
  return spread(computing, [...new Set([...waiting, ...groups.values()]).difference(new Set(computing))]);
}

function testFiles(folder: string, ignored: readonly string[]): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return ignored.includes(path) ? [] : testFiles(path, ignored);
    return name.endsWith("_test.ts") ? [path] : [];
  });
}

/** All of both, in their order, the few at even distances among the many: what computes beside what waits. */
function spread<T>(few: readonly T[], many: readonly T[]): T[] {
  const distance = Math.ceil(many.length / few.length);
  return few.flatMap((one, index) => [one, ...many.slice(index * distance, (index + 1) * distance)]);
}

/**
 * Writes a module into `folder` that runs the group, and that leaves a file there when it has ended. Deno keeps the order of modules
 * that are outside of the workspace, not of others.
 */
export function writeModule({ files }: Group, folder: string, index: number): string {
  const path = `${folder}/${index}_test.ts`;
  const imports = files.map((file) => `import "${new URL(`../${file}`, import.meta.url)}";\n`).join("");
  const end = `addEventListener("unload", () => Deno.writeTextFileSync(${
    JSON.stringify(`${folder}/${index}${DONE}`)
  }, ""));\n`;
  Deno.writeTextFileSync(path, imports + end);
  return path;
}

const DONE = ".done";

/** The groups whose modules in `folder` have ended, by their indexes. */
export function doneIn(folder: string): number[] {
  return [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(DONE)).map(({ name }) =>
    Number.parseInt(name)
  );
}
