/** The command `init` by JSON and by options: what it finds, plans and writes. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { deno } from "../../../src/platform/deno.ts";
import type { Answers, Found, Plan, Written } from "../../../src/programs/init/answers.ts";
import { reasonOf } from "../../../src/programs/init/files.ts";
import { init } from "../../../src/programs/init/mod.ts";
import { UsageError } from "../../../src/programs/program.ts";
import { withFolder } from "../../support/process.ts";
import { load } from "./facts.ts";
import { fakeOllama } from "./servers.ts";

const SECRET = "a-secret-of-this-test-4711";

interface RunOptions {
  input?: unknown;
  env?: Record<string, string>;
  answers?: string[];
  addresses?: readonly string[];
}

interface Desk {
  folder: string;
  /** Runs the command. */
  run(args: string[], options?: RunOptions): Promise<{ code: number; text: string }>;
  /** Runs a step, and parses its result. */
  step<T>(name: string, options?: RunOptions & { args?: string[] }): Promise<T & { code: number }>;
  read(name: string): string;
}

async function withDesk(use: (desk: Desk) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const run: Desk["run"] = async (args, { input = "", env = {}, answers = [], addresses = [] } = {}) => {
      const lines: string[] = [];
      const print = (text: string) => void lines.push(text);
      const variables: Record<string, string> = { HOME: folder, PATH: "", ...env };
      const platform = { ...deno, os: "linux", env: (name: string) => variables[name], isTerminal: () => false };
      const streams = { print, say: print, log() {}, warn() {}, flush: () => Promise.resolve() };
      const readAll = () => typeof input === "string" ? input : JSON.stringify(input);
      const world = { ask: () => answers.shift(), readAll, addresses };
      const path = `${folder}/gateway.json`;
      const code = await init(args, path, { platform, plugins: {}, streams }, world);
      return { code, text: lines.join("\n") };
    };
    await use({
      folder,
      run,
      async step(name, { args = [], ...options } = {}) {
        const { code, text } = await run([name, "--json", ...args], options);
        return { ...JSON.parse(text), code };
      },
      read: (name) => Deno.readTextFileSync(`${folder}/${name}`),
    });
  });
}

const ANSWERS: Answers = {
  sources: [{ kind: "provider", provider: "groq", secret: SECRET }],
  models: [{ name: "fast", upstream: "groq", model: "openai/gpt-oss-20b" }],
  default: "fast",
};

async function written({ step }: Desk, input: Answers = ANSWERS): Promise<Written & { code: number }> {
  const plan = await step<Plan>("plan", { input });
  assert(plan.ok, JSON.stringify(plan));
  return await step<Written>("write", { input, args: ["--version", plan.version] });
}

const modeOf = (path: string) => Deno.statSync(path).mode! & 0o777;
const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

Deno.test("init find: servers of this machine with their kinds, and clients", async () => {
  const [open, locked] = [fakeOllama(), fakeOllama({ key: SECRET })];
  const page = fakeOllama({ instead: () => new Response("<!doctype html>It works") });
  const own = fakeOllama({
    instead: ({ url }) =>
      url.endsWith("/openapi.json")
        ? Response.json({ openapi: "3.1.0", info: { title: "Laneway", version: "0.1.0" } })
        : undefined,
  });
  const hung = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  try {
    await withDesk(async ({ step }) => {
      const urls = [open, locked, page, own].map(({ url }) => url);
      const addresses = [...urls, `http://127.0.0.1:${hung.addr.port}`, "http://127.0.0.1:1"].map((url) => `${url}/v1`);
      const { servers, clients, code } = await step<Found>("find", { addresses });
      assertEquals(code, 0);
      assertEquals(servers, [
        { baseUrl: addresses[0]!, title: "Ollama 0.14.1", models: ["qwen3-coder:30b"], needsSecret: false },
        { baseUrl: addresses[1]!, title: "A server", models: [], needsSecret: true },
      ]);
      // A gateway with keys would not say what it is, so it is not asked at all.
      const without = await step<Found>("find", { addresses, args: ["--except", urls[1]!] });
      assertEquals(without.servers, [servers[0]]);
      const claude = clients.find(({ id }) => id === "claude-code");
      assertEquals([claude?.isInstalled, claude?.isConnected, claude?.title], [false, false, "Claude Code"]);
    });
  } finally {
    hung.close();
    for (const server of [open, locked, page, own]) await server.stop();
  }
});

Deno.test("init: by options it says which provider has no model for clients, and the next commands", () =>
  withDesk(async ({ run }) => {
    const args = ["--provider", "groq", "--secret-env", "GROQ_API_KEY", "--no-check", "--yes"];
    const bare = await run(args);
    assertEquals(bare.code, 0, bare.text);
    assertStringIncludes(bare.text, "Clients can use no model of groq until you add one");
    assertMatch(bare.text, /Connect a client: +\S/);
    const whole = await run([...args, "--model", "fast=groq/openai/gpt-oss-20b"]);
    assertEquals(whole.code, 0, whole.text);
    assert(!whole.text.includes("until you add one"), whole.text);
  }));

Deno.test("init plan: shows each file and no secret, and writes nothing", () =>
  withDesk(async ({ folder, run, step }) => {
    const { text, code } = await run(["plan", "--json"], { input: ANSWERS });
    assertEquals(code, 0);
    assert(!text.includes(SECRET), text);
    const plan = await step<Plan>("plan", { input: ANSWERS });
    assert(plan.ok);
    assertEquals(plan.files.map(({ path, isSecret, before }) => [path, isSecret, before]), [
      [`${folder}/gateway.groq.secret`, true, undefined],
      [`${folder}/gateway.json`, false, undefined],
    ]);
    assertEquals(plan.files[0]!.text, "…\n");
    assertEquals(namesIn(folder), []);
  }));

Deno.test("init write: a secret is in a file for its owner alone, and the configuration names the file", () =>
  withDesk(async (desk) => {
    const { folder, read, step } = desk;
    const result = await written(desk);
    const paths = [`${folder}/gateway.groq.secret`, `${folder}/gateway.json`];
    assertEquals(result, { ok: true, files: paths, code: 0 });
    assertEquals(paths.map(modeOf), [0o600, 0o644]);
    assertEquals(read("gateway.groq.secret"), `${SECRET}\n`);
    assert(!read("gateway.json").includes(SECRET));
    assertEquals(load(read("gateway.json")).upstreams.groq!.secret, { file: paths[0]! });
    assertEquals(namesIn(folder), ["gateway.groq.secret", "gateway.json"]);
    const again = await step<Plan>("plan", { input: ANSWERS });
    assertEquals(again.ok && again.files, []);
    assertEquals(await written(desk), { ok: true, files: [], code: 0 });
    const rotated = { ...ANSWERS, sources: [{ ...ANSWERS.sources[0]!, secret: "another-secret-8" }] } as Answers;
    assertEquals(await written(desk, rotated), { ok: true, files: [paths[0]!], code: 0 });
    assertEquals([read("gateway.groq.secret"), modeOf(paths[0]!)], ["another-secret-8\n", 0o600]);
  }));

Deno.test("init write: a file that is there keeps its comments, its mode and everything else", () =>
  withDesk(async (desk) => {
    const { folder, read } = desk;
    const mine = `{
  // mine
  "upstreams": {
    "local": { "driver": "chat", "baseUrl": "http://127.0.0.1:9/v1" }, // the old one
  },
  "lanes": { "team": { "upstreams": { "chat": "local" } } } // for the team
}
`;
    await Deno.writeTextFile(`${folder}/gateway.json`, mine, { mode: 0o640 });
    assert((await written(desk)).ok);
    assertEquals(modeOf(`${folder}/gateway.json`), 0o640);
    assertEquals(
      read("gateway.json"),
      `{
  // mine
  "upstreams": {
    "local": { "driver": "chat", "baseUrl": "http://127.0.0.1:9/v1" }, // the old one
    // Groq: keys are created at https://console.groq.com/keys
    "groq": {
      "provider": "groq",
      "secret": { "file": "${folder}/gateway.groq.secret" }
    },
  },
  "lanes": {
    "team": { "upstreams": { "chat": "local" } },
    "oss": {
      "models": {
        "fast": {
          "task": "chat",
          "targets": [{ "upstream": "groq", "model": "openai/gpt-oss-20b" }]
        },
        // Every name that is not listed
        "*": {
          "task": "chat",
          "targets": [{ "upstream": "groq", "model": "openai/gpt-oss-20b" }]
        }
      }
    }
  } // for the team
}
`,
    );
  }));

Deno.test("init write: of two writers the second one is refused, whatever has changed", () =>
  withDesk(async (desk) => {
    const { folder, step, read } = desk;
    const { version } = await step<{ version: string }>("plan", { input: ANSWERS });
    const other: Answers = { sources: [{ kind: "hub", secret: "hf_other_4711" }], models: [] };
    assert((await written(desk, other)).ok);
    const before = read("gateway.json");
    const refused = await step<Written>("write", { input: ANSWERS, args: ["--version", version] });
    assert(!refused.ok);
    assertMatch(refused.reason, /changed in the meantime/);
    assertEquals(refused.isOutdated, true);
    assertEquals([refused.code, read("gateway.json")], [1, before]);
    assertEquals(namesIn(folder), ["gateway.hub.secret", "gateway.json"]);
    const plan = await step<{ version: string }>("plan", { input: ANSWERS });
    await Deno.writeTextFile(`${folder}/gateway.groq.secret`, "somebody's\n");
    const late = await step<Written>("write", { input: ANSWERS, args: ["--version", plan.version] });
    assertEquals([late.ok, read("gateway.groq.secret")], [false, "somebody's\n"]);
    await Deno.writeTextFile(`${folder}/gateway.json.laneway-new`, "");
    const now = await step<{ version: string }>("plan", { input: ANSWERS });
    const locked = await step<Written>("write", { input: ANSWERS, args: ["--version", now.version] });
    assertMatch(locked.ok ? "" : locked.reason, /Another command is writing/);
    assertEquals(read("gateway.json"), before);
  }));

Deno.test("init write: writers at the same time leave one whole state", () =>
  withDesk(async ({ step, folder, read }) => {
    const names = ["groq", "openai", "mistral", "xai"];
    const all = names.map((provider): Answers => ({
      sources: [{ kind: "provider", provider, secret: `${SECRET}-${provider}` }],
      models: [],
    }));
    const plans = await Promise.all(all.map((input) => step<{ version: string }>("plan", { input })));
    const results = await Promise.all(
      all.map((input, at) => step<Written>("write", { input, args: ["--version", plans[at]!.version] })),
    );
    assertEquals(results.filter(({ ok }) => ok).length, 1, JSON.stringify(results));
    const [winner] = names.filter((_, at) => results[at]!.ok);
    assertEquals(namesIn(folder), [`gateway.${winner}.secret`, "gateway.json"]);
    assertEquals(Object.keys(load(read("gateway.json")).upstreams).includes(winner!), true);
  }));

Deno.test("init plan: a file that cannot be written is told before anything is entered in vain", () =>
  withDesk(async (desk) => {
    const { folder, step } = desk;
    const problemAt = async (path: string) => {
      const plan = await step<Plan>("plan", { input: ANSWERS, args: ["--config", path] });
      assert(!plan.ok, JSON.stringify(plan));
      assertEquals(plan.code, 1);
      return plan.problems.map(({ message }) => message).join("\n");
    };
    await Deno.writeTextFile(`${folder}/fixed.json`, '{ "extends": "default" }', { mode: 0o444 });
    assertMatch(await problemAt(`${folder}/fixed.json`), /fixed\.json is read-only: allow writing with chmod u\+w/);
    await Deno.symlink(`${folder}/elsewhere.json`, `${folder}/link.json`);
    assertMatch(await problemAt(`${folder}/link.json`), /link\.json is a link to .*elsewhere\.json: name that file/);
    assertMatch(await problemAt(`${folder}/no/such/gateway.json`), /There is no folder .*\/no\/such/);
    assertMatch(await problemAt(`${folder}/fixed.json/gateway.json`), /fixed\.json is no folder/);
    await Deno.mkdir(`${folder}/gateway.json`);
    assertMatch(await problemAt(`${folder}/gateway.json`), /is a folder|is no file/);
    await Deno.writeFile(`${folder}/latin.json`, new Uint8Array([123, 0xff, 125]));
    assertMatch(await problemAt(`${folder}/latin.json`), /is not in UTF-8/);
  }));

Deno.test("init: errors of the file system are explained", () => {
  const explain = (code: string) => reasonOf(Object.assign(new Error("os error"), { code }), "/srv/gateway.json");
  assertMatch(explain("EACCES"), /no permission to write in \/srv: .*--config/);
  assertMatch(explain("EROFS"), /\/srv is on a read-only file system/);
  assertMatch(explain("ENOSPC"), /The disk of \/srv is full/);
  assertMatch(explain("EIO"), /Cannot use \/srv\/gateway\.json: os error/);
});

Deno.test("init plan: what cannot be used is told with its place among the answers", () =>
  withDesk(async ({ folder, step }) => {
    const problemsOf = async (input: Answers) => {
      const plan = await step<Plan>("plan", { input });
      return plan.ok ? [] : plan.problems.map(({ path, message }) => `${path}: ${message}`);
    };
    const provider = { kind: "provider" as const, provider: "groq" };
    assertEquals(
      await problemsOf({
        sources: [provider, { ...provider, provider: "gorq" }, { ...provider, secret: "two words" }, {
          ...provider,
          name: "Not a name",
        }],
        models: [{ name: "m", upstream: "grok", model: "x" }, { name: " ", upstream: "groq", model: "x" }],
        default: "fsat",
      }).then((all) => all.map((one) => one.split(/[;:]? (?:known|did)/)[0]!.slice(0, 70))),
      [
        'sources.1.provider: Cannot find provider "gorq"',
        "sources.2.secret: Expected a key of one line without spaces",
        'sources.3.name: "Not a name" cannot be the name of an upstream: expect',
        'models.0.upstream: Cannot find upstream "grok"',
        "models.1.name: Expected the name of a model",
        'default: Cannot find model "fsat" in the lane "oss"',
      ],
    );
    await Deno.writeTextFile(`${folder}/gateway.json`, '{ "extends": "default", "upstreem": {} }');
    assertMatch((await problemsOf(ANSWERS))[0]!, /^upstreem: The file that is there is not valid: Unknown setting/);
    await Deno.writeTextFile(`${folder}/gateway.json`, '{ "extends": "default", }}');
    assertMatch((await problemsOf(ANSWERS))[0]!, /^: The file that is there is not valid: line 1/);
  }));

Deno.test("init: standard input of another form is refused without being repeated", () =>
  withDesk(async ({ run }) => {
    for (
      const [step, input] of [["plan", `{"sources":"${SECRET}"}`], ["check", `{"kind":"${SECRET}"}`], [
        "check",
        SECRET,
      ]] as const
    ) {
      const error = await assertRejects(() => run([step, "--json"], { input }), UsageError);
      assertMatch(error.message, /^Standard input/);
      assert(!error.message.includes(SECRET), error.message);
    }
  }));

Deno.test("init: by options a server is tested, shown and written only when agreed to", async () => {
  const server = fakeOllama({ models: ["small:8b"] });
  const { port } = new URL(server.url);
  try {
    await withDesk(async ({ folder, run, read }) => {
      const args = ["--server", server.url, "--model", `small=ollama-${port}/small:8b`, "--default", "small"];
      const shown = await run([...args, "--print"]);
      assertEquals([shown.code, namesIn(folder)], [0, []]);
      assertStringIncludes(shown.text, `+     "ollama-${port}": { "provider": "ollama"`);
      const asked = await run(args, { answers: ["n"] });
      assertEquals([asked.code, namesIn(folder)], [2, []]);
      const agreed = await run([...args, "--yes"]);
      assertEquals(agreed.code, 0, agreed.text);
      assertEquals(load(read("gateway.json")).upstreams[`ollama-${port}`]!.baseUrl, `${server.url}/v1`);
      const nothing = await run([...args, "--yes"]);
      assertEquals([nothing.code, nothing.text.includes("There is nothing to change")], [0, true]);
    });
  } finally {
    await server.stop();
  }
  await withDesk(async ({ folder, run }) => {
    const down = await run(["--server", server.url, "--yes"]);
    assertEquals([down.code, namesIn(folder)], [1, []]);
    assertMatch(down.text, /Nothing is listening at 127\.0\.0\.1:\d+\. Start the server/);
    const untested = await run(["--server", `${server.url}/v1`, "--yes", "--no-check", "--json"]);
    assertEquals(JSON.parse(untested.text), { ok: true, files: [`${folder}/gateway.json`] });
  });
});

Deno.test("init: a key comes from standard input or a variable, never from an argument", async () => {
  const server = fakeOllama({ key: SECRET });
  try {
    await withDesk(async ({ run, read, folder }) => {
      const args = ["--server", `${server.url}/v1`, "--name", "mine", "--yes"];
      const literal = await assertRejects(() => run([...args, "--secret", SECRET]), UsageError);
      assert(!literal.message.includes(SECRET));
      const typed = await run([...args, "--secret", "-"], { input: `${SECRET}\n` });
      assertEquals(typed.code, 0, typed.text);
      assert(!typed.text.includes(SECRET), typed.text);
      assertEquals(read("gateway.mine.secret"), `${SECRET}\n`);
      const named = await run([...args.with(3, "other"), "--secret-env", "MY_KEY"], { env: { MY_KEY: SECRET } });
      assertEquals(named.code, 0, named.text);
      const { upstreams } = load(read("gateway.json"));
      assertEquals([upstreams.mine!.secret, upstreams.other!.secret], [
        { file: `${folder}/gateway.mine.secret` },
        { env: "MY_KEY" },
      ]);
      assert(!read("gateway.json").includes(SECRET));
    });
  } finally {
    await server.stop();
  }
});

Deno.test("init: options that cannot go together are refused", () =>
  withDesk(async ({ run }) => {
    for (
      const [args, message] of [
        [["fnid"], "expected find, check, plan or write"],
        [["write", "--json"], "--version"],
        [["--hub", "--provider", "groq", "--secret-env", "A"], "belong to one source"],
        [["--sandbox", "--name", "x"], "belong to one source"],
        [["--hub", "--name", "x"], "have names already"],
        [["--server", "http://a.test", "--base-url", "http://b.test"], "--base-url needs --provider"],
        [["--provider", "groq", "--secret", "-", "--secret-env", "A"], "not both"],
        [["--provider", "groq", "--model", "fast"], "expected name=upstream/model"],
        [["--provder", "groq"], "did you mean --provider?"],
      ] as const
    ) {
      const error = await assertRejects(() => run([...args]), UsageError);
      assertStringIncludes(error.message, message);
    }
  }));
