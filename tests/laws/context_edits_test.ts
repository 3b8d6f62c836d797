/** Edits of conversations that clients ask for, on histories that grow. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { ClearThinking, ClearToolUses } from "../../src/canonical/editing.ts";
import { estimateInputTokens } from "../../src/canonical/estimate.ts";
import type { HostedPart, Message, OutputPart, ToolResultPart } from "../../src/canonical/generate.ts";
import { applyEdits, CLEARED } from "../../src/transforms/editing.ts";
import { runUnsliced } from "../../src/util/sliced_work.ts";
import { law } from "../support/law.ts";

const apply = (...asked: Parameters<typeof applyEdits>) => runUnsliced(applyEdits(...asked));

const NAMES = ["read", "bash", "look"];

const resultText = fc.oneof(
  fc.constant(""),
  fc.string({ maxLength: 60 }),
  fc.nat(4_000).map((length) => "é".repeat(length)),
);

/** One step of a conversation. Models repeat ids, results get lost, and some come for no call. */
const step = fc.oneof(
  fc.record({ kind: fc.constant("user" as const), text: fc.string() }),
  fc.record({
    kind: fc.constant("calls" as const),
    thinks: fc.boolean(),
    calls: fc.array(
      fc.record({
        id: fc.constantFrom("a", "b", "c", "d"),
        name: fc.constantFrom(...NAMES),
        input: fc.constantFrom("{}", '{"path":"/a/long/path/to/a/file"}'),
        result: fc.option(resultText),
        isPicture: fc.boolean(),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  }),
  fc.record({ kind: fc.constant("answer" as const), thinks: fc.boolean(), says: fc.boolean() }),
  fc.record({ kind: fc.constant("stray" as const), text: resultText }),
  fc.record({
    kind: fc.constant("search" as const),
    text: resultText,
    of: fc.constantFrom("hits", "page", "executed", "content"),
  }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const REASONING: OutputPart = { type: "reasoning", text: "Let me think about that for a while." };

/** A use of a tool that the gateway ran. */
function searched(of: string, text: string): HostedPart {
  const place = { number: 7, url: "https://a.test/", title: "A" };
  switch (of) {
    case "hits":
      return {
        type: "hosted",
        id: "w",
        call: { kind: "web-search", query: "a" },
        result: { kind: "hits", hits: [{ ...place, text }] },
      };
    case "page": {
      const page = { url: place.url, text, mediaType: "text/plain" };
      return { type: "hosted", id: "w", call: { kind: "web-fetch", url: place.url }, result: { kind: "page", page } };
    }
    case "executed":
      return {
        type: "hosted",
        id: "w",
        call: { kind: "code", code: "print(1)", container: "container_1" },
        result: { kind: "executed", stdout: text, stderr: "", exitCode: 0, files: [] },
      };
    default:
      return {
        type: "hosted",
        id: "w",
        call: { kind: "mcp", server: "s", name: "read", input: "{}" },
        result: { kind: "content", content: [{ type: "text", text }] },
      };
  }
}

function messagesOf(one: Step): Message[] {
  switch (one.kind) {
    case "user":
      return [{ role: "user", content: [{ type: "text", text: one.text }] }];
    case "stray":
      return [{
        role: "tool",
        content: [{ type: "tool-result", id: "x", content: [{ type: "text", text: one.text }] }],
      }];
    case "search":
      return [{ role: "assistant", content: [searched(one.of, one.text)] }];
    case "answer": {
      const text: OutputPart = { type: "text", text: "Done" };
      return [{ role: "assistant", content: [...one.thinks ? [REASONING] : [], ...one.says ? [text] : []] }];
    }
    case "calls": {
      const calls = one.calls.map(({ id, name, input }): OutputPart => ({
        type: "tool-call",
        kind: "function",
        id,
        name,
        input,
      }));
      const results = one.calls.flatMap(({ id, result, isPicture }): ToolResultPart[] =>
        result === null ? [] : [{
          type: "tool-result",
          id,
          isError: true,
          content: [
            { type: "text", text: result },
            ...isPicture
              ? [{
                type: "file" as const,
                mediaType: "image/png",
                source: { type: "url" as const, url: "https://a.test" },
              }]
              : [],
          ],
        }]
      );
      return [
        { role: "assistant", content: [...one.thinks ? [REASONING] : [], ...calls] },
        ...results.length > 0 ? [{ role: "tool" as const, content: results }] : [],
      ];
    }
  }
}

const toolUses = fc.record({
  kind: fc.constant("tool uses" as const),
  type: fc.constant("clear_tool_uses"),
  trigger: fc.oneof(
    fc.record({ inputTokens: fc.nat(3_000) }),
    fc.record({ toolUses: fc.nat(5) }),
  ),
  keep: fc.nat(4),
  clearAtLeast: fc.option(fc.nat(2_000), { nil: undefined }),
  exclude: fc.subarray(NAMES),
  inputs: fc.oneof(fc.boolean(), fc.subarray(NAMES)),
}) as fc.Arbitrary<ClearToolUses>;
const thinking: fc.Arbitrary<ClearThinking> = fc.record({
  kind: fc.constant("thinking" as const),
  type: fc.constant("clear_thinking"),
  keep: fc.oneof(fc.constant("all" as const), fc.integer({ min: 1, max: 4 })),
});
const edits = fc.tuple(fc.option(thinking), fc.option(toolUses)).map((both) => both.filter((one) => one !== null));
const history = fc.array(step, { maxLength: 25 }).map((steps) => steps.flatMap(messagesOf));

/** What no edit may touch: who speaks, the ids of calls and results, and their order. */
const shapeOf = (messages: readonly Message[]) =>
  messages.map(({ role, content }) => [
    role,
    (content as OutputPart[]).flatMap((part): unknown[] =>
      part.type === "reasoning" ? [] : [[part.type, "id" in part ? part.id : "", "name" in part ? part.name : ""]]
    ),
  ]);

law("context edits: no pair of call and result breaks, no turn is lost or emptied", fc.tuple(history, edits), ([
  messages,
  wanted,
]) => {
  const before = structuredClone(messages);
  const edited = apply({ messages }, wanted).messages;
  assertEquals(messages, before);
  assertEquals(shapeOf(edited), shapeOf(messages));
  for (const [index, { content }] of edited.entries()) {
    assertEquals(content.length === 0, messages[index]!.content.length === 0);
  }
});

law("context edits: the latest result and all that is excluded stay", fc.tuple(history, toolUses), ([
  messages,
  edit,
]) => {
  const edited = apply({ messages }, [edit]).messages;
  const names = new Map<string, string>();
  let latest: [OutputPart | ToolResultPart, unknown] | undefined;
  for (const [at, { role, content }] of messages.entries()) {
    for (const [index, part] of content.entries()) {
      const after = edited[at]!.content[index]!;
      if (part.type === "tool-call") names.set(part.id, part.name);
      if (part.type === "tool-call" && edit.exclude.includes(part.name)) assertEquals(after, part);
      if (part.type === "hosted") {
        if (part.call.kind === "mcp" && edit.exclude.includes(part.call.name)) assertEquals(after, part);
        latest = [part, after];
      }
      if (role !== "tool" || part.type !== "tool-result") continue;
      const name = names.get(part.id);
      if (name === undefined || edit.exclude.includes(name)) assertEquals(after, part);
      if (names.delete(part.id)) latest = [part, after];
    }
  }
  if (latest) assertEquals(latest[1], latest[0]);
});

law("context edits: twice is the same as once, and what was cleared is counted", fc.tuple(history, edits), ([
  messages,
  wanted,
]) => {
  const once = apply({ messages }, wanted);
  assertEquals(apply(once, wanted), { messages: once.messages, applied: [] });
  const cleared = once.applied.reduce((sum, { inputTokens }) => sum + inputTokens, 0);
  const [before, after] = [estimateInputTokens({ messages }), estimateInputTokens(once)];
  assert(before - after === cleared, `${before} - ${after} is not ${cleared}`);
  for (const { count } of once.applied) assert(count > 0);
});

/** The numbers of the messages that an edit changed. */
const changedIn = (before: readonly Message[], after: readonly Message[]) =>
  before.flatMap((message, at) => message === after[at] ? [] : [at]);

law(
  "context edits: a longer history keeps what was cleared, and clears anew only behind it",
  fc.tuple(history, history, toolUses),
  ([messages, more, edit]) => {
    const longer = [...messages, ...more];
    const [short, long] = [
      apply({ messages }, [edit]).messages,
      apply({ messages: longer }, [edit]).messages,
    ];
    const results = (of: readonly Message[]) =>
      of.flatMap(({ role, content }) => role === "tool" ? content.map((part) => JSON.stringify(part)) : []);
    const isCleared = (text: string) => text.includes(CLEARED);
    const [was, is] = [results(short), results(long)];
    for (const [at, text] of was.entries()) if (isCleared(text)) assertEquals(is[at], text);
  },
);

law(
  "context edits: with whole batches, most added turns change nothing before them",
  fc.tuple(history, fc.array(step, { maxLength: 3 }).map((steps) => steps.flatMap(messagesOf))),
  ([messages, more]) => {
    const edit: ClearToolUses = {
      kind: "tool uses",
      type: "clear_tool_uses",
      trigger: { toolUses: 1 },
      keep: 0,
      clearAtLeast: 3_000,
      exclude: [],
      inputs: false,
    };
    const [short] = [apply({ messages }, [edit])];
    const long = apply({ messages: [...messages, ...more] }, [edit]);
    const [was, is] = [short, long].map(({ applied }) => applied[0]?.inputTokens ?? 0) as [number, number];
    if (is === was) assertEquals(long.messages.slice(0, messages.length), short.messages);
    else assert(is - was >= 3_000);
  },
);

Deno.test("context edits: one that changes nothing returns the messages themselves", () => {
  const messages = messagesOf({ kind: "answer", thinks: true, says: true });
  const result = apply({ messages }, [{ kind: "thinking", type: "clear_thinking", keep: 1 }]);
  assertEquals([changedIn(messages, result.messages), result.messages === messages], [[], true]);
});

Deno.test("context edits: what the gateway found is cleared, and keeps the numbers that citations name", () => {
  const text = "word ".repeat(100);
  const messages = (["hits", "page", "content", "executed", "hits"] as const).flatMap((of) =>
    messagesOf({ kind: "search", of, text })
  );
  const edit = (exclude: string[]): ClearToolUses => ({
    ...{ kind: "tool uses", type: "clear_tool_uses", trigger: { toolUses: 1 }, keep: 1, inputs: false },
    exclude,
  });
  const tools = [{
    type: "hosted" as const,
    name: "web_search",
    work: { kind: "web-search" as const, opensPages: false },
    extra: { wire: "messages", fields: {} },
  }];
  const resultsOf = (of: readonly Message[]) =>
    of.map(({ content }) => content[0]!.type === "hosted" ? content[0]!.result : undefined);
  const own = resultsOf(messages);
  const left = resultsOf(apply({ messages, tools }, [edit([])]).messages);
  assertEquals(left.slice(0, 4), [
    { kind: "hits", hits: [{ number: 7, url: "https://a.test/", title: "A", text: "" }] },
    { kind: "page", page: { url: "https://a.test/", text: CLEARED, mediaType: "text/plain" } },
    { kind: "content", content: [{ type: "text", text: CLEARED }] },
    { kind: "executed", stdout: CLEARED, stderr: "", exitCode: 0, files: [] },
  ]);
  assertEquals(left[4], own[4]);
  assertEquals(resultsOf(apply({ messages, tools }, [edit(["web_search"])]).messages)[0], own[0]);
});
