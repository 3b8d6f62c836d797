import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ENGINE } from "../../src/config/permissions.ts";
import { COMPILE } from "../../src/cli/compile.ts";
import manifest from "../../deno.json" with { type: "json" };
import { type Launched, runLaunched, withFolder, withLaunched } from "../support/process.ts";
import { delay, until, within } from "../support/wait.ts";

const SMALL = { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] };
const CHAT = "/oss/v1/chat/completions";

function configOf(folder: string, changes: object = {}) {
  return {
    upstreams: { sandbox: { driver: "sandbox" } },
    lanes: { oss: { upstreams: { chat: "sandbox" } } },
    store: { path: `${folder}/data/store.sqlite3` },
    ...changes,
  };
}

async function write(folder: string, config: unknown): Promise<string> {
  const path = `${folder}/gateway.json`;
  await Deno.writeTextFile(path, typeof config === "string" ? config : JSON.stringify(config));
  return path;
}

/** A gateway in a folder of its own, with its configuration there. */
function withGateway(
  use: (gateway: Launched, folder: string) => Promise<void>,
  { changes = {}, env = {} }: { changes?: object; env?: Record<string, string> } = {},
): Promise<void> {
  return withFolder(async (folder) => {
    await write(folder, configOf(folder, changes));
    await withLaunched([], { cwd: folder, env }, (gateway) => use(gateway, folder));
  });
}

async function chat(url: string, key?: string): Promise<number> {
  const response = await fetch(url + CHAT, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ model: "sandbox", messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.body?.cancel();
  return response.status;
}

async function respond(url: string, body: object): Promise<{ status: number; id: string }> {
  const response = await fetch(`${url}/oss/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "sandbox", input: "Hello", ...body }),
  });
  const { id } = await response.json();
  return { status: response.status, id };
}

async function lanesOf(url: string): Promise<string> {
  return await (await fetch(url)).text();
}

Deno.test("launcher: a first start makes the folder of the store; SIGTERM passes on, and so does the exit code", async () => {
  await withGateway(async ({ url, kill, ended }, folder) => {
    const { status, id } = await respond(url, {});
    assertEquals([status, (await respond(url, { previous_response_id: id })).status], [200, 200]);
    assert((await Deno.stat(`${folder}/data/store.sqlite3`)).isFile);
    kill("SIGTERM");
    assertEquals(await within(ended), 0);
  });
});

Deno.test("launcher: what is wrong with the command line or the configuration is said by the gateway", async () => {
  await withFolder(async (folder) => {
    const options = { cwd: folder };
    const [port, hostname] = await Promise.all(
      [["--port", "http"], ["--hostname", "*"]].map((args) => runLaunched(args, options)),
    );
    assertEquals(port!.code, 2);
    assertStringIncludes(hostname!.stderr, "Cannot listen on");
    await write(folder, "{");
    const { code, stderr } = await runLaunched([], options);
    assertEquals(code, 1);
    assertStringIncludes(stderr, "line 1, column 2");
  });
});

Deno.test("launcher: messages name the command that the user typed", async () => {
  await withFolder(async (cwd) => {
    const typed = { "": "deno task -q laneway", exec: `npx -y deno@${Deno.version.deno} task -q laneway` };
    await Promise.all(
      Object.entries(typed).map(async ([npm_command, program]) => {
        const { stdout } = await runLaunched(["--help"], { cwd, env: { npm_command } });
        assertStringIncludes(stdout, `Usage: ${program} [options]`);
        const created = await runLaunched(["keys", "create", "--help"], { cwd, env: { npm_command } });
        assertStringIncludes(created.stdout, `Usage: ${program} keys create <name>`);
        const { stderr } = await runLaunched(["catalog"], { cwd, env: { npm_command } });
        assertStringIncludes(stderr, `: ${program} catalog <lane> [<file>]`);
      }),
    );
  });
});

Deno.test("launcher: the command catalog writes the file that it is given, and no other", async () => {
  await withFolder(async (folder) => {
    await write(folder, configOf(folder, { lanes: { oss: { models: { small: SMALL } } } }));
    const options = { cwd: folder };
    for (const [args, file] of [[["models.json"], "models.json"], [[], "models-oss.json"]] as const) {
      const { code, stderr } = await runLaunched(["--config", "gateway.json", "catalog", "oss", ...args], options);
      assertEquals([code, stderr.trim()], [0, `Models of lane "oss" written to ${file}: 1`]);
      const { models } = JSON.parse(await Deno.readTextFile(`${folder}/${file}`));
      assertEquals(models.map(({ slug }: { slug: string }) => slug), ["small"]);
      await Deno.remove(`${folder}/${file}`);
    }
    const unknown = await runLaunched(["catalog", "far"], options);
    assertEquals([unknown.code, unknown.stderr.trim()], [1, 'Cannot find lane "far": this gateway has "oss"']);
    assertEquals((await runLaunched(["catalog"], options)).code, 2);
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["gateway.json"]);
  });
});

Deno.test("tasks: nothing comes before what Laneway says where the documents' command is typed, and one short line elsewhere", async () => {
  const run = async (...args: string[]) => {
    const env = { NO_COLOR: "1", LANEWAY_CONFIG: "" };
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["task", ...args],
      cwd: new URL("../../", import.meta.url),
      env,
    })
      .output();
    return [new TextDecoder().decode(stderr), new TextDecoder().decode(stdout).trim()];
  };
  const { version } = manifest;
  assertEquals(await run("start", "--version"), ["Task start deno task -q laneway '--version'\n", version]);
  assertEquals(await run("-q", "start", "--version"), ["", version]);
  assertEquals(await run("-q", "laneway", "--version"), ["", version]);
});

Deno.test("tasks: what people run goes by the launcher, and what is compiled may start and fetch nothing", () => {
  const { start, laneway, dev, catalog, test } = manifest.tasks;
  // By the engine options of the gateway: V8 refuses what others have compiled of the modules that both load.
  const launched =
    `deno run ${ENGINE} --allow-read --allow-env --allow-run --allow-net=127.0.0.1:0 --no-prompt src/cli/launch.ts`;
  // OpenTelemetry is for the gateway alone: the launcher would wait for a collector that does not answer.
  const untraced = `LANEWAY_TELEMETRY=$OTEL_DENO OTEL_DENO=false ${launched}`;
  assertEquals(laneway, untraced);
  // Deno prints the text of the task that was typed. Those below it are quiet.
  const quiet = "deno task -q";
  assertEquals([start, dev, catalog], [`${quiet} laneway`, `${quiet} laneway --watch`, `${quiet} laneway catalog`]);
  assertEquals(test, `${quiet} tests`);
  const options = COMPILE.filter((word) => /^-/.test(word) && word !== "--include");
  const open = ["net", "env", "read", "write"].map((name) => `--allow-${name}`);
  // How much memory there is decides above what the gateway sheds.
  assertEquals(options, [ENGINE, ...open, "--allow-sys=systemMemoryInfo", "--deny-import", "--no-prompt"]);
});

Deno.test({
  name: "launcher: the gateway does not outlive it",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withGateway(async ({ kill, said, ended }) => {
      kill("SIGKILL");
      await said("SIGTERM: finishing");
      await within(ended); // Its stderr is the gateway's, too.
    });
  },
});

Deno.test("reload: options that a stage refuses are refused with its reason, and the gateway goes on", async () => {
  await withFolder(async (folder) => {
    const path = await write(folder, configOf(folder, { picky: { pattern: "a" } }));
    const cwd = new URL("../../", import.meta.url).pathname;
    const args = ["--main", "tests/cli/failing_stage.ts", "--config", path];
    await withLaunched(args, { cwd }, async ({ url, said, position }) => {
      const from = position();
      await write(folder, configOf(folder, { picky: { pattern: "(" } }));
      const text = (await said("Kept the running", from)).slice(from);
      assertStringIncludes(text, 'The stage "picky" cannot be created: Invalid regular expression');
      assertEquals(await chat(url), 200);
      const again = position();
      await write(folder, configOf(folder, { picky: { pattern: "b" } }));
      await said("Serving with the new configuration", again);
      assertEquals(await chat(url), 200);
    });
  });
});

Deno.test("reload: a changed file serves within 2 s, and what cannot be used is refused with its reason", async () => {
  await withGateway(async ({ url, said, position }, folder) => {
    const good = configOf(folder);
    const refusals: [unknown, string][] = [
      ["{", "line 1, column 2"],
      [{ ...good, listn: {} }, "listn: Unknown setting"],
      [
        { ...good, keys: [{ name: "a", secret: { env: "NOT_THERE" } }] },
        "New permissions need a restart: variable NOT_THERE",
      ],
      [
        { ...good, upstreams: { ...good.upstreams, far: { driver: "chat", baseUrl: "https://far.test/v1" } } },
        "host far.test:443",
      ],
      [{ ...good, listen: { hostname: "127.0.0.2" } }, "127.0.0.2 port 0 needs a restart"],
      [{ ...good, store: { kind: "memory" } }, "Another store needs a restart"],
    ];
    for (const [config, reason] of refusals) {
      const from = position();
      await write(folder, config);
      assertStringIncludes((await said("Kept the running", from)).slice(from), reason);
      assertEquals(await chat(url), 200);
    }
    // An editor that replaces the file.
    await Deno.writeTextFile(
      `${folder}/new.json`,
      JSON.stringify({ ...good, lanes: { ...good.lanes, second: good.lanes.oss } }),
    );
    await Deno.remove(`${folder}/gateway.json`);
    await Deno.rename(`${folder}/new.json`, `${folder}/gateway.json`);
    await until(async () => (await lanesOf(url)).includes("second"));
    // It was read once, and is not read again while it rests: longer than the gateway takes to look twice.
    await delay(1_200);
    assertEquals((await said("Serving with")).split("Serving with").length - 1, 1);
    const from = position();
    await write(folder, { ...good, upstreams: { sandbox: { driver: "sandbox", headers: { "x-key": "hunter2" } } } });
    await said("upstreams.sandbox.headers.x-key", from);
    assert(!(await said("eight characters", from)).includes("hunter2"));
  });
});

Deno.test("reload: that a new upstream's host needs a restart is said once, and all else goes on", async () => {
  await withGateway(async ({ url, said, position }, folder) => {
    const good = configOf(folder);
    const from = position();
    const far = { driver: "chat", baseUrl: "http://10.0.0.5:8000/v1" };
    await write(folder, { ...good, upstreams: { ...good.upstreams, far } });
    await said("restart: host 10.0.0.5:8000", from);
    assertEquals(await chat(url), 200);
    // Longer than the gateway takes to look at the file twice.
    await delay(1_200);
    assertEquals((await said("restart", from)).split("need a restart").length - 1, 1);
  });
});

Deno.test({
  name:
    "reload: SIGHUP reads the file again; an unchanged one changes nothing, one that has gone is no wish for the default",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withGateway(async ({ url, kill, said, position }, folder) => {
      const { id } = await respond(url, {});
      kill("SIGHUP");
      await said("The configuration has not changed");
      await write(folder, { ...configOf(folder), store: { kind: "memory" }, retry: { rounds: 2 } });
      kill("SIGHUP");
      await said("Serving with the new configuration");
      // What the gateway holds in memory is still there.
      assertEquals((await respond(url, { previous_response_id: id })).status, 200);
      const from = position();
      await Deno.remove(`${folder}/gateway.json`);
      kill("SIGHUP");
      assertStringIncludes(await said("Kept the running", from), "No such file");
      assertEquals(await chat(url), 200);
    }, { changes: { store: { kind: "memory" } } });
  },
});

Deno.test({
  name: "reload: a file that has changed before SIGHUP is read once",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withGateway(async ({ url, kill, said, position }, folder) => {
      const from = position();
      const { lanes, ...rest } = configOf(folder);
      await write(folder, { ...rest, lanes: { ...lanes, second: lanes.oss } });
      kill("SIGHUP");
      await said("Serving with the new configuration", from);
      assertStringIncludes(await lanesOf(url), "second");
      // By then a file that has changed is noticed.
      await delay(2_000);
      assertEquals((await said("Serving with")).split("Serving with").length, 2);
    });
  },
});

Deno.test("keys: made and revoked while two gateways run, within a second, and only the hash is kept", async () => {
  await withGateway(async ({ url }, folder) => {
    const options = { cwd: folder };
    assertEquals(await chat(url), 401);
    const made = await Promise.all(
      ["a", "b"].map((name) => runLaunched(["keys", "create", name], options)),
    );
    const [a, b] = made.map(({ stdout }) => stdout.trim());
    assertMatch(a!, /^laneway_/);
    await until(async () => await chat(url, a) === 200 && await chat(url, b) === 200);
    await withLaunched([], options, async (second) => {
      assertEquals([await chat(second.url, a), await chat(second.url, b)], [200, 200]);
      const { stdout } = await runLaunched(["keys", "list"], options);
      assert(/^a /m.test(stdout) && /^b /m.test(stdout) && !stdout.includes(a!));
      assertEquals((await runLaunched(["keys", "revoke", "a"], options)).code, 0);
      await until(async () => await chat(url, a) === 401 && await chat(second.url, a) === 401);
      assertEquals(await chat(url, b), 200);
    });
    for (const name of ["store.sqlite3", "store.sqlite3-wal"]) {
      const bytes = await Deno.readFile(`${folder}/data/${name}`).catch(() => new Uint8Array());
      assert(!new TextDecoder("latin1").decode(bytes).includes(b!.slice(8)), name);
    }
    const gone = await runLaunched(["keys", "revoke", "x"], { ...options, env: { npm_command: "" } });
    assertEquals(gone.stderr, 'Cannot find key "x": deno task -q laneway keys list shows all keys\n');
    const mistakes = [[], ["create"], ["create", "b"], ["create", "c", "--lane", "no"], ["revoke", "x"]];
    await Promise.all(mistakes.map(async (args) => {
      assertEquals((await runLaunched(["keys", ...args], options)).code, 2, args.join(" "));
    }));
  }, { changes: { storedKeys: true } });
});

Deno.test("keys: whoever manages them needs no other key's variable, nor that of an upstream", async () => {
  await withFolder(async (folder) => {
    const secret = (env: string) => ({ secret: { env } });
    const changes = {
      storedKeys: true,
      keys: [{ name: "team", ...secret("NOT_SET_HERE") }],
      sealing: { key: { env: "NOT_SET_EITHER" } },
      upstreams: {
        sandbox: { driver: "sandbox" },
        far: { driver: "chat", baseUrl: "https://far.test", ...secret("NOR_THIS") },
      },
    };
    await write(folder, configOf(folder, changes));
    const run = (...args: string[]) => runLaunched(["keys", ...args], { cwd: folder });
    const made = await run("create", "new");
    assertEquals([made.code, made.stderr], [0, ""]);
    assertMatch(made.stdout, /^laneway_/);
    assertMatch((await run("list")).stdout, /^new /);
    assertEquals((await run("revoke", "new")).code, 0);
    const served = await runLaunched([], { cwd: folder });
    assertStringIncludes(served.stderr, '"NOT_SET_HERE" is not set');
  });
});

Deno.test("keys: a store that cannot be used is told in a line, and asks callers to come again", async () => {
  await withGateway(async ({ url }, folder) => {
    await Deno.mkdir(`${folder}/data`, { recursive: true });
    await Deno.writeTextFile(`${folder}/data/store.sqlite3`, "no database");
    assertEquals(await chat(url, "laneway_any"), 503);
    await Promise.all([["list"], ["create", "a"], ["revoke", "a"]].map(async (args) => {
      const { code, stderr } = await runLaunched(["keys", ...args], { cwd: folder });
      assertEquals([code, stderr], [
        1,
        `Cannot use the store in ${folder}/data/store.sqlite3: file is not a database\n`,
      ]);
    }));
  }, { changes: { storedKeys: true } });
});
