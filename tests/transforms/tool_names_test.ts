import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { offeredNames } from "../../src/transforms/call_names.ts";
import { upstreamName, withUpstreamNames } from "../../src/transforms/tool_names.ts";
import type { GenerateRequest, Tool } from "../../src/canonical/generate.ts";

const tool = (name: string): Tool => ({ type: "function", name });

Deno.test("names of tools: any name is one that servers take, another for each, and found again", () => {
  const anyName = fc.oneof(fc.string({ minLength: 1 }), fc.stringMatching(/^mcp__[a-z_.]{60,90}$/));
  fc.assert(
    fc.property(fc.uniqueArray(anyName, { maxLength: 20 }), (names) => {
      const sent = names.map(upstreamName);
      for (const name of sent) assert(/^[\w-]{1,64}$/.test(name), name);
      assertEquals(new Set(sent).size, names.length);
      const own = offeredNames(names.map(tool));
      assertEquals(sent.map((name) => own.get(name)), names);
    }),
    { seed: 20261121 },
  );
});

Deno.test("names of tools: they are the same in tools, choice and history, and a request without such names stays itself", () => {
  const long = `files.${"read_".repeat(20)}`;
  const request: GenerateRequest = {
    model: "m",
    stream: false,
    tools: [tool(long), tool("look"), { type: "hosted", name: "web.search", extra: { wire: "w", fields: {} } }],
    toolChoice: { type: "tool", kind: "function", name: long },
    messages: [
      { role: "assistant", content: [{ type: "tool-call", kind: "function", id: "1", name: long, input: "{}" }] },
    ],
  };
  const { tools, toolChoice, messages } = withUpstreamNames(request);
  const name = upstreamName(long);
  assertEquals(tools?.map((one) => one.name), [name, "look", "web.search"]);
  assertEquals(toolChoice, { type: "tool", kind: "function", name });
  assertEquals(messages[0]!.content, [{ type: "tool-call", kind: "function", id: "1", name, input: "{}" }]);
  const plain = { ...request, tools: [tool("look")], toolChoice: undefined, messages: [] };
  assertStrictEquals(withUpstreamNames(plain), plain);
});
