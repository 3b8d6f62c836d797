/** Clients of some wires name the tool whose result they send, and no call: a result is one of the latest calls. */
import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { chatWhole, CONFIG } from "./support.ts";

const LEFT = { a: "left, because the user went on" };
const [FIRST, SECOND] = [{ a: 1 }, { a: 2 }];

/** A call that nobody answers, then two calls of the same tool, whose results have no ids. */
const CONVERSATIONS: Record<string, { path: string; body: object }> = {
  gemini: {
    path: "/oss/v1beta/models/chat:generateContent",
    body: {
      contents: [
        { role: "user", parts: [{ text: "Look" }] },
        { role: "model", parts: [{ functionCall: { name: "look", args: LEFT } }] },
        { role: "user", parts: [{ text: "No, look there" }] },
        { role: "model", parts: [FIRST, SECOND].map((args) => ({ functionCall: { name: "look", args } })) },
        {
          role: "user",
          parts: ["One", "Two"].map((output) => ({ functionResponse: { name: "look", response: { output } } })),
        },
      ],
    },
  },
  ollama: {
    path: "/oss/api/chat",
    body: {
      model: "chat",
      stream: false,
      messages: [
        { role: "user", content: "Look" },
        { role: "assistant", content: "", tool_calls: [{ function: { name: "look", arguments: LEFT } }] },
        { role: "user", content: "No, look there" },
        ...[FIRST, SECOND].map((args) => ({
          role: "assistant",
          content: "",
          tool_calls: [{ function: { name: "look", arguments: args } }],
        })),
        { role: "tool", tool_name: "look", content: "One" },
        { role: "tool", tool_name: "look", content: "Two" },
      ],
    },
  },
};

for (const [wire, { path, body }] of Object.entries(CONVERSATIONS)) {
  Deno.test(`results: without ids they are those of the latest calls, not of one that was left · ${wire}`, async () => {
    const upstream = fakeUpstream(() => Response.json(chatWhole({ content: "Seen" })));
    const app = newApp({ config: CONFIG, fetch: upstream.fetch });
    const response = await app.post(path, body);
    assertEquals(response.status, 200, await response.text());
    const messages = JSON.parse(upstream.asked[0]!.body).messages as JsonObject[];
    const calls = messages.flatMap(({ tool_calls }) => (tool_calls ?? []) as { id: string; function: JsonObject }[]);
    const results = new Map(messages.map(({ tool_call_id, content }) => [tool_call_id, content]));
    assertEquals(calls.map((call) => [JSON.parse(String(call.function.arguments)), results.get(call.id)]), [
      [LEFT, "Error: The call was not answered"],
      [FIRST, "One"],
      [SECOND, "Two"],
    ]);
  });
}
