/** The command `connect` among links, files that nobody may write or everybody may read, and other commands. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { clients } from "../../../plugins/programs/clients/mod.ts";
import { leadsTo } from "../../../src/programs/connect/machine.ts";
import { filesBelow, KEY, LANE, WITH_KEYS, withDesk } from "./desk.ts";

const CONNECT = ["claude-code", "--model", "small", "--yes"];
const UNDO = ["claude-code", "--undo", "--yes"];

Deno.test("connect: a link to what is not there yet is followed, of a file and of its folder", () =>
  withDesk(LANE, async ({ home, run, settings }) => {
    await Deno.mkdir(`${home}/dotfiles`);
    const links: [target: string, link: string][] = [
      ["dotfiles", `${home}/.claude`],
      ["../dotfiles/claude.json", settings],
      [`${home}/dotfiles/new/claude.json`, settings],
    ];
    for (const [target, link] of links) {
      if (link === settings) await Deno.mkdir(`${home}/.claude`);
      await Deno.symlink(target, link);
      const before = filesBelow(`${home}/dotfiles`);
      const { code, text } = await run(CONNECT);
      assertEquals(code, 0, text);
      assert((await Deno.lstat(link)).isSymlink, `${target}: the link was replaced`);
      assertEquals(filesBelow(`${home}/dotfiles`).length, before.length + 1, target);
      assertEquals((await run(UNDO)).code, 0);
      assertEquals([...Deno.readDirSync(`${home}/dotfiles`)], [], target);
      await Deno.remove(`${home}/.claude`, { recursive: true });
    }
    await Deno.symlink("b", `${home}/a`);
    await Deno.symlink("a", `${home}/b`);
    assertStringIncludes(leadsTo(`${home}/a`), home);
  }));

Deno.test("connect: a file that is read-only, and a place where no file can be, are left as they are", () =>
  withDesk(LANE, async ({ home, run, settings, read }) => {
    await Deno.mkdir(`${home}/.claude`);
    await Deno.writeTextFile(settings, "{}\n", { mode: 0o444 });
    const before = filesBelow(home);
    const { code, text } = await run(CONNECT);
    assertEquals(code, 1);
    assertStringIncludes(text, `Nothing was changed: ${settings} is read-only`);
    assertEquals([read(), filesBelow(home)], ["{}\n", before]);
    await Deno.remove(`${home}/.claude`, { recursive: true });
    await Deno.writeTextFile(`${home}/.claude`, "");
    const nowhere = await run(CONNECT);
    assertEquals(nowhere.code, 1);
    assertStringIncludes(nowhere.text, "Nothing was changed: ");
    assert(!/claude-code +connected/.test((await run(["--list"])).text), "No receipt stays");
  }));

Deno.test("connect: a client that reads another file by now is disconnected first, so that no key is left in the old one", () =>
  withDesk(WITH_KEYS, async ({ home, run }) => {
    const folder = `${home}/.config/kilo`;
    const [plain, commented] = [`${folder}/kilo.json`, `${folder}/kilo.jsonc`];
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(plain, "{}", { mode: 0o600 });
    const connect = () => run(["kilo", "--model", "small", "--yes", "--key", "-"], { input: KEY });
    assertEquals((await connect()).code, 0);
    await Deno.writeTextFile(commented, "{}", { mode: 0o600 });
    const refused = await connect();
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.text, `Nothing was changed: Kilo is connected by ${plain}`);
    assertEquals((await run(["kilo", "--undo", "--yes"])).code, 0);
    assertEquals((await connect()).code, 0);
    assertEquals(await Deno.readTextFile(plain), "{}");
    assertEquals((await run(["kilo", "--undo", "--yes"])).code, 0);
    assertEquals(await Deno.readTextFile(commented), "{}");
    // A file that is gone has nothing to undo.
    assertEquals((await connect()).code, 0);
    await Deno.remove(commented);
    assertEquals((await connect()).code, 0);
  }));

Deno.test("connect: who writes a key into a file that others may read is warned; receipts are the user's alone", () =>
  withDesk(WITH_KEYS, async ({ home, run, settings }) => {
    await Deno.mkdir(`${home}/.claude`);
    await Deno.writeTextFile(settings, "{}\n", { mode: 0o644 });
    const named = await run([...CONNECT, "--key-env", "MINE"], { env: { MINE: KEY } });
    assert(!named.text.includes("may read it"), "It holds no key");
    const given = await run([...CONNECT, "--key", "-"], { input: KEY });
    assertEquals(given.code, 0, given.text);
    assertStringIncludes(given.text, `chmod 600 ${settings}`);
    assertEquals((await Deno.stat(settings)).mode! & 0o777, 0o644, "the file's own mode stays");
    const folder = `${home}/.local/share/laneway/connect`;
    const receipt = `${folder}/claude-code.json`;
    await Deno.chmod(receipt, 0o644);
    assertEquals((await run([...CONNECT, "--key", "-"], { input: KEY })).code, 0);
    assertEquals((await Deno.stat(receipt)).mode! & 0o777, 0o600);
    assertEquals((await Deno.stat(folder)).mode! & 0o777, 0o700);
  }));

Deno.test("connect: what a proof that was killed left behind is removed", () =>
  withDesk(LANE, async ({ home, run }) => {
    const folder = `${home}/.local/share/laneway/connect`;
    await Deno.mkdir(`${folder}/proof-old`, { recursive: true });
    await Deno.writeTextFile(`${folder}/proof-old/settings.json`, KEY);
    await Deno.utime(`${folder}/proof-old`, 0, 0);
    await Deno.mkdir(`${folder}/proof-running`);
    assertEquals((await run(CONNECT)).code, 0);
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["claude-code.json", "proof-running"]);
  }));

Deno.test("connect: a proof that fails takes back nothing that another command has connected since", () =>
  withDesk(LANE, async ({ home, run, settings, read }) => {
    await Deno.mkdir(`${home}/.claude`);
    await Deno.writeTextFile(settings, '{ "theme": "dark" }\n');
    const works = await Deno.readTextFile(`${home}/client.js`);
    await Deno.writeTextFile(`${home}/works.js`, works);
    // The first that runs waits until the second has ended, and fails.
    const once = `const home = ${JSON.stringify(home)};
      let isFirst = true;
      try { Deno.mkdirSync(home + "/first"); } catch { isFirst = false; }
      if (!isFirst) await import("file://" + home + "/works.js");
      else for (;;) {
        try { Deno.statSync(home + "/second"); Deno.exit(1); } catch {}
        await new Promise((resolve) => setTimeout(resolve, 20));
      }`;
    await Deno.writeTextFile(`${home}/client.js`, once);
    const first = run(CONNECT);
    while (![...Deno.readDirSync(home)].some(({ name }) => name === "first")) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assertEquals((await run(["claude-code", "--model", "large", "--yes"])).code, 0);
    await Deno.mkdir(`${home}/second`);
    assertEquals((await first).code, 1);
    assertEquals(JSON.parse(read()!).model, "large");
    assertEquals((await run(UNDO)).code, 0);
    assertEquals(read(), '{ "theme": "dark" }\n');
  }));

Deno.test("connect: variables that the clients were seen to follow in place of their settings are named", () =>
  withDesk(WITH_KEYS, async ({ run }) => {
    const seen = async (name: string, env: Record<string, string>) => {
      const args = [name, "--model", "small", "--key-env", "MINE"];
      return (await run(args, { env: { MINE: KEY, ...env } })).text;
    };
    assertStringIncludes(await seen("claude-code", { ANTHROPIC_MODEL: "x" }), "Warning: ANTHROPIC_MODEL is set here");
    assertStringIncludes(await seen("claude-code", { ANTHROPIC_AUTH_TOKEN: "x" }), "in place of what MINE holds");
    assertStringIncludes(await seen("aider", { OPENAI_BASE_URL: "x" }), "Warning: OPENAI_BASE_URL is set here");
    assert(!(await seen("aider", { OPENAI_API_BASE: "x" })).includes("Warning"), "its own settings win over this one");
  }));

Deno.test("connect: settings that a machine's administrator has made are named, since they win", () => {
  const { steps } = clients.find(({ name }) => name === "claude-code")!;
  const connection = { gateway: "http://127.0.0.1:8000", lane: "oss", model: "m", takesImages: false };
  for (const [os, path] of [["linux", "/etc/claude-code/"], ["windows", "C:\\Program Files\\ClaudeCode\\"]]) {
    const machine = {
      os: os!,
      home: "/home/anna",
      env: () => undefined,
      isThere: (one: string) => one.startsWith(path!),
    };
    assertStringIncludes(steps!(connection, machine)[0]!, `${path}managed-settings.json wins`);
    assertEquals(steps!(connection, { ...machine, isThere: () => false }), []);
  }
});
