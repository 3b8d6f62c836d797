import { assertEquals, assertStrictEquals } from "@std/assert";
import type { HostedPart, Message, OutputPart, Tool } from "../../src/canonical/generate.ts";
import type { HostedResult, HostedWork } from "../../src/canonical/hosted.ts";
import { functionChoice, functionsFor, needsApproval, readCall } from "../../src/transforms/hosted_functions.ts";
import { withHostedFunctions, withHostedHistory } from "../../src/transforms/hosted_history.ts";
import { assertCheap } from "../support/cost.ts";

const SEARCH: HostedWork = { kind: "web-search", opensPages: true, domains: { allowed: ["example.com"] } };
const hosted = (name: string, work: HostedWork): Tool => ({
  type: "hosted",
  name,
  work,
  extra: { wire: "w", fields: {} },
});
const search = hosted("web_search", SEARCH);
const docs = (more: object = {}): HostedWork => ({ kind: "mcp", server: "docs", approval: "never", ...more });
const listed = new Map([["docs", [
  { name: "find", parameters: { type: "object" }, annotations: { readOnlyHint: true } },
  { name: "write", parameters: { type: "object" } },
]]]);
const own = (name: string): Tool => ({ type: "function", name });
const names = (tools: Tool[]) => functionsFor(tools, listed).map(({ tool }) => tool.name);

Deno.test("a search is offered as a function for each thing that it does, named so that clients' own names stay free", () => {
  assertEquals(names([search]), ["web_search", "web_search_open_page", "web_search_find_in_page"]);
  assertEquals(names([own("web_search"), hosted("web_search", { ...SEARCH, opensPages: false })]), ["web_search_2"]);
  assertEquals(names([hosted("fetch", { kind: "web-fetch" })]), ["web_fetch"]);
});

Deno.test("of a remote server's tools those are offered that the client allows", () => {
  assertEquals(names([hosted("mcp", docs())]), ["docs_find", "docs_write"]);
  assertEquals(names([hosted("mcp", docs({ allowedTools: ["write"] }))]), ["docs_write"]);
  assertEquals(names([hosted("mcp", docs({ readOnly: true }))]), ["docs_find"]);
});

Deno.test("a remote tool's call waits for the client where the client says so", () => {
  const waits = (approval: unknown) =>
    functionsFor([hosted("mcp", docs({ approval }))], listed).filter(needsApproval).map(({ remote }) => remote?.name);
  assertEquals(waits("always"), ["find", "write"]);
  assertEquals(waits("never"), []);
  assertEquals(waits({ never: { names: ["find"] } }), ["write"]);
  assertEquals(waits({ never: { readOnly: true } }), ["write"]);
  assertEquals(waits({ always: { names: ["find"] }, never: {} }), ["find"]);
});

Deno.test("what the model wrote is read as the call that it is, or as none", () => {
  const [find, open, within] = functionsFor([search]);
  assertEquals(readCall(find!, '{"query":" deno "}'), { kind: "web-search", query: "deno" });
  assertEquals(readCall(open!, '{"url":"https://a.test/"}'), { kind: "web-fetch", url: "https://a.test/" });
  assertEquals(readCall(within!, '{"url":"https://a.test/"}'), undefined);
  for (const input of ["", "{}", '{"query":""}', '{"query":7}', "deno", "[]", '{"query":']) {
    assertEquals(readCall(find!, input), undefined);
  }
});

Deno.test("a choice of a hosted tool is one of its functions", () => {
  const functions = functionsFor([search]);
  assertEquals(functionChoice({ type: "tool", kind: "function", name: "web_search" }, functions), {
    type: "tool",
    kind: "function",
    name: "web_search",
  });
  assertEquals(functionChoice({ type: "allowed", mode: "required", names: ["web_search", "mine"] }, functions), {
    type: "allowed",
    mode: "required",
    names: ["web_search", "web_search_open_page", "web_search_find_in_page", "mine"],
  });
});

const call = (id: string): HostedPart => ({ type: "hosted", id, call: { kind: "web-search", query: id } });
const HITS: HostedResult = {
  kind: "hits",
  hits: [{ number: 1, url: "https://a.test/", title: "A", text: "It is so." }],
};
const done = (id: string, result: HostedResult = HITS): HostedPart => ({ ...call(id), result });
const text = (words: string): OutputPart => ({ type: "text", text: words });
const turn = (...content: OutputPart[]): Message => ({ role: "assistant", content });
const outline = (messages: Message[]) =>
  messages.map(({ role, content }) => [
    role,
    ...content.map((part) =>
      part.type === "tool-call" || part.type === "tool-result"
        ? `${part.type} ${part.id}`
        : part.type === "text"
        ? part.text
        : part.type
    ),
  ]);

Deno.test("what hosted tools did becomes the turns of a model that called functions", () => {
  const functions = functionsFor([search]);
  const shown = (...content: OutputPart[]) => outline(withHostedHistory([turn(...content)], functions, () => {}));
  assertEquals(shown(text("Let me see"), call("a"), done("a"), text("It is so")), [
    ["assistant", "Let me see", "tool-call a"],
    ["tool", "tool-result a"],
    ["assistant", "It is so"],
  ]);
  const parallel = [["assistant", "tool-call a", "tool-call b"], ["tool", "tool-result a", "tool-result b"]];
  assertEquals(shown(call("a"), call("b"), done("a"), done("b")), parallel);
  assertEquals(shown(done("a"), done("b")), [
    ["assistant", "tool-call a"],
    ["tool", "tool-result a"],
    ["assistant", "tool-call b"],
    ["tool", "tool-result b"],
  ], "a wire that tells a call and its result at once tells one after the other");
});

Deno.test("a client's own call in the same turn stays beside the hosted one, and what never ran is left out", () => {
  const functions = functionsFor([search]);
  const mine: OutputPart = { type: "tool-call", kind: "function", id: "mine", name: "mine", input: "{}" };
  const after: Message = { role: "tool", content: [{ type: "tool-result", id: "mine", content: [] }] };
  assertEquals(outline(withHostedHistory([turn(call("a"), mine, done("a")), after], functions, () => {})), [
    ["assistant", "tool-call a", "tool-call mine"],
    ["tool", "tool-result a"],
    ["tool", "tool-result mine"],
  ]);
  assertEquals(outline(withHostedHistory([turn(call("a"), mine), after], functions, () => {})), [
    ["assistant", "tool-call mine"],
    ["tool", "tool-result mine"],
  ]);
});

Deno.test("what was found is shown as numbered data; where no such tool is offered any more, as words", () => {
  const [, result] = withHostedHistory([turn(done("a"))], functionsFor([search]), () => {});
  const [shown] = (result as Extract<Message, { role: "tool" }>).content;
  const words = shown!.content.map((part) => part.type === "text" ? part.text : "").join();
  assertEquals(
    /do not follow instructions/.test(words) && /\[1\] A – https:\/\/a\.test\/\nIt is so\./.test(words),
    true,
    words,
  );
  const [only] = withHostedHistory([turn(done("a"))], [], () => {});
  assertEquals(only!.role, "assistant");
  assertEquals(JSON.stringify(only).includes("It is so."), true);
});

Deno.test("a conversation without hosted steps stays the very same", () => {
  const messages = [turn(text("a"))];
  assertStrictEquals(withHostedHistory(messages, functionsFor([search]), () => {}), messages);
});

Deno.test("hosted tools stand as functions where they stood; one that nothing runs stays", () => {
  const unknown: Tool = { type: "hosted", name: "code", extra: { wire: "w", fields: {} } };
  const all = [own("a"), hosted("web_search", { ...SEARCH, opensPages: false }), unknown, own("b")];
  const { tools } = withHostedFunctions({ model: "m", stream: false, messages: [], tools: all }, {
    functions: functionsFor(all),
    isLast: false,
  }, () => {});
  assertEquals(tools?.map(({ type, name }) => `${type} ${name}`), [
    "function a",
    "function web_search",
    "hosted code",
    "function b",
  ]);
});

Deno.test("turns that are joined around a call keep the fields that only the client's wire knows", () => {
  const messages: Message[] = [
    { role: "assistant", content: [{ type: "tool-call", kind: "function", id: "c", name: "own", input: "{}" }] },
    { role: "assistant", content: [{ type: "text", text: "hi" }], extra: { wire: "w", fields: { x_new: 1 } } },
    {
      role: "assistant",
      content: [{ type: "hosted", id: "a", call: { kind: "web-search", query: "deno" } }],
    },
  ];
  const [turn] = withHostedHistory(messages, functionsFor([search]), () => {});
  assertEquals((turn as { extra?: unknown }).extra, { wire: "w", fields: { x_new: 1 } });
});

Deno.test("thousands of hosted steps beside a call that waits for the client cost little", async () => {
  const count = 20_000;
  const mine: OutputPart = { type: "tool-call", kind: "function", id: "mine", name: "mine", input: "{}" };
  const texts = Array.from({ length: count }, () => text("a"));
  const steps = Array.from({ length: count }, (_, at) => [call(`h${at}`), done(`h${at}`)]).flat();
  const functions = functionsFor([search]);
  await assertCheap(200, () => {
    const turns = withHostedHistory([turn(...texts, mine, ...steps)], functions, () => {});
    assertEquals(turns.map(({ role }) => role), ["assistant", "tool"]);
    assertEquals(turns.map(({ content }) => content.length), [2 * count + 1, count]);
  });
});
