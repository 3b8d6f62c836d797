import { assertEquals } from "@std/assert";
import { watchTerminal } from "../../src/cli/terminal.ts";

/** Standard streams of which these are at a terminal until it is closed. */
function streamsOf(...atTerminal: boolean[]) {
  let isOpen = true;
  const names = ["stdin", "stdout", "stderr"];
  const isTerminal = (stream: string) => atTerminal[names.indexOf(stream)]! && isOpen;
  return { streams: { isTerminal }, close: () => isOpen = false };
}

Deno.test("terminal: it is gone once none of the streams is at one any more that was", () => {
  for (const atTerminal of [[true, true, true], [true, false, false], [false, false, true]]) {
    const { streams, close } = streamsOf(...atTerminal);
    const terminal = watchTerminal(streams);
    assertEquals(terminal.isGone(), false);
    close();
    assertEquals(terminal.isGone(), true);
  }
});

Deno.test("terminal: where there was none at the start, as in a service, none is gone", () => {
  const { streams, close } = streamsOf(false, false, false);
  const terminal = watchTerminal(streams);
  close();
  assertEquals(terminal.isGone(), false);
});
