/** The address of Live, the columns of its charts, and the kinds of errors. */
import { assertEquals } from "@std/assert";
import { Entries } from "../../src/console/entries.js";
import { matcherOf } from "../../src/console/filter.js";
import { columnsIn, wantedIn } from "../../src/console/live_query.js";
import { choiceIn, errorLines, requestsOf } from "../../src/console/usage_view.js";

Deno.test("console: a time, a program and an order are part of a filter", () => {
  const time = new Date(10_000).toISOString();
  const entry = { id: "req_1", time, path: "/", status: 200, durationMs: 500, client: "claude-cli/2.3.1 (x)" };
  for (
    const [text, fits] of [
      ["time:10000-10500", true],
      ["time:10501-20000", false],
      ["time:9-5", false],
      ["time:x", false],
      ["client:claude-cli", true],
      ["client:claude", false],
      ['client:"claude-cli/2.3.1 (x)"', true],
      ["range:7d sort:cost-down", true],
    ] as const
  ) assertEquals(matcherOf(text)(entry), fits, text);
  const { order, range, span, isAll } = wantedIn("sort:cost-down range:24h");
  assertEquals([order, range.value, span, isAll], [{ by: "cost", isUp: false }, "24h", undefined, true]);
  assertEquals(wantedIn("range:__proto__ time:5-9").span, { from: 5, to: 9 });
  assertEquals(wantedIn("range:__proto__").range.value, "5m");
});

Deno.test("console: the charts of Live have the requests of the time that is shown, or are read from kept sums", () => {
  const entries = new Entries();
  const ended = [3, 14, 15].map((second, number) => ({
    number,
    id: `req_${number}`,
    time: new Date(second * 1_000).toISOString(),
    path: "/",
    status: number === 0 ? 429 : 200,
    error: number === 0 ? "rate_limit" : undefined,
    notes: ["relaxed b: refused", "dropped a"],
    durationMs: 0,
  }));
  entries.take({ feed: "one", next: 3, ended });
  const drawn = (text: string) => columnsIn(wantedIn(text), entries.ended.filter(matcherOf(text)), 1_000_000, entries);
  assertEquals(drawn("range:15m")!.columns.length, 90);
  assertEquals([drawn("range:1h"), drawn("time:3000-14000")], [undefined, undefined], "They are older than 15 minutes");
  const { columns, last, isOver } = columnsIn(wantedIn("time:3000-14000"), ended.slice(0, 2), 20_000, entries)!;
  assertEquals([columns.map((sums) => sums?.requests), last, isOver], [[1, 1], 10_000, true]);
  const [first] = columns;
  assertEquals([first!.kinds, first!.notes, first!.relaxations], [{ rate_limit: 1 }, 2, 1]);
});

Deno.test("console: the kinds of errors are all errors, and a group leads to its requests", () => {
  const values = { errors: [5, 2], failed: [1, 0], rateLimited: [2, 0], rejected: [1, 0], closed: [1, 0] };
  const lines = errorLines(values as unknown as Parameters<typeof errorLines>[0]);
  assertEquals(lines.map(({ values }) => values[0]), [1, 2, 1, 1, 0]);
  assertEquals(lines.at(-1), { name: "Other", values: [0, 2] }, "Those that were counted before they had kinds");
  const choice = choiceIn("by=key&model=a%20b&key=other");
  assertEquals(decodeURIComponent(requestsOf(choice, "anna")), '#live?model:"a b" key:anna');
});
