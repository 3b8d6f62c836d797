/** The command `init` in a real terminal, with arrow keys, and with numbers where there is none. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { numberDialog } from "../../../src/programs/dialog/numbers.ts";
import { withFolder } from "../../support/process.ts";
import { KEYS, plain, type Terminal, withTerminal } from "../../support/terminal.ts";
import { load } from "./facts.ts";
import { fakeOllama, type FakeServer, type FakeServerOptions } from "./servers.ts";

const MAIN = new URL("terminal_main.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;
const PERMISSIONS = [
  "--no-prompt",
  "--cached-only",
  "--allow-read",
  "--allow-env",
  "--allow-net",
  "--allow-sys=uid,gid",
];

async function withInit(
  options: FakeServerOptions,
  use: (at: { terminal: Terminal; cwd: string; server: FakeServer }) => Promise<void>,
  env: Record<string, string> = {},
  address?: string,
): Promise<void> {
  const server = fakeOllama(options);
  try {
    await withFolder(async (cwd) => {
      const flags = ["run", "--config", CONFIG, "--no-check", ...PERMISSIONS, `--allow-write=${cwd}`];
      const args = [Deno.execPath(), ...flags, MAIN, address ?? `${server.url}/v1`];
      const place = { cwd, env: { HOME: cwd, DENO_DIR: denoDir(), HF_TOKEN: "", ...env }, after: "stty -a" };
      await withTerminal(args, place, (terminal) => use({ terminal, cwd, server }));
    });
  } finally {
    await server.stop();
  }
}

/** Where Deno keeps its packages, which depends on the home folder. */
function denoDir(): string {
  return Deno.env.get("DENO_DIR") ?? `${Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`}/deno`;
}

const IS_WHOLE = /(?<!-)\bicanon\b[^]*(?<!-)\becho\b/;

Deno.test("init: with arrow keys from a server of this machine to the written files", () =>
  withInit({ models: ["small:8b", "large:70b"] }, async ({ terminal, cwd, server }) => {
    const { shows, type } = terminal;
    await shows("Where do your models run?");
    await shows("◼ Ollama 0.14.1");
    await type(KEYS.enter);
    await shows("it works and has 2 models");
    await shows("Add another source?");
    await type(KEYS.enter);
    await shows("Which models of ollama-");
    await type(KEYS.space + KEYS.enter);
    await shows("Keep these names?");
    await type(KEYS.down + KEYS.enter);
    await shows("Name of large:70b");
    await type(`big${KEYS.enter}`);
    await shows("unknown name?");
    await type(KEYS.enter);
    await shows("gateway.json (new)");
    assertEquals([...Deno.readDirSync(cwd)].length, 0, "nothing is written before it was shown");
    await shows("Is this right?");
    await type(KEYS.enter);
    await shows("Start the gateway:");
    await shows("Connect a client:");
    assertEquals(await terminal.ended, 0);
    assertMatch(terminal.output(), IS_WHOLE);
    const { lanes, upstreams } = load(Deno.readTextFileSync(`${cwd}/gateway.json`));
    const upstream = `ollama-${new URL(server.url).port}`;
    assertEquals(upstreams[upstream]!.baseUrl, `${server.url}/v1`);
    const targets = [{ upstream, model: "large:70b" }];
    assertEquals([lanes.oss!.models.big!.targets, lanes.oss!.models["*"]!.targets], [targets, targets]);
    assertEquals(lanes[upstream]!.upstreams, { chat: upstream });
  }));

Deno.test("init: chosen models and their names are there again when the models are changed", () =>
  withInit({ models: ["a", "b", "c", "d"] }, async ({ terminal }) => {
    const { shows, type } = terminal;
    await shows("Where do your models run?");
    await type(KEYS.enter);
    await shows("Add another source?");
    await type(KEYS.enter);
    await shows("Which models of ollama-");
    await type(KEYS.down + KEYS.space + KEYS.enter);
    await shows("Keep these names?");
    await type(KEYS.down + KEYS.enter);
    await shows("Name of b");
    await type(`mine${KEYS.enter}`);
    await shows("unknown name?");
    await type(KEYS.enter);
    await shows("Is this right?");
    await type(KEYS.down + KEYS.down + KEYS.enter);
    await shows("◼ b");
    await type(KEYS.enter);
    await shows("call them mine. Keep");
    await type(KEYS.leave);
    await terminal.ended;
  }));

Deno.test("init: Enter alone leaves out a source whose key is not at hand", () =>
  withInit({ key: "the-right-key-1" }, async ({ terminal, cwd }) => {
    const { shows, type } = terminal;
    await shows("Where do your models run?");
    await type(KEYS.enter);
    await shows("Key for");
    await type(KEYS.enter);
    await shows("Enter alone leaves this source out");
    await shows("Key for");
    await type(KEYS.enter);
    await shows("Where do your models run?");
    await type(KEYS.leave);
    assertEquals(await terminal.ended, 130);
    assertEquals([...Deno.readDirSync(cwd)].length, 0);
  }));

Deno.test("init: a wrong key is told, and another one can be entered; none is shown", () =>
  withInit({ key: "the-right-key-1" }, async ({ terminal, cwd, server }) => {
    const { shows, type } = terminal;
    await shows("Where do your models run?");
    await type(KEYS.enter);
    await shows("Key for");
    await type(`the-wrong-key-2${KEYS.enter}`);
    await shows("It refuses the secret (status 401)");
    await shows("What now?");
    await type(KEYS.down + KEYS.enter);
    await shows("Key");
    await type(`the-right-key-1${KEYS.enter}`);
    await shows("it works");
    await shows("Add another source?");
    await type(KEYS.enter);
    await shows("Which models of");
    await type(KEYS.enter);
    await shows("Keep these names?");
    await type(KEYS.enter);
    await shows("unknown name?");
    await type(KEYS.enter);
    await shows("readable by you alone");
    await shows("Is this right?");
    await type(KEYS.enter);
    assertEquals(await terminal.ended, 0);
    assert(!/the-(right|wrong)-key/.test(terminal.output()), plain(terminal.output()));
    const file = `gateway.ollama-${new URL(server.url).port}.secret`;
    assertEquals(Deno.readTextFileSync(`${cwd}/${file}`), "the-right-key-1\n");
    assertEquals(Deno.statSync(`${cwd}/${file}`).mode! & 0o777, 0o600);
    assert(!Deno.readTextFileSync(`${cwd}/gateway.json`).includes("the-right-key"));
  }));

for (const isAtKey of [false, true]) {
  Deno.test(`init: Ctrl+C ${isAtKey ? "at a key" : "at a list"} leaves the terminal as it was, and writes nothing`, () =>
    withInit({ key: "needed" }, async ({ terminal, cwd }) => {
      await terminal.shows("Where do your models run?");
      if (isAtKey) {
        await terminal.type(KEYS.enter);
        await terminal.shows("Key for");
        await terminal.type("half-a-ke");
      }
      await terminal.type(KEYS.leave);
      assertEquals(await terminal.ended, 130);
      assertStringIncludes(plain(terminal.output()), "Nothing was written. To start again: deno task -q laneway init");
      assertMatch(terminal.output(), IS_WHOLE);
      assert(terminal.output().includes("\x1b[?25h"), "the cursor is shown again");
      assertEquals([...Deno.readDirSync(cwd)], []);
    }, { NO_COLOR: "1" }));
}

Deno.test("init: NO_COLOR is kept to", () =>
  withInit({}, async ({ terminal }) => {
    await terminal.shows("Where do your models run?");
    await terminal.type(KEYS.leave);
    await terminal.ended;
    // deno-lint-ignore no-control-regex -- the sequences for colours begin with it
    assertEquals(terminal.output().match(/\x1b\[[\d;]*m/g), null);
  }, { NO_COLOR: "1" }));

Deno.test("init: a dumb terminal gets numbered questions, and a key is not shown there either", () =>
  withInit({ key: "the-right-key-1" }, async ({ terminal, cwd }) => {
    const { shows, type } = terminal;
    await shows("1  A server at");
    await shows("(it needs a key)");
    await shows("Numbers, or all [1]:");
    await type("\n");
    await shows("Key for http://127.0.0.1:");
    await type("the-right-key-9\x7f1\r");
    await shows("it works");
    await type("\n");
    await shows("Which models of");
    await type("1\n");
    await shows("Keep these names?");
    await type("maybe\n");
    await shows("Answer y or n");
    await type("y\n");
    await shows("unknown name?");
    await shows("Number [1]:");
    await type("7\n");
    await shows("Expected a number from 1 to 2");
    await type("1\n");
    await shows("Is this right?");
    await type("1\n");
    assertEquals(await terminal.ended, 0);
    assert(!terminal.output().includes("the-right-key"), terminal.output());
    assertEquals([...Deno.readDirSync(cwd)].length, 2);
  }, { TERM: "dumb" }));

Deno.test("numbered questions: names, numbers, the usual answer and the end of the input", async () => {
  const printed: string[] = [];
  const asker = (...lines: string[]) => {
    const read = () => Promise.resolve(lines.shift());
    const print = (text: string) => void printed.push(text);
    return numberDialog({ read, readHidden: read, print, prompt: print });
  };
  const choices = [{ value: "a", label: "First", hint: "slow" }, { value: "b", label: "Second" }];
  assertEquals(await asker("2").choose("Which?", choices), "b");
  assertEquals(await asker("").choose("Which?", choices, "b"), "b");
  assertEquals(await asker("", "x", "0", "a").choose("Which?", choices), "a");
  assertEquals(await asker().choose("Which?", choices, "a"), undefined);
  assertEquals(await asker("2, 1 2").chooseSeveral("Which?", choices), ["b", "a"]);
  assertEquals(await asker("1 3", "all").chooseSeveral("Which?", choices), ["a", "b"]);
  assertEquals(await asker("").chooseSeveral("Which?", choices, ["b"]), ["b"]);
  assertEquals(
    await asker("", "no", "ok").enter("Word?", { check: (word) => word === "ok" ? undefined : "Say ok" }),
    "ok",
  );
  assertEquals(await asker("").enter("Word?", { first: "usual" }), "usual");
  assertEquals(await asker(" key ").enterSecret("Key"), "key");
  assertEquals([await asker("N").confirm("Sure?", true), await asker("").confirm("Sure?", true)], [false, true]);
  assertStringIncludes(printed.join("\n"), "  1  First (slow)\n  2  Second");
});
