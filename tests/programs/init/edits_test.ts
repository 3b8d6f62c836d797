/** The command `init` with the edits of the console's forms: what it plans, writes and takes back. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deno } from "../../../src/platform/deno.ts";
import type { Edit } from "../../../src/context/console.ts";
import type { Answers, CheckedSource, Plan, Source, Written } from "../../../src/programs/init/answers.ts";
import { init } from "../../../src/programs/init/mod.ts";
import { withFolder } from "../../support/process.ts";
import { load } from "./facts.ts";
import { fakeOllama } from "./servers.ts";

const FIRST = `\ufeff// Ours
{
  "extends": "default", // as it comes
  "upstreams": {
    /* A box under the table */
    "box": { "driver": "chat", "baseUrl": "http://10.0.0.9:8000/v1", "headers": { "x-key": "a-secret-4711" }, },
  },
  "lanes": { "oss": { "models": { "fast": { "task": "chat", "targets": [{ "upstream": "box", "model": "m" }] } } } }
}\r\n`;
const EDITS: Edit[] = [{ at: ["upstreams", "box", "concurrency"], value: { running: 2 } }];

interface Desk {
  file: string;
  step<T>(name: string, input: Partial<Answers> | Source, ...args: string[]): Promise<T>;
}

async function withDesk(use: (desk: Desk) => Promise<void>, env: Record<string, string> = {}): Promise<void> {
  await withFolder(async (folder) => {
    const file = `${folder}/gateway.json`;
    await Deno.writeTextFile(file, FIRST, { mode: 0o600 });
    await use({
      file,
      async step(name, input, ...args) {
        const lines: string[] = [];
        const print = (text: string) => void lines.push(text);
        const platform = { ...deno, os: "linux", env: (name: string) => env[name], isTerminal: () => false };
        const streams = { print, say: print, log() {}, warn() {}, flush: () => Promise.resolve() };
        const whole = "kind" in input ? input : { sources: [], models: [], ...input };
        const world = { ask: () => undefined, readAll: () => JSON.stringify(whole), addresses: [] };
        await init([name, "--json", ...args], file, { platform, plugins: {}, streams }, world);
        return JSON.parse(lines.join("\n"));
      },
    });
  });
}

async function written({ step }: Desk, answers: Partial<Answers>): Promise<Written> {
  const plan = await step<Plan>("plan", answers);
  assert(plan.ok, JSON.stringify(plan));
  return await step<Written>("write", answers, `--version=${plan.version}`);
}

Deno.test("init: edits are planned without secrets, written, and taken back to the first bytes", () =>
  withDesk(async (desk) => {
    const { file, step } = desk;
    const plan = await step<Plan>("plan", { edits: EDITS });
    assert(plan.ok);
    assertStringIncludes(plan.files[0]!.text, '"concurrency": { "running": 2 }');
    assert(!JSON.stringify(plan).includes("a-secret-4711"));
    const done = await written(desk, { edits: EDITS });
    assert(done.ok && done.stamp !== undefined);
    const after = await Deno.readTextFile(file);
    assertEquals(load(after).upstreams.box!.concurrency?.running, 2);
    for (const comment of ["// Ours", "// as it comes", "/* A box under the table */"]) {
      assertStringIncludes(after, comment);
    }
    const undone = await written(desk, { undo: done.stamp });
    assert(undone.ok && undone.stamp !== undefined);
    assertEquals(await Deno.readFile(file), new TextEncoder().encode(FIRST));
    // What was taken back can be done again.
    assert((await written(desk, { undo: undone.stamp })).ok);
    assertEquals(await Deno.readTextFile(file), after);
    for (const path of [file, `${file}.laneway-former`]) assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);
  }));

Deno.test("init: a change is not taken back over a later one", () =>
  withDesk(async (desk) => {
    const done = await written(desk, { edits: EDITS });
    assert(done.ok);
    const later = (await Deno.readTextFile(desk.file)).replace("// Ours", "// Theirs");
    await Deno.writeTextFile(desk.file, later);
    const plan = await desk.step<Plan>("plan", { undo: done.stamp });
    assert(!plan.ok);
    assertStringIncludes(plan.problems[0]!.message, "Somebody has changed the file since");
    assertEquals(await Deno.readTextFile(desk.file), later);
  }));

Deno.test("init: edits that break the configuration are refused with their place", () =>
  withDesk(async ({ step }) => {
    const problemsOf = async (edits: Edit[]) => {
      const plan = await step<Plan>("plan", { edits });
      assert(!plan.ok);
      return plan.problems;
    };
    assertEquals((await problemsOf([{ at: ["upstreams", "box"] }])).map(({ path }) => path), [
      "lanes.oss.models.fast.targets[0].upstream",
    ]);
    assertEquals(
      (await problemsOf([{ at: ["upstreams", "box", "baseUrl"], value: "box" }]))[0]!.path,
      "upstreams.box.baseUrl",
    );
    const hidden = { at: ["upstreams", "box", "headers"], value: { "x-key": "***1***" } };
    assertStringIncludes((await problemsOf([hidden]))[0]!.message, "stands for a hidden value");
  }));

Deno.test("init check: an upstream that is not written yet is asked as it would be", async () => {
  const [server, locked] = [fakeOllama(), fakeOllama({ key: "k-4711" })];
  await withDesk(async ({ step }) => {
    const check = (at: string, value: string) => {
      const edits: Edit[] = [{ at: ["upstreams", "new"], value: { driver: "chat", [at]: value } }];
      return step<CheckedSource>("check", { kind: "upstream", name: "new", edits });
    };
    const found = await check("baseUrl", `${server.url}/v1`);
    assert(found.ok, JSON.stringify(found));
    assert(found.models.length > 0);
    const lost = await check("baseUrl", `${locked.url}/v1`);
    assert(!lost.ok);
    assertStringIncludes(lost.reason, "It requires a secret (status 401)");
    const odd = await check("baseUrl", "gpu box");
    assert(!odd.ok);
    assertStringIncludes(odd.reason, "Expected an http or https address");
  }).finally(() => Promise.all([server.stop(), locked.stop()]));
});
