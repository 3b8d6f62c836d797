import { assertEquals } from "@std/assert";
import { newApp } from "../../support/app.ts";

const ANSWER = {
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
};

/** The headers and the body that an upstream of the messages wire is sent for a request to `path`. */
async function sent(path: string, body: object, headers: HeadersInit): Promise<{ headers: Headers; body: object }> {
  const requests: Request[] = [];
  const app = newApp({
    config: {
      upstreams: { vendor: { driver: "messages", baseUrl: "http://upstream.test/v1" } },
      lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "vendor", model: "claude-m" }] } } } },
    },
    fetch(input, init) {
      requests.push(new Request(input, init));
      return Promise.resolve(Response.json(ANSWER));
    },
  });
  const response = await app.post(path, { model: "model", ...body }, headers);
  assertEquals([response.status, response.headers.get("x-laneway-notes")], [200, null]);
  await response.body?.cancel();
  return { headers: requests[0]!.headers, body: await requests[0]!.json() };
}

const BETAS = "context-management-2025-06-27,effort-2025-11-24";
const MESSAGES = [{ role: "user", content: "Hello" }];

Deno.test("messages: the vendor hears of the betas that its client uses, and of the fields that need them", async () => {
  const context_management = { edits: [{ type: "clear_thinking_20251015", keep: "all" }] };
  const { headers, body } = await sent(
    "/oss/v1/messages",
    { messages: MESSAGES, max_tokens: 9, context_management },
    { "anthropic-version": "2026-10-21", "anthropic-beta": BETAS },
  );
  assertEquals([headers.get("anthropic-beta"), headers.get("anthropic-version")], [BETAS, "2023-06-01"]);
  assertEquals(body, { model: "claude-m", max_tokens: 9, messages: MESSAGES, context_management });
});

Deno.test("messages: betas are not for clients of another wire to set", async () => {
  const { headers } = await sent("/oss/v1/chat/completions", { messages: MESSAGES }, { "anthropic-beta": BETAS });
  assertEquals([headers.has("anthropic-beta"), headers.get("anthropic-version")], [false, "2023-06-01"]);
});
