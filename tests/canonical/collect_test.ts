import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { collect, collectFrom } from "../../src/canonical/collect.ts";
import type { GenerateEvent, GenerateResponse } from "../../src/canonical/generate.ts";
import { GatewayError } from "../../src/errors.ts";
import { sourceOf } from "../../src/util/event_source.ts";

const start: GenerateEvent = { type: "start", model: "m", inputTokens: 1 };
const finish: GenerateEvent = {
  type: "finish",
  finish: { reason: "tool-calls", raw: "tool_calls" },
  usage: { inputTokens: 10, outputTokens: 4, reasoningTokens: 2 },
};

const events: GenerateEvent[] = [
  start,
  { type: "part-start", index: 0, part: { type: "reasoning", text: "" } },
  { type: "part-delta", index: 0, delta: { type: "reasoning", text: "hm" } },
  { type: "part-delta", index: 0, delta: { type: "reasoning", text: "…" } },
  { type: "part-end", index: 0, opaque: { origin: "x", data: "sig" }, extra: { wire: "x", fields: { late: 1 } } },
  { type: "part-start", index: 1, part: { type: "text", text: "" } },
  { type: "part-delta", index: 1, delta: { type: "text", text: "Hi" } },
  { type: "part-end", index: 1, annotations: [{ type: "url-citation", url: "https://example.org" }] },
  { type: "part-start", index: 2, part: { type: "refusal", text: "" } },
  { type: "part-delta", index: 2, delta: { type: "refusal", text: "No" } },
  { type: "part-end", index: 2 },
  { type: "part-start", index: 3, part: { type: "tool-call", kind: "function", id: "a", name: "f", input: "" } },
  { type: "part-delta", index: 3, delta: { type: "tool-input", text: '{"a":' } },
  { type: "part-delta", index: 3, delta: { type: "tool-input", text: "1}" } },
  { type: "part-end", index: 3 },
  finish,
];

Deno.test("a stream's parts, ending and usage are the answer's", async () => {
  const response: GenerateResponse = {
    model: "m",
    content: [
      {
        type: "reasoning",
        text: "hm…",
        opaque: { origin: "x", data: "sig" },
        extra: { wire: "x", fields: { late: 1 } },
      },
      { type: "text", text: "Hi", annotations: [{ type: "url-citation", url: "https://example.org" }] },
      { type: "refusal", text: "No" },
      { type: "tool-call", kind: "function", id: "a", name: "f", input: '{"a":1}' },
    ],
    finish: finish.finish,
    usage: finish.usage,
  };
  assertEquals(collect(events), response);
  assertEquals(await collectFrom(sourceOf(events)), response);
});

Deno.test("collecting leaves the events as they were", () => {
  const before = structuredClone(events);
  collect(events);
  assertEquals(events, before);
});

Deno.test("what a stream carries for its own wire comes together from its first and last event", () => {
  const response = collect([
    { ...start, extra: { wire: "x", fields: { a: 1, b: 1 } } },
    { ...finish, extra: { wire: "x", fields: { b: 2 } } },
  ]);
  assertEquals(response.extra, { wire: "x", fields: { a: 1, b: 2 } });
});

Deno.test("an error event is thrown", async () => {
  const error = new GatewayError("rate_limit", "Slow down");
  const failing: GenerateEvent[] = [start, { type: "error", error }];
  assertEquals(assertThrows(() => collect(failing)), error);
  assertEquals(await assertRejects(() => collectFrom(sourceOf(failing))), error);
});

Deno.test("a stream that just stops is an error, not an answer", () => {
  const error = assertThrows(() => collect(events.slice(0, -1)), GatewayError);
  assertEquals(error.code, "upstream_error");
});
