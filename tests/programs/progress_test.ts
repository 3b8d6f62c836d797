/** What a command shows while it runs: one line on a terminal that goes away, and nothing in a pipe. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { probe } from "../../src/programs/probe/mod.ts";
import { withProgress } from "../../src/programs/progress.ts";
import type { Platform } from "../../src/platform/platform.ts";
import { deno } from "../../src/platform/deno.ts";
import { chatServer, withServer } from "./probed.ts";

const CLEAR = "\r\x1b[K";

function terminalOf(isTerminal: boolean) {
  let text = "";
  return {
    text: () => text,
    isTerminal: (stream: string) => isTerminal && stream === "stderr",
    write(to: string, bytes: Uint8Array) {
      assertEquals(to, "stderr");
      text += new TextDecoder().decode(bytes);
      return Promise.resolve(bytes.length);
    },
  };
}

function programAt(platform: Pick<Platform, "isTerminal" | "write">, flush = () => Promise.resolve()) {
  return { platform, streams: { flush } };
}

Deno.test("progress: what was printed before is on the terminal first", async () => {
  const terminal = terminalOf(true);
  const printed = Promise.withResolvers<void>();
  const running = withProgress(programAt(terminal, () => printed.promise), "Working", () => Promise.resolve(7));
  await Promise.resolve();
  assertEquals(terminal.text(), "");
  printed.resolve();
  assertEquals([await running, terminal.text()], [7, `${CLEAR}Working (0 s)${CLEAR}`]);
});

Deno.test("progress: it is shown at once, changes in place, and is gone at the end, whatever the end is", async () => {
  const terminal = terminalOf(true);
  const result = await withProgress(programAt(terminal), "Working", (show) => {
    assertEquals(terminal.text(), `${CLEAR}Working (0 s)`);
    show("Nearly there");
    return Promise.resolve(7);
  });
  assertEquals(result, 7);
  assertMatch(terminal.text().replaceAll(CLEAR, "|"), /\|Nearly there \(\d+ s\)\|$/);
  assert(!terminal.text().includes("\n"));
  const failing = terminalOf(true);
  await assertRejects(
    () => withProgress(programAt(failing), "Working", () => Promise.reject(new Error("lost"))),
    Error,
    "lost",
  );
  assert(failing.text().endsWith(CLEAR));
});

Deno.test("progress: a terminal that is gone keeps nobody from the result", async () => {
  const gone = { isTerminal: () => true, write: () => Promise.reject(new Error("EIO")) };
  assertEquals(await withProgress(programAt(gone), "Working", () => Promise.resolve(7)), 7);
});

Deno.test("probe: the requests are counted on a terminal, and a pipe gets the report alone", () =>
  withServer(chatServer({}), async (url) => {
    for (const isTerminal of [true, false]) {
      const terminal = terminalOf(isTerminal);
      const lines: string[] = [];
      const print = (text: string) => void lines.push(text);
      const streams = { print, say: print, log() {}, warn() {}, flush: () => Promise.resolve() };
      const platform = { ...deno, isTerminal: terminal.isTerminal, write: terminal.write };
      assertEquals(await probe([url], undefined, { platform, plugins: {}, streams }), 0);
      if (isTerminal) assertMatch(terminal.text(), /Asking 127\.0\.0\.1:\d+: request 20 of about 40 \(\d+ s\)/);
      else assertEquals(terminal.text(), "");
      assertMatch(lines.join("\n"), /^http:\/\/127\.0\.0\.1:\d+\/v1: /);
    }
  }));
