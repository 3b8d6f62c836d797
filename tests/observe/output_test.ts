import { assert, assertEquals } from "@std/assert";
import { createOutput, type OutputOptions } from "../../src/observe/output.ts";
import { until } from "../support/wait.ts";

/** A reader that takes what it is told to, in pieces of any size. */
function newReader(options: Partial<OutputOptions> = {}) {
  const state = { text: "", room: 0, wants: () => {}, fails: undefined as Error | undefined, most: Infinity };
  const output = createOutput({
    async write(bytes) {
      while (state.room === 0 && !state.fails) await new Promise<void>((resolve) => state.wants = resolve);
      if (state.room === 0) throw state.fails!;
      const length = Math.min(bytes.length, state.room, state.most);
      state.room -= length;
      state.text += new TextDecoder().decode(bytes.subarray(0, length));
      return length;
    },
    dropped: (count) => `(${count} dropped)`,
    ...options,
  });
  const take = (bytes: number) => {
    state.room += bytes;
    state.wants();
  };
  return { state, output, take, lines: () => state.text.split("\n").slice(0, -1) };
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}`);

for (const most of [1, 7, Infinity]) {
  Deno.test(`output: lines come out whole and in order, ${most} bytes a write`, async () => {
    const { state, output, take, lines } = newReader();
    state.most = most;
    for (const line of numbered(1_000)) output.print(line);
    take(1_000_000);
    await output.flush(10_000);
    assertEquals(lines(), numbered(1_000));
  });
}

for (const limitBytes of [1, 100, 5_000]) {
  Deno.test(`output: beyond ${limitBytes} bytes lines are dropped, and their number stands where they would`, async () => {
    const { output, take, lines } = newReader({ limitBytes });
    for (const line of numbered(2_000)) output.print(line);
    take(1_000_000);
    await output.flush(10_000);
    const printed = lines();
    const dropped = Number(printed.at(-1)!.match(/^\((\d+) dropped\)$/)![1]);
    assertEquals(printed.slice(0, -1), numbered(2_000 - dropped));
    assert(printed.join("\n").length < limitBytes + 4_200, "It kept more than it may");
    for (const line of ["after", "that"]) {
      output.print(line);
      await output.flush(10_000);
    }
    assertEquals(lines().slice(-2), ["after", "that"]);
  });
}

Deno.test("output: a text of several lines is dropped as so many", async () => {
  const { output, take, lines } = newReader({ limitBytes: 7 });
  for (const text of ["first", "second", "a\nb\nc\nd\ne\nf", "g"]) output.print(text);
  take(1_000);
  await output.flush(10_000);
  assertEquals(lines(), ["first", "second", "(7 dropped)"]);
});

Deno.test("output: a line that is longer than all that may wait is told where nothing else waits", async () => {
  const { output, take, lines } = newReader({ limitBytes: 10 });
  output.print("x".repeat(100));
  take(1_000);
  await output.flush(10_000);
  assertEquals(lines(), ["x".repeat(100)]);
});

Deno.test("output: a reader that takes nothing holds up the end for so long and no longer", async () => {
  const { output } = newReader();
  output.print("line");
  await output.flush(20);
});

Deno.test("output: where lines cannot be written that is told once, and the next ones begin on a line of their own", async () => {
  const failures: unknown[] = [];
  const { state, output, take, lines } = newReader({ failed: (thrown) => failures.push((thrown as Error).message) });
  state.fails = new Error("No space left on device (os error 28)");
  take(3);
  output.print("first");
  output.print("second");
  await output.flush(10_000);
  assertEquals([state.text, failures], ["fir", ["No space left on device (os error 28)"]]);
  state.fails = undefined;
  output.print("third");
  take(1_000);
  await output.flush(10_000);
  assertEquals(lines(), ["fir", "third"]);
  state.fails = new Error("again");
  state.room = 0;
  output.print("fourth");
  await until(() => failures.length === 2);
});
