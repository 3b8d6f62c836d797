/** What the page Inspect makes of a record: lines, the notes at them, steps, and lines for a shell. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { curlOf } from "../../src/console/curl.js";
import { lineOf, linesOf, notesAt } from "../../src/console/json_lines.js";
import { inOneColumn, partsOf, rowsOf } from "../../src/console/design/diff_view.js";
import { addressOf, readAddress } from "../../src/console/inspect_address.js";
import { stepsOf } from "../../src/console/timeline.js";

Deno.test("inspect: JSON is written as JSON.stringify writes it", () => {
  const values = [
    {},
    [],
    { a: [], b: {} },
    { "a b": [1, [null, { c: "d\n" }], true], e: { f: { g: "<h>" } } },
    [{ type: "text" }, "x"],
    "text",
    null,
  ];
  for (const value of values) {
    assertEquals(linesOf(value).map(({ text }) => text).join("\n"), JSON.stringify(value, null, 2));
  }
  const deep = linesOf(JSON.parse("[".repeat(1_000) + "]".repeat(1_000)));
  assert(deep.length < 300 && deep.every(({ text }) => text.length < 300), "What is too deep is not written out");
  assertEquals(lineOf("dropped constructor", linesOf({ constructor: 1 })), 1);
  const [line] = linesOf("x".repeat(5_000));
  assert(line!.text.length < 2_100 && line!.text.endsWith("(5000 characters)"));
});

Deno.test("inspect: a note stands at the field that it is about", () => {
  const body = {
    model: "m",
    max_completion_tokens: 9,
    top_k: 5,
    reasoning_effort: "high",
    service_tier: "auto",
    response_format: { type: "json_schema" },
    messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:," } }] }],
    tools: [{ type: "function", function: { name: "look.up" } }, { type: "web_search" }],
  };
  const lines = linesOf(body);
  const about: [note: string, text: string | undefined][] = [
    ["dropped top_k", '  "top_k": 5,'],
    ["clamped max_tokens 128000>32768", '  "max_completion_tokens": 9,'],
    ["clamped effort minimal>low", '  "reasoning_effort": "high",'],
    ["dropped service_tier", '  "service_tier": "auto",'],
    ["asked for response_format by instruction", '  "response_format": {'],
    ["dropped tool web_search", '      "type": "web_search"'],
    ["repaired arguments of look.up", '        "name": "look.up"'],
    ["dropped a file of type image/png", '          "type": "image_url",'],
    ["estimated usage", undefined],
    ["could not store the response", undefined],
  ];
  for (const [note, text] of about) {
    const at = lineOf(note, lines);
    assertEquals(at === undefined ? undefined : lines[at]!.text, text, note);
  }
  const answer = linesOf({ content: [{ type: "reasoning", text: "So." }, { type: "thinking", text: "So." }] });
  assertEquals(lineOf("clamped effort minimal>low", answer), undefined, "how much was to be thought is no thought");
  const marks = notesAt(["dropped top_k", "estimated usage"], lines);
  assertEquals([...marks.values()], [["dropped top_k"]]);
});

Deno.test("inspect: a line for a shell says exactly what was sent, whatever is in it", async () => {
  const text = `{"a":"it's $HOME \`id\` \\" ! \\\\n","b":"<\u00e9>\\n"}`;
  const request = {
    method: "POST",
    url: "http://127.0.0.1:1/o'ss/v1?x=$(id)",
    headers: [["content-type", "application/json"], ["x-`id`", "it's $1"], ["authorization", "Bearer ***"], [
      "host",
      "h",
    ]] as [string, string][],
    body: { text, bytes: new TextEncoder().encode(text).length, kept: new TextEncoder().encode(text).length },
  };
  const script = `curl() { printf '%s\\0' "$@"; }\n${curlOf(request, "KEY")}`;
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script], env: { KEY: "the-key" } }).output();
  assertEquals(new TextDecoder().decode(stdout).split("\0").slice(0, -1), [
    "-X",
    "POST",
    request.url,
    "-H",
    "content-type: application/json",
    "-H",
    "x-`id`: it's $1",
    "-H",
    "authorization: Bearer the-key",
    "--data-raw",
    text,
  ]);
  const cut = curlOf({ ...request, body: { ...request.body, kept: 5 } }, "KEY");
  assert(!cut.includes("--data-raw") && cut.includes("only a part of it"));
});

Deno.test("inspect: the timeline has every call, what came of it, and the end", () => {
  const steps = stepsOf({
    calls: [
      { at: 2, headAt: 10, endAt: 11, target: "a/m", reason: "first", status: 500 },
      { at: 12, target: "b/m", reason: "hedge", error: "lost" },
      { at: 12, headAt: 20, endAt: 40, target: "c/m", reason: "failover", status: 200 },
      { at: 40, headAt: 40, endAt: 41, target: "c/m", reason: "first", status: 200, isFollowUp: true },
    ],
    events: [{ at: 11, what: "failed", name: "a/m", detail: "upstream_error" }, {
      at: 30,
      what: "hosted tool",
      name: "fetch",
    }],
    entry: { durationMs: 41, firstEventMs: 21, status: 200 },
  });
  assertEquals(steps.map(({ from, to, text, isBad }) => [from, to, text, isBad === true]), [
    [0, undefined, "The client sent the request", false],
    [2, 11, "a/m, first attempt: 500 after 8 ms", true],
    [11, undefined, "a/m: failed, upstream_error", true],
    [12, undefined, "b/m, hedge: lost", true],
    [12, 40, "c/m, failover: 200 after 8 ms", false],
    [21, undefined, "First event of the answer", false],
    [30, undefined, "fetch: hosted tool", false],
    [40, 41, "c/m, follow-up: 200 after 0 ms", false],
    [41, undefined, "Finished: 200", false],
  ]);
});

Deno.test("inspect: a wait in a queue, the two halves of a call, and a tool with its end are bars", () => {
  const steps = stepsOf({
    calls: [{ at: 12, headAt: 20, endAt: 40, target: "a/m", reason: "first", status: 200 }],
    events: [
      { at: 12, from: 2, what: "queued", name: "a/m" },
      { at: 40, what: "hosted tool", name: "web-search" },
      { at: 41, what: "hosted tool", name: "web-fetch" },
      { at: 50, what: "hosted tool ended", name: "web-search" },
      { at: 60, what: "hosted tool ended", name: "web-fetch", detail: "timeout" },
    ],
  });
  assertEquals(steps.map(({ kind, from, mid, to, text, isBad }) => [kind, from, mid, to, text, isBad === true]), [
    [undefined, 0, undefined, undefined, "The client sent the request", false],
    ["queue", 2, undefined, 12, "a/m: waited for its turn", false],
    ["call", 12, 20, 40, "a/m, first attempt: 200 after 8 ms", false],
    ["tool", 40, undefined, 50, "web-search: hosted tool", false],
    ["tool", 41, undefined, 60, "web-fetch: hosted tool, timeout", true],
  ]);
});

Deno.test("inspect: a call that waits for its answer while the request runs has not failed", () => {
  const call = { at: 2, target: "a/m", reason: "first" };
  const of = (more: object, entry?: { durationMs: number; status: number }) =>
    stepsOf({ calls: [{ ...call, ...more }], events: [], entry, elapsedMs: 7 })[1]!;
  for (
    const [more, text] of [
      [{}, "a/m, first attempt: waiting for an answer"],
      [{ headAt: 5, status: 200 }, "a/m, first attempt: 200 after 3 ms"],
    ] as const
  ) {
    const { isOpen, isBad = false, text: own, to } = of(more);
    assertEquals([own, isOpen, isBad, to], [text, true, false, 7]);
  }
  const { isOpen, isBad, text } = of({}, { durationMs: 9, status: 502 });
  assertEquals([text, isOpen, isBad], ["a/m, first attempt: no answer", undefined, true]);
});

Deno.test("inspect: an address is read as it was written, and any other one opens something", () => {
  const addresses = [
    { filter: "" },
    { filter: 'model:"a b" 100% & more=?' },
    { id: "req_1", view: "answer" as const },
    { id: "filter=&?#%", view: "steps" as const },
    { id: "req_1", view: "compare" as const, other: "req_&2" },
  ];
  for (const address of addresses) assertEquals(readAddress(addressOf(address)), address);
  for (const hash of ["#inspect", "#inspect?", "#inspect?%", "#inspect?&compare"]) {
    assertEquals(readAddress(hash), { filter: "" }, hash);
  }
  assertEquals(readAddress("#inspect?req_1&constructor"), { id: "req_1", view: "answer" });
});

Deno.test("inspect: two texts as rows hold every line of both, in order, and fold only what is the same", () => {
  const lines = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 40 }).map((all) => all.join("\n"));
  fc.assert(fc.property(lines, lines, (before, after) => {
    const rows = rowsOf(before, after);
    const side = (which: "left" | "right") => rows.flatMap((row) => row[which] ?? []);
    assertEquals(side("left").map(({ text }) => text).join("\n"), before);
    assertEquals(side("right").map(({ text }) => text).join("\n"), after);
    for (const which of ["left", "right"] as const) {
      assertEquals(side(which).map(({ number }) => number), side(which).map((_, at) => at + 1));
    }
    for (const { isSame, left, right } of rows) assertEquals(isSame, isSame && left?.text === right?.text);
    const one = inOneColumn(rows);
    for (const which of ["left", "right"] as const) {
      assertEquals(one.flatMap((row) => row[which] ?? []), side(which));
    }
    for (const [at, { isSame, left }] of one.entries()) {
      assert(
        isSame || !left || one[at - 1]?.isSame !== false || one[at - 1]?.left,
        "A line that is gone is below one that came",
      );
    }
    const parts = partsOf(rows);
    assertEquals(parts.flatMap((part) => part.rows), rows);
    for (const part of parts) assert(!part.isSame || part.rows.every(({ isSame }) => isSame));
  }));
  const numbers = Array.from({ length: 30 }, (_, at) => String(at));
  const parts = partsOf(rowsOf(numbers.join("\n"), numbers.with(20, "x").join("\n")));
  assertEquals(parts.map(({ isSame, rows }) => [isSame, rows.length]), [[true, 17], [false, 7], [true, 6]]);
});
