// deno-lint-ignore-file no-console -- an experiment prints its numbers
/**
 * Claim: the process that launches Laneway costs little more than any process of Deno does, and a thread in its place would save two
 * thirds of that. `deno run --allow-all`, on Linux, prints for each shape of a start the least time to the first answer, and the
 * memory of all its processes after a while: resident, the share of it (pages in common are divided), and what no other process has.
 */
import { flagsOf, permissionsOf } from "../../../src/config/permissions.ts";
import { isThere } from "../../../src/config/is_there.ts";
import { lanewayConfig } from "../gateways.ts";
import { treeOf } from "../process_tree.ts";
import { freePort, type Program, startProgram } from "../program.ts";
import { sleep } from "../traffic.ts";

const [ROUNDS, IDLE_MS] = [5, 7_000];
const root = new URL("../../../", import.meta.url);
const main = new URL("src/main.ts", root);
const folder = await Deno.makeTempDir();
const config = `${folder}/gateway.json`;
await Deno.writeTextFile(config, JSON.stringify(lanewayConfig("http://127.0.0.1:9", folder)));
const quiet = { cwd: root.pathname, env: { MALLOC_ARENA_MAX: "2", OTEL_DENO: "false", LANEWAY_CONFIG: config } };

function permissions(port: number) {
  const env = (name: string) => Deno.env.get(name);
  const code = new URL("src/", root).pathname;
  const place = { file: config, listen: { port: String(port) }, env, os: "linux", code, isThere };
  return permissionsOf({ ...place, config: JSON.parse(Deno.readTextFileSync(config)) });
}

function deno(args: string[], env: Record<string, string> = {}): Program {
  return { ...quiet, command: Deno.execPath(), args, env: { ...quiet.env, ...env } };
}

const UNSTABLE = ["--unstable-kv", "--unstable-no-legacy-abort"];
const gateway = (
  port: number,
) => ["run", ...UNSTABLE, ...flagsOf(permissions(port)), main.pathname, "--port", `${port}`];
const ENGINE_OPTION = flagsOf(permissions(0)).at(-1)!;

await Deno.writeTextFile(`${folder}/thread.ts`, `(await import("${main}")).run();\n`);
await Deno.writeTextFile(
  `${folder}/with_thread.ts`,
  `const permissions = JSON.parse(Deno.env.get("PERMISSIONS")!);
  new Worker(import.meta.resolve("./thread.ts"), { type: "module", deno: { permissions } });\n`,
);
await Deno.writeTextFile(
  `${folder}/hands_over.ts`,
  `const text = (one: string) => new TextEncoder().encode(one + "\\0");
  const kept: unknown[] = [];
  const vector = (all: string[]) => {
    const texts = all.map(text);
    kept.push(texts);
    return new BigUint64Array([...texts.map((one) => Deno.UnsafePointer.value(Deno.UnsafePointer.of(one))), 0n]);
  };
  const { symbols } = Deno.dlopen("libc.so.6", { execv: { parameters: ["buffer", "buffer"], result: "i32" } });
  symbols.execv(text(Deno.execPath()), vector([Deno.execPath(), ...JSON.parse(Deno.env.get("ARGUMENTS")!)]));\n`,
);

const SHAPES: Record<string, (port: number) => Program> = {
  "npx, deno task -q laneway": (port) => ({
    ...quiet,
    command: "npx",
    args: ["-y", `deno@${Deno.version.deno}`, "task", "-q", "laneway", "--port", `${port}`],
  }),
  "deno task start": (port) => deno(["task", "start", "--port", `${port}`]),
  "deno task -q laneway": (port) => deno(["task", "-q", "laneway", "--port", `${port}`]),
  "a launcher that ends (execv)": (port) =>
    deno(["run", "--allow-all", ENGINE_OPTION, `${folder}/hands_over.ts`], {
      ARGUMENTS: JSON.stringify(gateway(port)),
    }),
  "the gateway in a thread": (port) =>
    deno(
      [
        ...["run", "--allow-all", ...UNSTABLE, "--unstable-worker-options", ENGINE_OPTION],
        ...["--config", new URL("deno.json", root).pathname, `${folder}/with_thread.ts`, "--port", `${port}`],
      ],
      { PERMISSIONS: JSON.stringify({ ...permissions(port), sys: ["systemMemoryInfo"], import: false }) },
    ),
  "the gateway alone": (port) => deno(gateway(port)),
};

const FIELDS = ["Rss", "Pss", "Private_Clean", "Private_Dirty"] as const;

/** In MB: resident, shared out, private. */
function memoryOf(pid: number): number[] {
  const sums = treeOf(pid).map((each) => {
    const text = readOr(`/proc/${each}/smaps_rollup`);
    return FIELDS.map((field) => Number(new RegExp(`^${field}: +(\\d+)`, "m").exec(text)?.[1] ?? 0) / 1024);
  }).reduce((sum, one) => sum.map((value, at) => value + one[at]!));
  return [sums[0]!, sums[1]!, sums[2]! + sums[3]!];
}

function readOr(file: string): string {
  try {
    return Deno.readTextFileSync(file);
  } catch {
    return ""; // it has ended meanwhile
  }
}

const request = (origin: string) =>
  new TextEncoder().encode(`GET /healthz HTTP/1.1\r\nhost: ${new URL(origin).host}\r\n\r\n`);
const found = new Map<string, { ms: number; memory: number[]; processes: number }[]>();
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, program] of Object.entries(SHAPES)) {
    const port = freePort();
    const started = await startProgram(program(port), port, request);
    await sleep(IDLE_MS);
    const one = { ms: started.startMs, memory: memoryOf(started.pid), processes: treeOf(started.pid).length };
    found.set(name, [...found.get(name) ?? [], one]);
    await started.stop();
  }
}
const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;
console.log(`${"shape".padEnd(32)}    ms  processes  resident  shared out  private`);
for (const [name, runs] of found) {
  const [resident, shared, own] = [0, 1, 2].map((at) => median(runs.map(({ memory }) => memory[at]!)).toFixed(0));
  const ms = Math.min(...runs.map(({ ms }) => ms)).toFixed(0);
  const processes = String(median(runs.map(({ processes }) => processes)));
  console.log(
    `${name.padEnd(32)} ${ms.padStart(5)}  ${processes.padStart(9)}  ${resident!.padStart(8)}  ${
      shared!.padStart(10)
    }  ${own!.padStart(7)}`,
  );
}
await Deno.remove(folder, { recursive: true });
Deno.exit(0);
