/** The console's guide before a real launcher: who may run commands, and what becomes of them. */
import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { runLaunched, withFolder } from "../support/process.ts";
import { statusOf } from "../support/gateway_process.ts";
import { until, within } from "../support/wait.ts";
import { withGuided } from "./launched_program.ts";

const NOTED = `"event":"command run","command":"connect","client":"some-client","by":"ops"`;

const SANDBOX = {
  upstreams: { sandbox: { driver: "sandbox" } },
  lanes: { oss: { upstreams: { chat: "sandbox" } } },
  store: { kind: "memory" },
};

Deno.test("guide: the code in the terminal opens one page, which runs commands; other pages need the next code", async () => {
  await withGuided(undefined, async ({ said, code, post, open, facts }) => {
    assertMatch(await said("Keys: "), /^Laneway: set up with the one-time code [A-Z0-9]{4}-[A-Z0-9]{4} at \/console\n/);
    const { isFresh, file, canAct, needsCode, isOpen, isLocal, upstreams, models, providers } = await facts();
    assertEquals({ isFresh, file, canAct, needsCode, isOpen, isLocal }, {
      isFresh: true,
      file: "gateway.json",
      canAct: true,
      needsCode: true,
      isOpen: false,
      isLocal: true,
    });
    const states = Object.fromEntries(upstreams.map(({ name, state }: Record<string, string>) => [name, state]));
    assertEquals([states.sandbox, states.router], ["ready", "no-secret"]);
    assert(models.some(({ works, reason }: { works: boolean; reason?: string }) => !works && /HF_TOKEN/.test(reason!)));
    // Pages propose the first one: here no other than the built-in ones works.
    assertEquals([models[0].isBuiltIn, models[0].works, models.at(-1).works], [true, true, false]);
    assert(providers.length > 20 && providers.some(({ needsBaseUrl }: { needsBaseUrl: boolean }) => needsBaseUrl));
    for (const step of ["find", "check", "plan"]) {
      const { status, body } = await post(step);
      assertEquals(status, 403);
      assertMatch(body.error.message, /one-time code/);
    }
    const first = await code();
    const headers = await open();
    assertEquals((await post("open", { code: first })).status, 403, "A second tab cannot use the same code");
    assertNotEquals(await code(), first);
    assertNotEquals(await open(), headers);
    assertEquals((await facts(headers)).isOpen, true);
    assertEquals((await post("find", {}, { "x-laneway-setup": "0".repeat(64) })).status, 403);
    const source = { kind: "server", baseUrl: "http://a@b\n--config=x", secret: "hidden-secret" };
    const { body } = await post("check", source, headers);
    assertEquals(JSON.parse(body.input), source);
    assertEquals(body.args, ["init", "check", "--json"], "Neither an option nor a secret is an argument");
    const { body: lines } = await post("connect", { client: "some-client", key: "hidden-key", model: "-x" }, headers);
    assertMatch(
      lines[0].args.join(" "),
      /^connect some-client --json --url=http:\/\/127\.0\.0\.1:\d+ --model=-x --key=- --yes$/,
    );
    assertEquals([lines[0].input, lines[1].result.ok], ["hidden-key\n", true]);
    const { body: [, broken] } = await post("connect", { client: "breaks" }, headers);
    assertEquals(broken, { result: { client: "breaks", ok: false, reason: "it broke", changed: [] } });
    assertEquals((await post("connect", { client: "--config=x" }, headers)).status, 400);
    assert(!(await said("Keys: ")).includes("hidden"));
  });
});

Deno.test("guide: codes cannot be guessed, not even by many at once", async () => {
  await withGuided(undefined, async ({ post, code, said }) => {
    const first = await code();
    const tries = await Promise.all(Array.from({ length: 30 }, () => post("open", { code: "AAAA-AAAA" })));
    assert(tries.every(({ status }) => status === 403 || status === 503));
    await said("10 wrong one-time codes were given");
    for (const one of [first, await code()]) {
      const { status, body } = await post("open", { code: one });
      assertEquals(status, 403);
      assertMatch(body.error.message, /Too many wrong codes: try again in \d+ seconds/);
    }
  });
});

Deno.test("guide: no command runs for a page of another host, machine or name", async () => {
  await withGuided(undefined, async ({ url, open, post, facts }) => {
    const headers = await open();
    const far: Record<string, string>[] = [
      { origin: "http://evil.test" },
      { "sec-fetch-site": "cross-site", origin: "http://evil.test" },
      { "x-forwarded-for": "203.0.113.7" },
      { forwarded: "for=203.0.113.7" },
    ];
    for (const more of far) {
      const { status } = await post("find", {}, { ...headers, ...more });
      assert(status === 401 || status === 403, JSON.stringify(more));
    }
    // As a browser asks for a name that was bound to this machine's address.
    const port = Number(new URL(url).port);
    const body = "{}";
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const lines = [
      "POST /console/api/setup/find HTTP/1.1",
      `host: evil.test:${port}`,
      `x-laneway-setup: ${headers["x-laneway-setup"]}`,
      "content-type: application/json",
      `content-length: ${body.length}`,
      "connection: close",
    ];
    await connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n${body}`));
    assertMatch(await new Response(connection.readable).text(), /^HTTP\/1\.1 401 /);
    assertEquals((await post("find", {}, headers)).status, 200);
    assertEquals((await facts(headers)).isOpen, true);
  });
});

Deno.test("guide: where there are keys, an operator needs no code, and nobody else can act, nor from elsewhere", async () => {
  const keys = [
    { name: "ops", secret: { env: "OPS_KEY" }, operator: true },
    { name: "team", secret: { env: "TEAM_KEY" } },
  ];
  const env = { OPS_KEY: "ops-key-0123456789abcdef", TEAM_KEY: "team-key-0123456789abcdef" };
  const observe = { audit: { file: "audit.jsonl" } };
  await withGuided({ ...SANDBOX, keys, observe }, async ({ post, facts, said }, folder) => {
    const ops = { "x-api-key": env.OPS_KEY };
    assert(!(await said("Keys: ")).includes("one-time code"));
    const { canAct, needsCode, needsKey, isOpen, isFresh } = await facts(ops);
    assertEquals({ canAct, needsCode, needsKey, isOpen, isFresh }, {
      canAct: true,
      needsCode: false,
      needsKey: true,
      isOpen: true,
      isFresh: false,
    });
    assertEquals((await post("find", {}, ops)).status, 200);
    assertEquals((await post("connect", { client: "some-client" }, ops)).status, 200);
    const isNoted = async () => (await Deno.readTextFile(`${folder}/audit.jsonl`)).includes(NOTED);
    await until(isNoted);
    assertEquals((await post("find", {}, { "x-api-key": env.TEAM_KEY })).status, 403);
    assertEquals((await post("find")).status, 401);
    const proxied = { ...ops, "x-forwarded-for": "203.0.113.7" };
    assertEquals((await post("find", {}, proxied)).status, 403);
    const { canAct: canActFar, why } = await facts(proxied);
    assertEquals([canActFar, why], [
      false,
      "Commands are run only for a page on the gateway's own machine. Run them there yourself",
    ]);
  }, { env });
});

Deno.test("guide: a command ends with the page that leaves, and with the gateway", async () => {
  await withGuided(undefined, async ({ url, open, kill, ended }) => {
    const headers = { ...await open(), "content-type": "application/json" };
    const connect = async (signal?: AbortSignal) => {
      const init = { method: "POST", headers, body: JSON.stringify({ client: "hangs" }), signal };
      const { body } = await fetch(`${url}/console/api/setup/connect`, init);
      const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
      assertStringIncludes((await reader.read()).value!, "hangs");
      return reader;
    };
    const leaving = new AbortController();
    const reader = await connect(leaving.signal);
    assertEquals(await running("connect hangs"), true);
    leaving.abort();
    await reader.read().catch(() => {});
    await until(async () => !await running("connect hangs"));
    const other = await connect();
    kill("SIGTERM");
    await within(ended);
    await other.read().catch(() => {});
    await until(async () => !await running("connect hangs"));
  });
});

/** Whether a process has these arguments. */
async function running(words: string): Promise<boolean> {
  const { stdout } = await new Deno.Command("ps", { args: ["-eo", "args"] }).output();
  return new TextDecoder().decode(stdout).split("\n").some((line) =>
    line.includes("launch.ts") && line.includes(words)
  );
}

/** The code of a dependency that an attacker has replaced. It has the gateway's token for the desk, and tries every question. */
const MALICE = `
const [host, port] = (Deno.env.get("LANEWAY_DESK") ?? "").split(":");
const token = Deno.env.get("LANEWAY_DESK_TOKEN");
const ask = async (question) => {
  const connection = await Deno.connect({ hostname: host, port: Number(port) });
  await connection.write(new TextEncoder().encode(JSON.stringify({ token, ...question }) + "\\n"));
  return (await new Response(connection.readable).text()).split("\\n")[0];
};
(async () => {
  const answers = [];
  for (const question of [
    { ask: "run", task: { do: "find" } },
    { ask: "run", task: { do: "connect", client: "some-client" }, session: "" },
    { ask: "run", task: { do: "find" }, session: token },
    { ask: "restart", port: 8000 },
    { ask: "open", code: "" },
    { ask: "unknown" },
    { token: "0".repeat(64), ask: "run", task: { do: "find" } },
  ]) answers.push(await ask(question).catch((error) => error.name));
  answers.push(await Deno.connect({ hostname: host, port: Number(port) + 1 }).then(() => "connected", ({ name }) => name));
  answers.push(await (async () => new Deno.Command("true").output())().then(() => "ran", ({ name }) => name));
  console.error("TRIED " + JSON.stringify(answers) + ";");
})();
`;

Deno.test("guide: a dependency of the gateway that was taken over has no code, so it can run nothing", async () => {
  const change = async (program: string) => {
    const path = `${program}/deno.json`;
    const manifest = JSON.parse(await Deno.readTextFile(path));
    const real = manifest.imports["eventsource-parser"];
    await Deno.writeTextFile(`${program}/evil.js`, `export * from "${real}";\n${MALICE}`);
    manifest.imports["eventsource-parser"] = "./evil.js";
    await Deno.writeTextFile(path, JSON.stringify({ ...manifest, lock: { frozen: false } }));
  };
  await withGuided(undefined, async ({ said }) => {
    const [, tried] = /TRIED (.*);/.exec(await said("TRIED "))!;
    const answers = JSON.parse(tried!).map((one: string) => one.startsWith("{") ? JSON.parse(one).code : one);
    assertEquals(answers.slice(0, 6), Array(6).fill("permission"));
    assertEquals(answers.slice(6), ["", "NotCapable", "NotCapable"]);
  }, { change });
});

Deno.test("guide: there is no code and no desk where no page can use it", async () => {
  await withFolder(async (cwd) => {
    for (const args of [["--help"], ["--version"], ["validate"]]) {
      const { stderr } = await runLaunched(args, { cwd });
      assert(!stderr.includes("one-time"), args.join(" "));
    }
  });
  await withGuided({ ...SANDBOX, console: false }, async ({ said, url }) => {
    assert(!(await said("Keys: ")).includes("one-time"));
    assertEquals(await statusOf(`${url}/readyz`), 200);
  });
});
