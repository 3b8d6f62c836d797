import { assertEquals } from "@std/assert";
import type { GenerateRequest } from "../../../src/canonical/generate.ts";
import { promptOf } from "../../../plugins/chat/prompt.ts";
import { newContext } from "../../support/context.ts";

const TARGET = { upstream: "server", model: "org/qwen3-8b", systemMessages: "first" } as const;

function prompt(more: Partial<GenerateRequest>, target: Partial<Parameters<typeof promptOf>[1]> = {}) {
  const input: GenerateRequest = { model: "model", stream: true, messages: [], ...more };
  return promptOf(input, { ...TARGET, ...target }, newContext("messages"));
}

Deno.test("arguments of calls are objects, also where the model wrote no JSON", () => {
  const call = (input: string) => ({ type: "tool-call", kind: "function", id: "a", name: "f", input }) as const;
  const result = { role: "tool", content: [{ type: "tool-result", id: "a", content: [] }] } as const;
  const rendered = ['{"city":"Oslo"}', "", "[1]", '{"city":'].map((input) => {
    const messages = [{ role: "assistant" as const, content: [call(input)] }, {
      ...result,
      content: [...result.content],
    }];
    const [turn] = prompt({ messages: messages as unknown as GenerateRequest["messages"] }).messages;
    return (turn!.tool_calls as { function: { arguments: unknown } }[])[0]!.function.arguments;
  });
  assertEquals(rendered, [{ city: "Oslo" }, {}, { input: [1] }, { input: '{"city":' }]);
});

Deno.test("every turn's content is a text, without its pictures", () => {
  const picture = { type: "file", mediaType: "image/png", source: { type: "base64", data: "AAAA" } } as const;
  const { messages } = prompt({
    messages: [
      { role: "user", content: [{ type: "text", text: "Look" }, picture, { type: "text", text: "closely" }] },
      { role: "assistant", content: [{ type: "tool-call", kind: "function", id: "a", name: "f", input: "{}" }] },
    ],
  });
  assertEquals(messages.map(({ content }) => content), ["Look\nclosely", ""]);
});

Deno.test("tools are functions, and what a template may look at beside the turns is told by name", () => {
  const tools = [{ type: "function" as const, name: "f", parameters: { type: "object", properties: {} } }];
  const { tools: offered, variables } = prompt({ tools, thinking: { enabled: false } }, { dialect: "template" });
  assertEquals(offered?.map(({ type }) => type), ["function"]);
  assertEquals(variables, { enable_thinking: false });
});
