/** The command `connect` in a real terminal. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { KEYS, plain, type Terminal, withTerminal } from "../../support/terminal.ts";
import { type Desk, LANE, withDesk } from "./desk.ts";

const MAIN = new URL("terminal_main.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;

function withConnect(args: string[], use: (desk: Desk, terminal: Terminal) => Promise<void>): Promise<void> {
  return withDesk(LANE, async (desk) => {
    await Deno.mkdir(`${desk.home}/.continue`);
    const flags = ["run", "--config", CONFIG, "--no-check", "--allow-all", "--cached-only"];
    const cache = Deno.env.get("DENO_DIR") ??
      `${Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`}/deno`;
    const env = { HOME: desk.home, PATH: `${desk.home}/bin:/usr/bin:/bin`, DENO_DIR: cache, NO_COLOR: "1" };
    const line = [Deno.execPath(), ...flags, MAIN, ...args, "--url", desk.url];
    await withTerminal(line, { cwd: desk.home, env }, (terminal) => use(desk, terminal));
  });
}

Deno.test("connect: clients and a model are chosen with arrow keys and space", () =>
  withConnect([], async ({ read, home }, { shows, type, ended, output }) => {
    await shows("Which clients do you want to connect?");
    await shows("Claude Code");
    await shows("Continue");
    await type(KEYS.space + KEYS.down + KEYS.space + KEYS.enter);
    await shows("Which model?");
    await type(KEYS.down + KEYS.enter);
    await shows("Set up Claude Code?");
    await type("y\r");
    await shows("Claude Code: connected to");
    await shows("Set up Continue?");
    await type("y\r");
    await shows("Continue: connected to");
    assertEquals(await ended, 0, plain(output()));
    assertEquals(JSON.parse(read()!).model, "small");
    assertStringIncludes(Deno.readTextFileSync(`${home}/.continue/config.yaml`), "small");
  }));

Deno.test("connect: who leaves or chooses no client has changed nothing", () =>
  withConnect([], async ({ read }, { shows, type, ended, output }) => {
    await shows("Which clients do you want to connect?");
    await type(KEYS.leave);
    assertEquals([await ended, read()], [2, undefined]);
    assertStringIncludes(plain(output()), "No client was chosen, and nothing was changed");
  }).then(() =>
    withConnect(["claude-code"], async ({ read }, { shows, type, ended, output }) => {
      await shows("Which model?");
      await type(KEYS.leave);
      assertEquals([await ended, read()], [1, undefined]);
      assertStringIncludes(plain(output()), "No model was chosen, and nothing was changed");
    })
  ));
