/** Colours and columns: what a user sees on a terminal, in a pipe, and with the variables that all programs know. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { dispatch } from "../../src/cli/dispatch.ts";
import { standardStreams } from "../../src/observe/standard.ts";
import { deno } from "../../src/platform/deno.ts";
import type { Platform } from "../../src/platform/platform.ts";
import { report } from "../../src/programs/doctor/finding.ts";
import { hasColours, painter } from "../../src/programs/paint.ts";
import { withProgress } from "../../src/programs/progress.ts";
import { cut, table } from "../../src/programs/table.ts";

const ESC = "\x1b";

function machine(env: Record<string, string>, isTerminal: boolean, granted = true) {
  return { env: (name: string) => env[name], isGranted: () => granted, isTerminal: () => isTerminal };
}

for (
  const [env, isTerminal, wanted] of [
    [{}, true, true],
    [{}, false, false],
    [{ TERM: "xterm-256color" }, true, true],
    [{ TERM: "dumb" }, true, false],
    [{ NO_COLOR: "1" }, true, false],
    [{ NO_COLOR: "" }, true, true],
    [{ FORCE_COLOR: "1" }, false, true],
    [{ FORCE_COLOR: "1", NO_COLOR: "1", TERM: "dumb" }, false, true],
    [{ FORCE_COLOR: "0" }, true, false],
  ] as const
) {
  const where = isTerminal ? "a terminal" : "a pipe";
  Deno.test(`paint: ${JSON.stringify(env)} on ${where} means ${wanted ? "colours" : "none"}`, () => {
    assertEquals(hasColours(machine(env, isTerminal), "stdout"), wanted);
  });
}

Deno.test("paint: a process that may not know the user's wish has no colours", () => {
  assertEquals(hasColours(machine({}, true, false), "stderr"), false);
});

Deno.test("paint: the marks of a report have colours, words stay, and nothing else changes", () => {
  const text = report([
    { level: "error", check: "a", subject: "upstream", message: "It failed", cure: "Start it" },
    { level: "ok", check: "b", subject: "error  in a name", message: "error: no mark" },
  ]);
  const painted = painter(machine({}, true))(text, "stdout");
  assertEquals(painted.split("\n").slice(0, 2), [
    `${ESC}[32mok${ESC}[39m       error  in a name: error: no mark`,
    `${ESC}[31m${ESC}[1merror${ESC}[22m${ESC}[39m    upstream: It failed`,
  ]);
  // deno-lint-ignore no-control-regex -- the sequences for colours begin with it
  assertEquals(painted.replace(/\x1b\[\d+m/g, ""), text);
  assertEquals(painter(machine({}, false))(text, "stdout"), text);
});

/** Runs a command line on a terminal, and returns what that shows. */
async function shownOn(args: string[], env: Record<string, string>): Promise<string> {
  let text = "";
  const platform: Platform = {
    ...deno,
    args,
    env: (name) => env[name],
    isGranted: () => true,
    isTerminal: () => true,
    command: "laneway",
    write(_, bytes) {
      text += new TextDecoder().decode(bytes);
      return Promise.resolve(bytes.length);
    },
  };
  const streams = standardStreams(platform);
  await dispatch({ platform, plugins: {}, streams }, () => Promise.resolve(0));
  await streams.flush(1_000);
  return text;
}

Deno.test("paint: a command paints on a terminal, not for NO_COLOR, and never its JSON", async () => {
  assertStringIncludes(await shownOn(["keys", "--help"], {}), `${ESC}[1mUsage:${ESC}[22m`);
  assert(!(await shownOn(["keys", "--help"], { NO_COLOR: "1" })).includes(ESC));
  assert(!(await shownOn(["version", "--json"], {})).includes(ESC));
});

Deno.test("table: cells stand in columns where a character takes two of them, or none, and numbers to the right", () => {
  assertEquals(table([["名前", "1", "x"], ["e\u0301a", "10", "y"], ["👩‍💻", "100", ""]], [1]), [
    "名前    1  x",
    "e\u0301a     10  y",
    "👩‍💻    100",
  ]);
});

Deno.test("table: a text is cut where it no longer fits, between characters", () => {
  assertEquals([cut("abcdef", 6), cut("abcdef", 5), cut("名前名", 5)], ["abcdef", "abcd…", "名前…"]);
});

Deno.test("progress: a narrow terminal gets one line, and other lines are printed above it", async () => {
  let text = "";
  const platform = {
    isTerminal: () => true,
    columns: () => 40,
    write(_: string, bytes: Uint8Array) {
      text += new TextDecoder().decode(bytes);
      return Promise.resolve(bytes.length);
    },
  };
  const streams = { flush: () => Promise.resolve() };
  await withProgress(
    { platform, streams },
    "Checking the gateway, its upstreams and their models",
    async (_, aside) => {
      await aside(() => void (text += "a result\n"));
    },
  );
  const line = "Checking the gateway, its upstreams an…";
  assertEquals(line.length, 39);
  assertEquals(text.replaceAll("\r\x1b[K", "|"), `|${line}|a result\n|${line}|`);
});
