/** The command `connect` for several clients, and as JSON for programs. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { ConfigInput } from "../../support/app.ts";
import { KEY, LANE, WITH_KEYS, withDesk } from "./desk.ts";

const linesOf = (text: string) => text.split("\n").map((line) => JSON.parse(line));

Deno.test("connect: several clients are connected one after another, and undone together", () =>
  withDesk(LANE, async ({ home, run, read }) => {
    const { code, text } = await run(["claude-code", "opencode", "--model", "small", "--yes"]);
    assertEquals(code, 0, text);
    assertStringIncludes(text, "opencode was not found on this machine");
    assert(!text.includes("Claude Code was not found"), text);
    assertEquals(JSON.parse(read()!).model, "small");
    const other = `${home}/.config/opencode/opencode.json`;
    assertStringIncludes(Deno.readTextFileSync(other), "small");
    assertMatch((await run(["--list"])).text, /opencode +connected/);
    assertEquals((await run(["claude-code", "opencode", "--undo", "--yes"])).code, 0);
    assertEquals([read(), [...Deno.readDirSync(home)].map(({ name }) => name).includes(".config")], [undefined, false]);
  }));

Deno.test("connect: one client that fails does not keep the others from being connected", () =>
  withDesk(LANE, async ({ home, run, read }) => {
    await Deno.mkdir(`${home}/.config/opencode`, { recursive: true });
    await Deno.writeTextFile(`${home}/.config/opencode/opencode.json`, "{ no JSON");
    const { code, text } = await run(["opencode", "claude-code", "--model", "small", "--yes"]);
    assertEquals(code, 1, text);
    assertMatch(text, /Nothing was changed: .*opencode\.json/);
    assertEquals(JSON.parse(read()!).model, "small");
  }));

Deno.test("connect: without a name the found ones are shown; names, a list of them and all are answers", () =>
  withDesk(LANE, async ({ home, run, read }) => {
    await Deno.mkdir(`${home}/.continue`);
    for (const answer of ["claude-code", "continue, claude-code", "all"]) {
      const { code, text } = await run(["--model", "small"], { answers: [answer, "y", "y"] });
      assertEquals(code, 0, text);
      assertStringIncludes(text, "Found: claude-code, continue");
      assertEquals(JSON.parse(read()!).model, "small");
      await run(["claude-code", "--undo", "--yes"]);
    }
  }));

Deno.test("connect: a model is chosen once for all clients", () =>
  withDesk(LANE, async ({ home, run, read }) => {
    const { code, text } = await run(["claude-code", "opencode"], { answers: ["large", "y", "y"] });
    assertEquals(code, 0, text);
    assertEquals(JSON.parse(read()!).model, "large");
    assertStringIncludes(Deno.readTextFileSync(`${home}/.config/opencode/opencode.json`), "large");
  }));

Deno.test("connect: only models that can be called are offered, the sandbox last", async () => {
  const target = (upstream: string) => ({ task: "chat" as const, targets: [{ upstream, model: "org/model" }] });
  const config: ConfigInput = {
    upstreams: {
      unset: { driver: "chat", baseUrl: "http://unset.test/v1", secret: { env: "NOT_SET" } },
      sandbox: { driver: "sandbox" },
      silent: { driver: "chat", baseUrl: "http://silent.test/v1" },
    },
    lanes: {
      oss: {
        models: {
          sandbox: target("sandbox"),
          lacking: target("unset"),
          second: target("silent"),
          third: target("silent"),
        },
      },
    },
  };
  await withDesk(config, async ({ run }) => {
    const asked: string[] = [];
    await run(["claude-code", "--print"], { onAsk: (question) => asked.push(question) });
    assertEquals(asked, ["Which model? One of second, third, sandbox. Default: second. Yours:"]);
  });
});

Deno.test("connect --json: a line for each step and one for the result", () =>
  withDesk(LANE, async ({ settings, run, read }) => {
    const { code, text } = await run(["claude-code", "--model", "small", "--yes", "--json"]);
    assertEquals(code, 0, text);
    const lines = linesOf(text);
    assert(lines.slice(0, -1).every(({ step }) => typeof step === "string"), text);
    assertEquals(lines[0], { step: "Running Claude Code for one turn" });
    const undo = "deno task -q laneway connect claude-code --undo";
    assertEquals(lines.at(-1), { result: { client: "claude-code", ok: true, changed: [settings], undo } });
    const failed = await run(["claude-code", "--model", "silent", "--yes", "--json"]);
    assertEquals(failed.code, 1);
    const { result } = linesOf(failed.text).at(-1);
    assertEquals([result.ok, result.changed, result.undo], [false, [], undefined]);
    assertMatch(result.reason, /^The test failed, and the change was undone: .*502/);
    const undone = linesOf((await run(["claude-code", "--undo", "--yes", "--json"])).text).at(-1);
    assertEquals(undone, { result: { client: "claude-code", ok: true, changed: [settings] } });
    assertEquals(read(), undefined);
    const nothing = linesOf((await run(["claude-code", "--undo", "--yes", "--json"])).text).at(-1);
    assertMatch(nothing.result.reason, /nothing to undo/);
  }));

Deno.test("connect --json: without --yes nothing is changed, and the result says so", () =>
  withDesk(LANE, async ({ run, read }) => {
    const { code, text } = await run(["claude-code", "--model", "small", "--json"]);
    const { result } = linesOf(text).at(-1);
    assertEquals([code, result.ok, result.changed, read()], [2, false, [], undefined]);
    assertStringIncludes(result.reason, "--yes");
  }));

Deno.test("connect --print --json: the files as they are and would be, without secrets", () =>
  withDesk(WITH_KEYS, async ({ home, settings, run }) => {
    await Deno.mkdir(`${home}/.claude`);
    const mine = '{ "env": { "MY_API_KEY": "sk-of-the-user" } }';
    await Deno.writeTextFile(settings, mine);
    const { code, text } = await run(["claude-code", "--model", "small", "--print", "--json", "--key", "-"], {
      input: `${KEY}\n`,
    });
    assertEquals(code, 0, text);
    assert(!text.includes(KEY) && !text.includes("sk-of-the-user"), text);
    const { files: [file] } = JSON.parse(text);
    assertEquals([file.path, file.before], [settings, mine.replace("sk-of-the-user", "***")]);
    assertStringIncludes(file.text, '"ANTHROPIC_AUTH_TOKEN": "***"');
    assertEquals(Deno.readTextFileSync(settings), mine);
    const refused = await run(["claude-code", "--model", "small", "--print", "--json"]);
    assertEquals(refused.code, 1);
    assertMatch(JSON.parse(refused.text).result.reason, /refuses callers without a key/);
  }));

Deno.test("connect --list --json: the clients, and whether they are installed and connected", () =>
  withDesk(LANE, async ({ run }) => {
    const find = (text: string, id: string) =>
      JSON.parse(text).clients.find((client: { id: string }) => client.id === id);
    const before = (await run(["--list", "--json"])).text;
    const claude = { id: "claude-code", title: "Claude Code", isInstalled: true, isConnected: false, isByHand: false };
    assertEquals(JSON.parse(before).clients[0], claude);
    assertEquals(find(before, "roo-code").isByHand, true);
    await run(["claude-code", "--model", "small", "--yes"]);
    assertEquals(find((await run(["--list", "--json"])).text, "claude-code"), { ...claude, isConnected: true });
  }));
