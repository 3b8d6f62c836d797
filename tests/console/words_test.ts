/** Numbers and filters as the console's pages write and read them. */
import { assertEquals } from "@std/assert";
import { TASK_OF } from "../../src/canonical/operations.ts";
import { jsonLines } from "../../src/console/design/code.js";
import { filterText, matcherOf, parseFilter, valuesOf } from "../../src/console/filter.js";
import { changeOf, choiceIn, linesOf, measureOf, queryOf, tokenLines } from "../../src/console/usage_view.js";
import {
  ago,
  inBytes,
  inDollars,
  inPercent,
  inShort,
  inSpan,
  inTime,
  kindIn,
  programIn,
  roundUp,
  settingInWords,
} from "../../src/console/words.js";

Deno.test("console: every kind of request has a word, but for conversations", () => {
  const { generate: _generate, relay: _relay, ...others } = TASK_OF;
  const kinds = [...Object.keys(others), "thread"];
  assertEquals(
    kinds.filter((kind) => kindIn(kind) === kind && !["rerank", "thread", "files", "conversation"].includes(kind)),
    [],
  );
  assertEquals([undefined, "complete", "thread", "rerank", "files"].map(kindIn), [
    undefined,
    "completion",
    "thread",
    "rerank",
    "files",
  ]);
  const [completion, chat] = [{ kind: "complete" }, {}].map((more) => ({ id: "1", time: "", path: "", ...more }));
  assertEquals([completion!, chat!].map(matcherOf("completion")), [true, false]);
});

Deno.test("console: numbers have their units, and small ones keep digits that say something", () => {
  assertEquals([undefined, 0, 999.4, 1_234, 61_000].map(inTime), ["–", "0 ms", "999 ms", "1.23 s", "1 min 1 s"]);
  assertEquals([0, 950, 1_234, 12_345, 4_567_890].map(inShort), ["0", "950", "1,234", "12.3K", "4.57M"]);
  assertEquals([undefined, "0", 0.00000008, 0.00000123, 0.0042, "0.1", 12.345, 12_345].map(inDollars), [
    "–",
    "$0",
    "<$0.000001",
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
  assertEquals(valuesOf([entry, entry, { ...entry, status: undefined }], "status", 3), [
    ["error", 2],
    ["running", 1],
    ["429", 2],
  ]);
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

const grouped = (name: string, requests: number[], p95: (number | null)[] = []) => ({
  name,
  values: { requests, durationMs: { p95 } },
});

Deno.test("console: the small groups of a chart are one, unless they cannot be added", () => {
  const groups = ["a", "b", "c", "d", "e", "", "other"].map((name, index) =>
    grouped(name, [10 - index, 1], [index, null])
  );
  const answer = { groups } as unknown as Parameters<typeof linesOf>[0];
  assertEquals(linesOf(answer, measureOf("requests")), [
    { name: "a", values: [10, 1] },
    { name: "b", values: [9, 1] },
    { name: "c", values: [8, 1] },
    { name: "d", values: [7, 1] },
    { name: "other", values: [15, 3] },
  ]);
  assertEquals(linesOf(answer, measureOf("p95")).map(({ name }) => name), ["none", "e", "d", "c", "b"]);
  const few = { groups: groups.slice(4) } as unknown as Parameters<typeof linesOf>[0];
  assertEquals(linesOf(few, measureOf("requests")).map(({ name }) => name), ["e", "none", "other"]);
});

Deno.test("console: the kinds of tokens do not overlap", () => {
  const values = { inputTokens: [10, 5], cachedTokens: [4, 9], outputTokens: [8, 0], reasoningTokens: [3, 0] };
  const lines = tokenLines(values as unknown as Parameters<typeof tokenLines>[0]);
  assertEquals(lines.map(({ values }) => values), [[4, 9], [6, 0], [5, 0], [3, 0]]);
});

Deno.test("console: the choices of usage stand in the address, whatever somebody wrote there", () => {
  const text = "range=7d&by=key&compare=true&measure=dollars&model=a%26b&model=c&key=";
  const choice = choiceIn(text);
  assertEquals(
    new URLSearchParams(queryOf(choice, { isAddress: true })).toString(),
    new URLSearchParams(text).toString(),
  );
  assertEquals(choice.filter.length, 3);
  const { from, to } = choiceIn("from=5&to=9");
  assertEquals([from, to], [5, 9]);
  for (const bad of ["from=9&to=5", "range=__proto__&by=constructor&measure=x", "%", "from=1"]) {
    assertEquals(queryOf(choiceIn(bad)), "range=24h&by=model", bad);
  }
});

Deno.test("console: a change is said in percent, if there is anything to compare with", () => {
  assertEquals([changeOf(15, 10), changeOf(5, 10), changeOf(10, 10)], ["+50 %", "−50 %", "±0 %"]);
  assertEquals([changeOf(5, 0), changeOf(null, 5), changeOf(5, undefined)], [undefined, undefined, undefined]);
});

Deno.test("words: how long something lasts, how large it is, and the name of a setting", () => {
  const spans = [0, 42_000, 60_000, 3_725_000, 273_600_000, -5].map(inSpan);
  assertEquals(spans, ["0 s", "42 s", "1 min", "1 h 2 min", "3 d 4 h", "0 s"]);
  assertEquals([inBytes(204_400_000), inBytes(2_140_000_000)], ["204 MB", "2.1 GB"]);
  assertEquals(inPercent(1, 100_000), "< 0.1 %");
  assertEquals(settingInWords(["keys", "#", "budget"]), "keys[].budget");
  assertEquals(settingInWords(["upstreams", "*", "relax"]), "upstreams.<name>.relax");
});

Deno.test("console: a client is named without the rest of what it says about itself", () => {
  const names = [
    "claude-cli/2.1.329 (external, cli)",
    "opencode/1.18.33 ai-sdk/3.0.92",
    "OpenAI/Python 2.8.0",
    undefined,
  ];
  assertEquals(names.map(programIn), ["claude-cli/2.1.329", "opencode/1.18.33", "OpenAI/Python 2.8.0", undefined]);
});
