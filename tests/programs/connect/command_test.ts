/** The command `connect` in front of a gateway that answers, with a client that is a script. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { UsageError } from "../../../src/programs/program.ts";
import type { ConfigInput } from "../../support/app.ts";
import { filesBelow, KEY, LANE, WITH_KEYS, withDesk } from "./desk.ts";

const target = (upstream: string) => ({ task: "chat" as const, targets: [{ upstream, model: "org/model" }] });
/** A model whose upstream has no secret, the sandbox, and a model whose upstream does not answer. */
const PARTLY: ConfigInput = {
  upstreams: {
    unset: { driver: "chat", baseUrl: "http://unset.test/v1", secret: { env: "NOT_SET" } },
    sandbox: { driver: "sandbox" },
    silent: { driver: "chat", baseUrl: "http://silent.test/v1" },
  },
  lanes: { oss: { models: { first: target("unset"), sandbox: target("sandbox"), usable: target("silent") } } },
};

Deno.test("connect: without --model it takes a model that can be called, the sandbox last", () =>
  withDesk(PARTLY, async ({ run }) => {
    const { code, text } = await run(["claude-code", "--print"]);
    assertEquals(code, 0, text);
    assertStringIncludes(text, '"model": "usable"');
    const asked = await run(["claude-code", "--print"], { answers: ["sandbox"] });
    assertStringIncludes(asked.text, '"model": "sandbox"');
  }).then(() =>
    withDesk({ ...PARTLY, lanes: { oss: { models: { first: target("unset") } } } }, async ({ run, read }) => {
      const { code, text } = await run(["claude-code", "--yes"]);
      assertEquals(code, 1);
      assertStringIncludes(text, "NOT_SET");
      assertEquals(read(), undefined);
    })
  ));

Deno.test("connect: a model that cannot be called is refused at once, with the gateway's reason", () =>
  withDesk(PARTLY, async ({ run, read }) => {
    for (
      const [args, words] of [
        [["--model", "usabel"], /^Cannot use the model "usabel": .*"usable"/],
        [["--model", "first"], /^Cannot use the model "first": .*NOT_SET/],
      ] as const
    ) {
      const { code, text } = await run(["claude-code", "--yes", ...args]);
      assertEquals(code, 1, text);
      assertMatch(text, words);
    }
    const answered = await run(["claude-code", "--yes"], { answers: ["usabel"] });
    assertMatch(answered.text, /"usabel"/);
    assertEquals([answered.code, read()], [1, undefined]);
  }));

Deno.test("connect: Continue also gets a model for completions, if the gateway would ask it to fill gaps", () => {
  const server = { driver: "chat", baseUrl: "http://silent.test/v1" } as const;
  const at = (model: string) => ({ task: "chat" as const, targets: [{ upstream: "server", model }] });
  const models = { coder: at("Qwen/Qwen2.5-Coder-7B"), plain: at("org/model") };
  return withDesk({ upstreams: { server }, lanes: { oss: { models } } }, async ({ run }) => {
    for (const model of Object.keys(models)) {
      const { code, text } = await run(["continue", "--model", model, "--print"]);
      assertEquals(code, 0, text);
      assertEquals(text.includes("useLegacyCompletionsEndpoint: true"), model === "coder", text);
    }
  });
});

Deno.test("connect: a running test is shown on a terminal, in one line that goes away, and nowhere else", () =>
  withDesk(LANE, async ({ run }) => {
    const args = ["claude-code", "--model", "small", "--yes"];
    const shown = await run(args, { isTerminal: true });
    assertEquals(shown.code, 0, shown.text);
    assert(shown.progress.startsWith("\r\x1b[KRunning Claude Code for one turn"), shown.progress);
    assert(shown.progress.endsWith("\r\x1b[K") && !shown.progress.includes("\n"), shown.progress);
    assertStringIncludes(shown.text, "To undo: deno task -q laneway connect claude-code --undo");
    assertEquals((await run(args)).progress, "");
  }));

Deno.test("connect: a client is set up and proved by a turn of its own, which leaves nothing behind", () =>
  withDesk(LANE, async ({ home, url, run, settings, read }) => {
    const before = filesBelow(home);
    const { code, text } = await run(["claude-code", "--model", "small", "--yes"]);
    assertEquals(code, 0, text);
    assertStringIncludes(text, "it made 2 requests for small; 2 got a complete answer");
    assertStringIncludes(text, "small called a tool and received its result");
    assertEquals(JSON.parse(read()!), {
      env: {
        ANTHROPIC_BASE_URL: `${url}/oss`,
        ANTHROPIC_AUTH_TOKEN: "any",
        CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: "1",
        CLAUDE_CODE_MAX_CONTEXT_TOKENS: "64000",
      },
      model: "small",
    });
    assertEquals((await Deno.stat(settings)).mode! & 0o777, 0o600);
    const receipt = `${home}/.local/share/laneway/connect/claude-code.json`;
    assertEquals(filesBelow(home), [...before, settings, receipt].sort());
    assertEquals((await Deno.stat(receipt)).mode! & 0o777, 0o600);
    assertMatch((await run(["--list"])).text, /claude-code +connected/);
    assertEquals((await run(["claude-code", "--undo", "--yes"])).code, 0);
    assertEquals(filesBelow(home), before);
  }));

Deno.test("connect: what the user has in the file stays, and undo gives it back byte for byte", () =>
  withDesk(LANE, async ({ home, run, settings, read }) => {
    const mine = '{\r\n\t"model": "mine",\r\n\t"env": {"A": "1"}\r\n}';
    await Deno.mkdir(`${home}/.claude`);
    await Deno.writeTextFile(`${home}/dotfile.json`, mine, { mode: 0o640 });
    await Deno.symlink(`${home}/dotfile.json`, settings);
    assertEquals((await run(["claude-code", "--model", "small", "--yes"])).code, 0);
    assert((await Deno.lstat(settings)).isSymlink, "a link is followed, not replaced");
    assertEquals(JSON.parse(read()!).env.A, "1");
    assertEquals((await Deno.stat(settings)).mode! & 0o777, 0o640);
    assertEquals((await run(["claude-code", "--model", "large", "--yes"])).code, 0);
    assertEquals(JSON.parse(read()!).model, "large");
    assertEquals((await run(["claude-code", "--undo", "--yes"])).code, 0);
    assertEquals(read(), mine);
  }));

Deno.test("connect: a key is where the client wants it, and nowhere in what is printed", () =>
  withDesk(WITH_KEYS, async ({ run, read }) => {
    const refused = await run(["claude-code", "--model", "small", "--yes"]);
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.text, "refuses callers without a key");
    assertEquals(read(), undefined);
    const wrong = await run(["claude-code", "--model", "small", "--yes", "--key", "-"], { input: "wrong\n" });
    assertStringIncludes(wrong.text, "refuses the key: create one with: keys create");
    const machine = await run(["claude-code", "--model", "small", "--json", "--yes", "--key", "-"], {
      input: "wrong\n",
    });
    assertStringIncludes(
      machine.text,
      '"reason":"The gateway refuses the key","keyCure":"create one with: keys create"',
    );
    const given = await run(["claude-code", "--model", "small", "--yes", "--key", "-"], { input: `${KEY}\n` });
    assertEquals(given.code, 0, given.text);
    assertEquals(JSON.parse(read()!).env.ANTHROPIC_AUTH_TOKEN, KEY);
    assert(!given.text.includes(KEY), given.text);
    const unset = await run(["claude-code", "--model", "small", "--yes", "--key-env", "MY_KEY"]);
    assertStringIncludes(unset.text, "MY_KEY is not set here");
    const named = await run(["claude-code", "--model", "small", "--yes", "--key-env", "MY_KEY"], {
      env: { MY_KEY: KEY },
    });
    assertEquals(named.code, 0, named.text);
    assertEquals(JSON.parse(read()!).apiKeyHelper, "printenv MY_KEY");
    assert(!read()!.includes(KEY), read());
  }));

Deno.test("connect: a proof that fails takes the change back, also to an earlier connection; --keep leaves it", () =>
  withDesk(LANE, async ({ run, read }) => {
    const failed = await run(["claude-code", "--model", "silent", "--yes"]);
    assertEquals(failed.code, 1);
    assertMatch(failed.text, /v1\/messages was answered with 502: Cannot reach upstream/);
    assertEquals(read(), undefined);
    assertEquals((await run(["claude-code", "--model", "small", "--yes"])).code, 0);
    const connected = read();
    assertEquals((await run(["claude-code", "--model", "silent", "--yes"])).code, 1);
    assertEquals(read(), connected);
    assertEquals((await run(["claude-code", "--model", "silent", "--yes", "--keep"])).code, 1);
    assertEquals(JSON.parse(read()!).model, "silent");
    assertEquals((await run(["claude-code", "--undo", "--yes"])).code, 0);
    assertEquals(read(), undefined);
  }));

Deno.test("connect: a client that reads its key from a variable of its own is given it for the proof", () =>
  withDesk(WITH_KEYS, async ({ home, run }) => {
    const script = `
      const conf = Deno.readTextFileSync(Deno.env.get("HOME") + "/.aider.conf.yml");
      const base = /openai-api-base: (.*)/.exec(conf)[1];
      const headers = { authorization: "Bearer " + Deno.env.get("OPENAI_API_KEY"), "content-type": "application/json" };
      const messages = [{ role: "user", content: Deno.args[1] }];
      const body = JSON.stringify({ model: "small", messages });
      await (await fetch(base + "/chat/completions", { method: "POST", headers, body })).text();`;
    await Deno.writeTextFile(`${home}/client.js`, script);
    await Deno.rename(`${home}/bin/claude`, `${home}/bin/aider`);
    const { code, text } = await run(["aider", "--model", "small", "--yes", "--key-env", "MINE"], {
      env: { MINE: KEY },
    });
    assertEquals(code, 0, text);
    assertStringIncludes(text, 'OPENAI_API_KEY="$MINE" aider');
    assertStringIncludes(text, "small did not call a tool this time");
    assert(!text.includes(KEY) && !(await Deno.readTextFile(`${home}/.aider.conf.yml`)).includes(KEY));
  }));

Deno.test("connect: nothing is written that nobody agreed to", () =>
  withDesk(LANE, async ({ run, read }) => {
    assertEquals((await run(["claude-code", "--model", "small", "--print"])).code, 0);
    assertEquals((await run(["claude-code", "--model", "small"])).code, 2);
    assertEquals((await run(["claude-code", "--model", "small"], { answers: ["n"] })).code, 2);
    assertEquals(read(), undefined);
    const { code, text } = await run([], { answers: ["claude-code", "small", "y"] });
    assertEquals(code, 0, text);
    assertMatch(text, /^Found: claude-code\b/);
    assertEquals((await run(["claude-code", "--undo"], { answers: [""] })).code, 2);
    assert(read() !== undefined);
  }));

Deno.test("connect: settings that the client itself could not read are left alone", () =>
  withDesk(LANE, async ({ home, run, settings, read }) => {
    await Deno.mkdir(`${home}/.claude`);
    for (const broken of ['{\n  // a comment\n  "a": 1\n}', '{"env": []}', '"text"']) {
      await Deno.writeTextFile(settings, broken);
      const { code, text } = await run(["claude-code", "--model", "small", "--yes"]);
      assertEquals(code, 1);
      assertStringIncludes(text, `Nothing was changed: ${settings}: `);
      assertEquals(read(), broken);
    }
    await Deno.writeFile(settings, new Uint8Array([0x7b, 0xff, 0x7d]));
    const { text } = await run(["claude-code", "--model", "small", "--yes"]);
    assertStringIncludes(text, `${settings}: not UTF-8 text`);
  }));

Deno.test("connect: an editor's settings are proved by its requests, and clients without files are shown the steps", () =>
  withDesk(LANE, async ({ home, url, run }) => {
    const zed = await run(["zed", "--model", "small", "--yes"]);
    assertEquals(zed.code, 0, zed.text);
    assertStringIncludes(zed.text, "small called a tool, received its result and streamed a complete answer");
    assertStringIncludes(zed.text, "not run, so this tests");
    const written = JSON.parse(await Deno.readTextFile(`${home}/.config/zed/settings.json`));
    assertEquals(written.language_models.openai_compatible.Laneway.api_url, `${url}/oss/v1`);
    const before = filesBelow(home);
    const jetbrains = await run(["jetbrains", "--model", "small", "--yes"]);
    assertEquals(jetbrains.code, 0);
    assertStringIncludes(jetbrains.text, `Base URL ${url}/oss/v1`);
    assertStringIncludes(jetbrains.text, "small called a tool, received its result and streamed a complete answer");
    const refused = await run(["jetbrains", "--model", "nobody-serves-it", "--yes"]);
    assertEquals(refused.code, 1, refused.text);
    assertEquals(filesBelow(home), before);
  }));

Deno.test("connect: what is wrong with the command line, the gateway or the lane is said before anything is written", () =>
  withDesk(LANE, async ({ home, run, read }) => {
    const before = filesBelow(home);
    assertStringIncludes((await run(["claude-code", "--lane", "none"])).text, 'no lane "none"');
    const dead = await run(
      ["claude-code", "--url", "http://127.0.0.1:1"].slice(0, 1).concat("--lane", "oss", "--model", "small"),
    );
    assertEquals(dead.code, 2);
    for (
      const [args, message] of [
        [["nobody"], 'Unknown client "nobody"'],
        [["claude-code", "nobody"], 'Unknown client "nobody"'],
        [["claude-code", "--key", "literal"], "Everybody on the machine can see"],
        [["claude-code", "--key", "-", "--key-env", "A"], "not both"],
        [["claude-code", "--key-env", "not a name"], "is not a variable name"],
        [["claude-code", "--port", "1"], "port"],
      ] as const
    ) {
      const error = await assertRejects(() => run([...args]), UsageError);
      assertStringIncludes(error.message, message);
    }
    assertStringIncludes((await run(["claude-code", "--undo", "--yes"])).text, "nothing to undo");
    assertEquals([filesBelow(home), read()], [before, undefined]);
  }));

Deno.test("connect: where no gateway answers, nothing is written", () =>
  withDesk(LANE, async ({ home, run }) => {
    const before = filesBelow(home);
    const { code, text } = await run(["claude-code", "--model", "small", "--yes"], { url: "http://127.0.0.1:1" });
    assertEquals(code, 1);
    assertStringIncludes(text, "No gateway answers at http://127.0.0.1:1");
    assertEquals(filesBelow(home), before);
  }));

Deno.test("connect: a client that does not end is stopped, and the change is taken back", () =>
  withDesk(LANE, async ({ home, run, read }) => {
    await Deno.writeTextFile(`${home}/client.js`, "setInterval(() => {}, 1000);");
    const { code, text } = await run(["claude-code", "--model", "small", "--yes"], { patienceMs: 500 });
    assertEquals(code, 1);
    assertStringIncludes(text, "it did not call the gateway");
    assertStringIncludes(text, "did not finish within");
    assertEquals(read(), undefined);
  }));
