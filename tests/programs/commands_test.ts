/** The table of commands: help, the words that are understood, and the results as JSON. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { checkedWires } from "../../plugins/programs/conformance/mod.ts";
import { dispatch } from "../../src/cli/dispatch.ts";
import { deno } from "../../src/platform/deno.ts";
import type { Command, CommandOption } from "../../src/programs/commands/command.ts";
import { CHECK, commands } from "../../src/programs/commands/mod.ts";
import { type Program, UsageError } from "../../src/programs/program.ts";
import { gatewayArgs } from "../support/gateway_process.ts";
import { withFolder } from "../support/process.ts";
import { streamsTo } from "../support/streams.ts";

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command line in this process; `serve` gets what a start of the gateway would. */
async function run(args: string[], serve = (..._: unknown[]) => Promise.resolve(0)): Promise<Ran> {
  const ran = { code: 0, stdout: "", stderr: "" };
  const streams = streamsTo((text) => ran.stdout += `${text}\n`, (text) => ran.stderr += `${text}\n`);
  const program: Program = { platform: { ...deno, args, isTerminal: () => false }, plugins: {}, streams };
  try {
    const code = await dispatch(program, serve);
    return { ...ran, code };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { ...ran, code: 2, stderr: error.message };
  }
}

/** Runs a command line as a process. */
async function start(args: string[], cwd: string): Promise<Ran> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: gatewayArgs(args, ["--allow-write"]),
    cwd,
    env: { LANEWAY_CONFIG: "", HF_TOKEN: "", XDG_DATA_HOME: cwd, LOCALAPPDATA: cwd, NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

for (const row of commands as readonly Command[]) {
  Deno.test(`commands: "${row.name} --help" has its options and two examples, and no line is too long`, async () => {
    const [own, before, asked] = await Promise.all([
      run([...row.name.split(" "), "--help"]),
      run(["--help", ...row.name.split(" ")]),
      run(["help", ...row.name.split(" ")]),
    ]);
    assertEquals(own.stderr, "");
    assertMatch(own.stdout, new RegExp(`^Usage: \\S.* ${row.name}( |$)`, "m"));
    for (const name of Object.keys(row.options)) assertStringIncludes(own.stdout, `--${name}`);
    assertEquals([before.stdout, asked.stdout], [own.stdout, own.stdout]);
    assertEquals(row.examples.length, 2);
    for (const example of row.examples) assert(example === row.name || example.startsWith(`${row.name} `), example);
    for (const line of own.stdout.split("\n")) assert(line.length <= 88, line);
  });
}

Deno.test("commands: the general help is short, and lists every command once", async () => {
  const { stdout } = await run(["--help"]);
  const lines = stdout.trimEnd().split("\n");
  assert(lines.length <= 50, `${lines.length} lines`);
  for (const { name } of commands.filter((row) => "summary" in row)) {
    assertEquals(lines.filter((line) => line.startsWith(`  ${name} `)).length, 1, name);
  }
});

Deno.test("commands: the wires that check completes are the ones that it knows", () => {
  const { words }: CommandOption = CHECK.options.wire;
  assertEquals(words, checkedWires.map(({ name }) => name));
});

for (
  const [args, complaint] of [
    [["validte"], 'Unknown command "validte"; did you mean "validate"?'],
    [["health", "--jsn"], "Unknown option '--jsn'; did you mean --json?"],
    [["permissions", "--prt", "1"], "Unknown option '--prt'; did you mean --port?"],
    [["permissions", "--port", "x"], 'Cannot use port "x": expected a number from 0 to 65535'],
    [["--prt", "1", "keys"], "Unknown option '--prt'; did you mean --port?"],
    [["usage", "--config"], "Option '--config <value>' argument missing"],
    [["fetcher", "--config", "x", "--prot"], "Unknown option '--prot'; did you mean --port?"],
    [["completion", "bsh"], 'Unknown shell "bsh"; did you mean "bash"?'],
    [["--json"], "The gateway itself has no option --json"],
  ] as const
) {
  Deno.test(`commands: "${args.join(" ")}" is a mistake that says what was meant`, async () => {
    assertEquals(await run([...args]), { code: 2, stdout: "", stderr: complaint });
  });
}

Deno.test("commands: without one the gateway starts, by its options", async () => {
  const started: unknown[] = [];
  const serve = (...given: unknown[]) => Promise.resolve(Number(started.push(given)));
  await run(["--config=a.json", "--port", "1", "--workers", "2"], serve);
  assertEquals(started, [["a.json", { port: 1 }, 2]]);
});

Deno.test("commands: the configuration may be named before a command and after it; the later one counts", async () => {
  await withFolder(async (folder) => {
    for (const name of ["a", "b"]) {
      const config = JSON.stringify({
        upstreams: { s: { driver: "sandbox" } },
        lanes: { [name]: { upstreams: { chat: "s" } } },
      });
      await Deno.writeTextFile(`${folder}/${name}.json`, config);
    }
    const lanes = async (args: string[]) => JSON.parse((await start([...args, "--json"], folder)).stdout).lanes;
    assertEquals(
      await Promise.all([
        lanes(["--config", "a.json", "validate"]),
        lanes(["validate", "--config=b.json"]),
        lanes(["--config", "a.json", "validate", "--config", "b.json"]),
      ]),
      [["a"], ["b"], ["b"]],
    );
  });
});

Deno.test("commands: with --json, each prints one object that says whether it is well", async () => {
  await withFolder(async (folder) => {
    const config = {
      upstreams: { s: { driver: "sandbox" } },
      lanes: { oss: { models: { small: { task: "chat", targets: [{ upstream: "s", model: "sandbox" }] } } } },
      storedKeys: true,
      usage: {},
    };
    await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
    const json = async (...args: string[]) => {
      const { code, stdout, stderr } = await start([...args, "--json"], folder);
      return { code, stderr, ...JSON.parse(stdout) };
    };
    const well = { code: 0, stderr: "", ok: true };
    const { key, ...created } = await json("keys", "create", "anna", "--budget", "5/day");
    assertMatch(key, /^laneway_/);
    assertEquals(created, { ...well, name: "anna" });
    const rotated = await json("keys", "rotate", "anna");
    assertEquals([rotated.name, Date.parse(rotated.formerUntil) > Date.now()], ["anna", true]);
    const { keys, ...listed } = await json("keys", "list");
    assertEquals([listed, keys.length, keys[0].name, keys[0].budget], [well, 1, "anna", { dollars: 5, period: "day" }]);
    assert(!JSON.stringify(keys).includes("digest"));
    assertEquals(await json("keys", "revoke", "anna"), { ...well, name: "anna" });
    const lost = await json("keys", "revoke", "anna");
    assertEquals([lost.code, lost.ok, lost.reason.slice(0, 22)], [2, false, 'Cannot find key "anna"']);
    assertEquals(await json("usage"), { ...well, rows: [] });
    assertEquals(await json("catalog", "oss"), { ...well, lane: "oss", file: "models-oss.json", models: ["small"] });
    const { version, ...rest } = await json("version");
    assertEquals([rest, version], [well, JSON.parse(Deno.readTextFileSync("deno.json")).version]);
    const validated = await json("validate");
    assertEquals(validated, {
      ...well,
      source: '"gateway.json"',
      lanes: ["oss"],
      upstreams: ["s"],
      keys: [],
      unset: [],
    });
    const { permissions, options } = await json("permissions");
    assert(permissions.net.includes("127.0.0.1:8000") && options.some((one: string) => one.startsWith("--allow-net=")));
    const doctor = await json("doctor", "--quick");
    assertEquals([doctor.code, doctor.ok, doctor.errors], [0, true, 0]);
    const unready = await json("health", "--port", "1");
    assertEquals([unready.code, unready.ok, unready.url], [1, false, "http://127.0.0.1:1/readyz"]);
    await Deno.writeTextFile(`${folder}/gateway.json`, '{ "lanse": {} }');
    const refused = await json("validate");
    assertEquals([refused.code, refused.ok], [1, false]);
    assertEquals(refused.problems.map(({ path }: { path: string }) => path), ["lanse", "lanes"]);
  });
});
