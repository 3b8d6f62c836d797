import { assert, assertEquals } from "@std/assert";
import type { GenerateRequest } from "../../src/canonical/generate.ts";
import { estimateInputTokens, estimateTextTokens } from "../../src/canonical/estimate.ts";
import { addUsage, completeUsage } from "../../src/canonical/usage.ts";

const request: GenerateRequest = {
  model: "m",
  stream: false,
  messages: [{ role: "user", content: [{ type: "text", text: "How warm is it in Oslo?" }] }],
};

function withMore(more: Partial<GenerateRequest>): number {
  return estimateInputTokens({ ...request, ...more });
}

Deno.test("a text is about as many tokens as models' vocabularies make of it", () => {
  assertEquals(estimateTextTokens(""), 0);
  // Counts of o200k, a common vocabulary of open models.
  const known: [text: string, tokens: number][] = [
    ["The quick brown fox jumps over the lazy dog.", 10],
    ["你好,世界!今天天气怎么样?", 10],
    ["Größenänderung für Übersichtlichkeit", 10],
  ];
  for (const [text, tokens] of known) {
    const estimate = estimateTextTokens(text);
    assert(estimate >= tokens * 0.8 && estimate <= tokens * 2, `${text}: ${estimate} for ${tokens}`);
  }
});

Deno.test("everything that a model reads counts: turns, tools, files, schema", () => {
  const plain = withMore({});
  const more: Partial<GenerateRequest>[] = [
    { messages: [...request.messages, { role: "system", content: [{ type: "text", text: "Be brief." }] }] },
    {
      messages: [...request.messages, {
        role: "assistant",
        content: [{ type: "reasoning", text: "Let me look that up." }],
      }],
    },
    {
      messages: [...request.messages, {
        role: "assistant",
        content: [{ type: "tool-call", kind: "function", id: "a", name: "f", input: '{"city":"Oslo"}' }],
      }],
    },
    {
      messages: [...request.messages, {
        role: "tool",
        content: [{ type: "tool-result", id: "a", content: [{ type: "text", text: "12 degrees" }] }],
      }],
    },
    {
      messages: [{
        role: "user",
        content: [{ type: "file", mediaType: "image/png", source: { type: "url", url: "https://example.org/a.png" } }],
      }],
    },
    { tools: [{ type: "function", name: "get_weather", parameters: { type: "object", properties: {} } }] },
    { outputSchema: { schema: { type: "object", properties: { celsius: { type: "number" } } } } },
  ];
  for (const extra of more) assert(withMore(extra) > plain, JSON.stringify(extra));
});

Deno.test("no request is free", () => {
  assert(withMore({ messages: [] }) > 0);
});

Deno.test("an estimated usage says that it is one, and never 0", () => {
  assertEquals(completeUsage({}, { inputTokens: 7 }, 0), { inputTokens: 7, outputTokens: 1, estimated: true });
});

Deno.test("usage: several tries cost what each of them cost", () => {
  const first = { inputTokens: 5, outputTokens: 2, cachedInputTokens: 1, reasoningTokens: 1 };
  const second = { inputTokens: 8, outputTokens: 3, reasoningTokens: 2, estimated: true } as const;
  assertEquals(addUsage(first, second), {
    inputTokens: 13,
    outputTokens: 5,
    cachedInputTokens: 1,
    reasoningTokens: 3,
    estimated: true,
  });
  assertEquals(addUsage({ inputTokens: 1, outputTokens: 1 }, { inputTokens: 1, outputTokens: 1 }), {
    inputTokens: 2,
    outputTokens: 2,
  });
});
