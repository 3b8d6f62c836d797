import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { collect } from "../../../src/canonical/collect.ts";
import {
  EFFORTS,
  type GenerateRequest,
  type InputPart,
  type Message,
  type OutputPart,
  type Tool,
} from "../../../src/canonical/generate.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { replay } from "../../../src/canonical/replay.ts";
import { estimateInputTokens, estimateTextTokens } from "../../../src/canonical/estimate.ts";
import { sandbox } from "../../../plugins/sandbox/mod.ts";
import { ask, assistant, callsOf, result, system, textOf, tool, user, written } from "./support.ts";

// The first call

Deno.test("a first call is told who answers, what arrived and what to do next", () => {
  const response = ask({ messages: [system("Be brief."), user("Say hi")] });
  assertEquals(
    textOf(response),
    "This is the Laneway sandbox, which answers with no key and no network. It received 1 message and a system prompt " +
      'of 9 characters; your last text was "Say hi". Configure an upstream in gateway.json to talk to a real model.',
  );
  assertEquals(response.model, "sandbox");
  assertEquals(response.finish, { reason: "stop" });
});

Deno.test("the text lists tools, files and their media types", () => {
  const image: InputPart = { type: "file", mediaType: "image/png", source: { type: "base64", data: "AA==" } };
  const pdf: InputPart = { type: "file", mediaType: "application/pdf", source: { type: "id", id: "file-1" } };
  const text = textOf(ask({
    messages: [{ role: "user", content: [image, image, pdf] }],
    tools: [tool("a"), tool("b")],
    toolChoice: { type: "none" },
  }));
  assertStringIncludes(text, "2 tools (a, b)");
  assertStringIncludes(text, "3 files (image/png, application/pdf)");
  assertStringIncludes(text, "there was no text from you");
});

Deno.test("a long text is cut between characters, saying how much is left", () => {
  const text = textOf(ask({ messages: [user("x".repeat(299) + "😀".repeat(10))] }));
  assertStringIncludes(text, `"${"x".repeat(299)}… (20 more characters)"`);
});

Deno.test("half a character in the request does not come back", () => {
  assert(textOf(ask({ messages: [user("broken \ud83d here")] })).isWellFormed());
});

Deno.test("an agent's own notices are not taken for the user's words", () => {
  const messages = [user("Fix it", "<system-reminder>Rules</system-reminder>"), system("More rules")];
  assertStringIncludes(textOf(ask({ messages })), 'your last text was "Fix it"');
});

// Tool results

Deno.test("after tool results the answer is text that quotes them, whatever is offered or forced", () => {
  const response = ask({
    messages: [
      user("Use Read and get_weather"),
      assistant(["c1", "Read"], ["c2", "get_weather"]),
      result("c1", "No such file", true),
      result("c2", "Sunny"),
    ],
    tools: [tool("Read"), tool("get_weather")],
    toolChoice: { type: "required" },
  });
  assertEquals(callsOf(response), []);
  assertStringIncludes(textOf(response), 'the tool "Read" failed with "No such file"');
  assertStringIncludes(textOf(response), 'the tool "get_weather" answered with "Sunny"');
});

Deno.test("text that a client adds after its tool results does not start the loop again", () => {
  const response = ask({
    messages: [user("Go"), assistant(["c1", "Read"]), result("c1", "Contents"), user("Remember to Read"), system("Hm")],
    tools: [tool("Read")],
  });
  assertEquals(callsOf(response), []);
  assertStringIncludes(textOf(response), 'answered with "Contents"');
});

Deno.test("only the results that nobody has answered are quoted", () => {
  const text = textOf(ask({
    messages: [user("a"), assistant(["c1", "Old"]), result("c1", "old"), assistant(["c2", "New"]), result("c2", "new")],
  }));
  assertStringIncludes(text, "new");
  assertFalse(text.includes("old"));
});

Deno.test("many, long, foreign and orphaned results stay a short text", () => {
  const results: Message[] = Array.from({ length: 9 }, (_, index) => result(`c${index}`, "x".repeat(10_000)));
  results[0] = {
    role: "tool",
    content: [{
      type: "tool-result",
      id: "c0",
      content: [
        { type: "file", mediaType: "image/png", source: { type: "base64", data: "" } },
        { type: "opaque", extra: { wire: "w", fields: {} } },
        { type: "opaque", standIn: "a map", extra: { wire: "w", fields: {} } },
      ],
    }],
  };
  const text = textOf(ask({ messages: results }));
  assertStringIncludes(text, 'a tool answered with "[image/png] [something that only its own API can read] a map"');
  assertStringIncludes(text, "4 more results came too");
  assert(text.length < 3_000);
});

// Reasoning

Deno.test("reasoning comes first and grows with the effort", () => {
  const lengths = EFFORTS.map((effort) => {
    const [first, second] = ask({ thinking: { effort } }).content;
    assertEquals((second ?? first)?.type, "text");
    return first?.type === "reasoning" ? first.text.length : 0;
  });
  assertEquals(lengths[0], 0);
  assertEquals(lengths, [...new Set(lengths)].sort((a, b) => a - b));
});

Deno.test("reasoning is given when it is asked for, and only then", () => {
  const reasons = (thinking?: GenerateRequest["thinking"]) => ask({ thinking }).content[0]?.type === "reasoning";
  assert(reasons({ enabled: true }));
  assert(reasons({ enabled: true, effort: "low" }));
  assertFalse(reasons());
  assertFalse(reasons({}));
  assertFalse(reasons({ enabled: false, effort: "high" }));
  assertFalse(reasons({ enabled: true, effort: "none" }));
});

Deno.test("reasoning comes before a tool call and keeps to its budget", () => {
  const response = ask({ tools: [tool("lookup")], thinking: { enabled: true, budgetTokens: 7 } });
  assertEquals(response.content.map((part) => part.type), ["reasoning", "tool-call"]);
  assertEquals(response.usage.reasoningTokens, 7);
  assertEquals(response.finish, { reason: "tool-calls" });
});

// JSON

Deno.test("a schema is answered with JSON that fits it and nothing else", () => {
  const schema: JsonObject = {
    type: "object",
    properties: { title: { type: "string" }, count: { type: "integer", minimum: 3 }, done: { type: "boolean" } },
    required: ["title", "count"],
    additionalProperties: false,
  };
  const { content } = ask({ outputSchema: { name: "x", schema } });
  assertEquals(content, [{ type: "text", text: '{"title":"title","count":3,"done":false}' }]);
});

Deno.test("JSON without a schema is an object that holds the text", () => {
  const value = JSON.parse(textOf(ask({ outputSchema: {} })));
  assertEquals(Object.keys(value), ["message"]);
  assertMatch(value.message, /Laneway sandbox/);
});

Deno.test("a schema that nothing fits is answered with an empty object", () => {
  assertEquals(textOf(ask({ outputSchema: { schema: { enum: [] } } })), "{}");
});

Deno.test("a tool is called before JSON is given", () => {
  const request = { tools: [tool("lookup")], outputSchema: {} };
  assertEquals(callsOf(ask(request)).length, 1);
  const after = ask({ ...request, messages: [user("x"), assistant(["c", "lookup"]), result("c", "y")] });
  assertStringIncludes(JSON.parse(textOf(after)).message, 'answered with "y"');
});

// Limits

Deno.test("the token limit cuts the answer, reasoning first, and ends it with length", () => {
  const whole = ask({ thinking: { effort: "high" } });
  for (let maxOutputTokens = 0; maxOutputTokens < whole.usage.outputTokens; maxOutputTokens++) {
    const { content, finish, usage } = ask({ thinking: { effort: "high" }, maxOutputTokens });
    assertEquals(finish, { reason: "length" });
    // Parts are counted one by one, so the last token of a part may stay unused.
    assert(usage.outputTokens <= maxOutputTokens && usage.outputTokens >= maxOutputTokens - 1);
    for (const [index, part] of content.entries()) {
      const full = whole.content[index];
      assertEquals(part.type, full?.type);
      assert(full && written(full).startsWith(written(part)));
    }
  }
  assertEquals(ask({ thinking: { effort: "high" }, maxOutputTokens: whole.usage.outputTokens }), whole);
});

Deno.test("the token limit does not cut a character in two", () => {
  for (let maxOutputTokens = 30; maxOutputTokens < 60; maxOutputTokens++) {
    assert(textOf(ask({ messages: [user("😀".repeat(50))], maxOutputTokens })).isWellFormed());
  }
});

Deno.test("a tool call that does not fit the token limit is left out whole", () => {
  const { content, finish, usage } = ask({ tools: [tool("lookup", ["city"])], maxOutputTokens: 1 });
  assertEquals(content, []);
  assertEquals(finish, { reason: "length" });
  assertEquals(usage.outputTokens, 0);
  const tools = [tool("get_a", ["a long name of a property"]), tool("get_b")];
  assertEquals(ask({ tools, messages: [user("get_a get_b")], maxOutputTokens: 4 }).content, []);
});

Deno.test("the stop sequence that comes first ends the text before it", () => {
  for (const stopSequences of [["", "never there", "no network", "which"], ["which", "no network"]]) {
    const response = ask({ stopSequences });
    assertEquals(textOf(response), "This is the Laneway sandbox, ");
    assertEquals(response.finish, { reason: "stop", stopSequence: "which" });
  }
});

Deno.test("a limit that is reached before the stop sequence is what ends the answer", () => {
  assertEquals(ask({ stopSequences: ["gateway.json"], maxOutputTokens: 5 }).finish, { reason: "length" });
});

Deno.test("a text that is stopped at its very beginning leaves no part", () => {
  assertEquals(ask({ stopSequences: ["This"] }).content, []);
});

// Usage

Deno.test("usage counts the input and every part of the output", () => {
  const messages = [user("Count me")];
  const { content, usage } = ask({ messages, thinking: { effort: "max" } });
  const [reasoning, text] = content.map((part) => estimateTextTokens(written(part)));
  assertEquals(usage, {
    inputTokens: estimateInputTokens({ messages }),
    outputTokens: reasoning! + text!,
    reasoningTokens: reasoning!,
  });
});

// Odd input

Deno.test("requests with nothing to read are answered", () => {
  for (
    const messages of [
      [],
      [{ role: "user", content: [] }],
      [user("  \n")],
      [{ role: "user", content: [{ type: "opaque", extra: { wire: "x", fields: {} } }] }],
      [{ role: "assistant", content: [{ type: "text", text: "I begin" }] }],
      [system("Only rules")],
    ] satisfies Message[][]
  ) {
    const response = ask({ messages, tools: [] });
    assertStringIncludes(textOf(response), "there was no text from you");
    assertEquals(response.finish, { reason: "stop" });
  }
});

Deno.test("the driver answers every operation locally", () => {
  const ways = Object.entries(sandbox.operations);
  assert(ways.length > 0);
  for (const [name, way] of ways) assert("local" in way && !("request" in way), name);
});

Deno.test("an answer that somehow reaches the driver is reported as the gateway's own failure", () => {
  const error = sandbox.parseError({ status: 418, headers: new Headers(), body: null });
  assertEquals([error.code, error.message], [
    "internal",
    "The sandbox makes no call, yet it was handed an answer with status 418",
  ]);
});

const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)));
const jsonObject = fc.dictionary(fc.string(), json, { maxKeys: 4 });
const text = fc.oneof(fc.string({ unit: "binary" }), fc.string(), fc.constantFrom("", "Read", "use the Write tool"));
const extra = fc.record({ wire: fc.string(), fields: jsonObject });
const inputPart: fc.Arbitrary<InputPart> = fc.oneof(
  fc.record({ type: fc.constant("text" as const), text }),
  fc.record({
    type: fc.constant("file" as const),
    mediaType: fc.string(),
    source: fc.record({ type: fc.constant("url" as const), url: fc.webUrl() }),
  }),
  fc.record({ type: fc.constant("opaque" as const), extra }),
);
const outputPart: fc.Arbitrary<OutputPart> = fc.oneof(
  inputPart,
  fc.record({ type: fc.constantFrom("reasoning" as const, "refusal" as const), text }),
  fc.record({
    type: fc.constant("tool-call" as const),
    kind: fc.constantFrom("function" as const, "custom" as const),
    id: fc.oneof(fc.string(), fc.integer({ min: 1, max: 9 }).map((number) => `call_sandbox_${number}`)),
    name: text,
    input: text,
  }),
);
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({
    role: fc.constantFrom("system" as const, "user" as const),
    content: fc.array(inputPart, { maxLength: 4 }),
  }),
  fc.record({ role: fc.constant("assistant" as const), content: fc.array(outputPart, { maxLength: 4 }) }),
  fc.record({
    role: fc.constant("tool" as const),
    content: fc.array(fc.record({
      type: fc.constant("tool-result" as const),
      id: fc.string(),
      content: fc.array(inputPart, { maxLength: 4 }),
      isError: fc.boolean(),
    })),
  }),
);
const name = fc.oneof(fc.string(), fc.constantFrom("Read", "Write", "bash", "get_weather", "apply_patch"));
const anyTool: fc.Arbitrary<Tool> = fc.oneof(
  fc.record({ type: fc.constant("function" as const), name, parameters: fc.option(jsonObject, { nil: undefined }) }),
  fc.record({
    type: fc.constant("custom" as const),
    name,
    grammar: fc.option(fc.record({ syntax: fc.constantFrom("lark", "regex"), definition: fc.string() }), {
      nil: undefined,
    }),
  }),
  fc.record({ type: fc.constant("hosted" as const), name, extra }),
);
const request: fc.Arbitrary<Partial<GenerateRequest>> = fc.record({
  messages: fc.array(message, { maxLength: 6 }),
  tools: fc.option(fc.array(anyTool, { maxLength: 6 }), { nil: undefined }),
  toolChoice: fc.option(
    fc.oneof(
      fc.record({ type: fc.constantFrom("auto" as const, "none" as const, "required" as const) }),
      fc.record({
        type: fc.constant("tool" as const),
        kind: fc.constantFrom("function" as const, "custom" as const),
        name,
      }),
      fc.record({
        type: fc.constant("allowed" as const),
        mode: fc.constantFrom("auto" as const, "required" as const),
        names: fc.array(name),
      }),
    ),
    { nil: undefined },
  ),
  parallelToolCalls: fc.option(fc.boolean(), { nil: undefined }),
  thinking: fc.option(
    fc.record({ enabled: fc.boolean(), effort: fc.constantFrom(...EFFORTS), budgetTokens: fc.nat() }, {
      requiredKeys: [],
    }),
    { nil: undefined },
  ),
  maxOutputTokens: fc.option(fc.nat({ max: 100 }), { nil: undefined }),
  stopSequences: fc.option(fc.array(fc.string()), { nil: undefined }),
  outputSchema: fc.option(fc.record({ schema: jsonObject }, { requiredKeys: [] }), { nil: undefined }),
});

Deno.test("any request gets a well-formed answer, and the same one again", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(request, (random) => {
      const response = ask(random);
      seen.add(response.finish.reason);
      assertEquals(JSON.stringify(ask(structuredClone(random))), JSON.stringify(response));
      assertEquals(collect(replay(response)), response);
      const { usage, finish, content } = response;
      assert(usage.outputTokens <= (random.maxOutputTokens ?? Infinity));
      assert((usage.reasoningTokens ?? 0) <= usage.outputTokens && usage.inputTokens > 0);
      assertEquals(finish.reason === "tool-calls", finish.reason !== "length" && callsOf(response).length > 0);
      for (const part of content) assert(part.type === "tool-call" || written(part) !== "");

      const earlier = random.messages!.flatMap((message) => message.content as (OutputPart & { id?: string })[]);
      const ids = callsOf(response).map((call) => call.id);
      assertEquals(new Set(ids).size, ids.length);
      assertFalse(earlier.some((part) => part.id !== undefined && ids.includes(part.id)));
      for (const call of callsOf(response)) {
        if (call.kind === "function") {
          assertEquals(Object.prototype.toString.call(JSON.parse(call.input)), "[object Object]");
        }
      }
    }),
    { seed: 20261120, numRuns: 500 },
  );
  assertEquals([...seen].sort(), ["length", "stop", "tool-calls"]);
});
