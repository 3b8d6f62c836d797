/** Numbers and filters as the console's pages write and read them. */
import { assertEquals } from "@std/assert";
import { roundUp } from "../../src/console/design/chart.js";
import { jsonLines } from "../../src/console/design/code.js";
import { filterText, matcherOf, parseFilter, valuesOf } from "../../src/console/filter.js";
import { csvOf, linesOf, sumsBy } from "../../src/console/usage_sums.js";
import { ago, inDollars, inPercent, inShort, inTime } from "../../src/console/words.js";

Deno.test("console: numbers have their units, and small ones keep digits that say something", () => {
  assertEquals([undefined, 0, 999.4, 1_234, 61_000].map(inTime), ["–", "0 ms", "999 ms", "1.23 s", "1 min 1 s"]);
  assertEquals([0, 950, 12_345, 4_567_890].map(inShort), ["0", "950", "12.3K", "4.57M"]);
  assertEquals([undefined, "0", 0.00000123, 0.0042, "0.1", 12.345, 12_345].map(inDollars), [
    "–",
    "$0",
    "$0.000001",
    "$0.0042",
    "$0.10",
    "$12.35",
    "$12.3K",
  ]);
  assertEquals([inPercent(1, 0), inPercent(0, 5), inPercent(1, 300), inPercent(1, 3)], ["–", "0 %", "0.3 %", "33 %"]);
  const now = Date.parse("2027-01-02T00:00:00Z");
  const times = ["2027-01-01T23:59:30Z", "2027-01-01T23:00:00Z", "2026-12-31T00:00:00Z"];
  assertEquals(times.map((time) => ago(time, now)), ["30 sec. ago", "1 hr. ago", "2 days ago"]);
  assertEquals([0, 0.3, 7, 10, 11, 2_500].map(roundUp), [1, 0.3, 8, 10, 15, 3_000]);
});

Deno.test("console: a filter is one text, which words and conditions come back from", () => {
  const conditions = [{ field: "client", value: "agent one" }, { field: "status", value: "error" }] as const;
  const text = filterText("two words", conditions);
  assertEquals(text, 'client:"agent one" status:error two words');
  assertEquals(parseFilter(text), { words: ["two", "words"], conditions: [...conditions] });
  assertEquals(parseFilter("other:thing model:"), { words: ["other:thing", "model:"], conditions: [] });
});

Deno.test("console: all words have to fit a request, and one condition of each field", () => {
  const entry = { id: "req_1", time: "", path: "/", model: "glm", key: 'a "b" c', status: 429, client: "Agent" };
  for (
    const [text, fits] of [
      ["", true],
      ["agent GLM", true],
      ["agent kimi", false],
      ["model:glm", true],
      ["model:gl", false],
      ["model:kimi model:glm", true],
      ["model:glm status:ok", false],
      ["status:error status:ok", true],
      ["status:429", true],
      ['key:"a b c"', true],
      [filterText("", [{ field: "key", value: 'a "b" c' }]), true],
      ["lane:none", false],
    ] as const
  ) assertEquals(matcherOf(text)(entry), fits, text);
  assertEquals(valuesOf([entry, entry, { ...entry, status: undefined }], "status", 2), [["429", 2], ["error", 2]]);
});

Deno.test("console: JSON as lines says where each value ends, and cuts what is too long or too deep", () => {
  const lines = jsonLines({ a: [1, { b: "x" }], c: {} });
  assertEquals(lines.map(({ depth, key, text, after }) => `${" ".repeat(depth)}${key ?? ""}${text}${after}`), [
    "{",
    " a[",
    "  1,",
    "  {",
    '   b"x"',
    "  }",
    " ],",
    " c{}",
    "}",
  ]);
  assertEquals(lines.map(({ end }) => end), [
    8,
    6,
    undefined,
    5,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  const [long] = jsonLines("x".repeat(3_000));
  assertEquals(long!.text.endsWith('"… (3000 characters)'), true);
  let deep: unknown = 1;
  for (let times = 0; times < 200; times++) deep = [deep];
  assertEquals(jsonLines(deep).length, 201);
});

const usageOf = (key: string, day: string, requests: number) => ({
  key,
  model: "model",
  day,
  requests,
  inputTokens: 10 * requests,
  outputTokens: requests,
  ...key !== "free" && { dollars: `${requests / 2}` },
});

Deno.test("console: usage is summed by group, and the small groups of a chart are one", () => {
  const days = ["2027-01-01", "2027-01-02"];
  const rows = ["a", "b", "c", "d", "e", "free"].flatMap((key, index) => [
    usageOf(key, days[0]!, 10 - index),
    usageOf(key, days[1]!, 1),
  ]);
  assertEquals(sumsBy(rows, "key")[5], {
    name: "free",
    requests: 6,
    input: 60,
    output: 6,
    dollars: 0,
    isPriced: false,
  });
  assertEquals(linesOf(rows, "key", "requests", days), [
    { name: "a", values: [10, 1] },
    { name: "b", values: [9, 1] },
    { name: "c", values: [8, 1] },
    { name: "d", values: [7, 1] },
    { name: "others", values: [11, 2] },
  ]);
  assertEquals(linesOf(rows.slice(0, 2), "model", "tokens", ["2026-12-31", ...days]), [
    { name: "model", values: [0, 110, 11] },
  ]);
  assertEquals(linesOf(rows, "day", "dollars", days), [{ name: "All", values: [20, 2.5] }]);
});

Deno.test("console: a name in exported usage is no formula, whatever it says", () => {
  const text = csvOf([{ ...usageOf('=HYPERLINK("http://x")', "2027-01-01", 3), model: "a, b" }]);
  assertEquals(text.split("\r\n"), [
    "day,key,model,requests,inputTokens,outputTokens,dollars",
    `2027-01-01,"'=HYPERLINK(""http://x"")","a, b",3,30,3,1.5`,
    "",
  ]);
});
