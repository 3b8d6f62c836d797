/** How long an answer may be, where the conversation that the model is asked with is another than the client's. */
import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { type ConfigInput, newApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

const WINDOW = 4_000;
const LONG = "word ".repeat(2_500);

async function compactedBy(driver: "chat" | "messages", body: object): Promise<{ sent: JsonObject[]; notes: string }> {
  const config: ConfigInput = {
    upstreams: { fake: { driver, baseUrl: "http://upstream.test/v1" } },
    lanes: {
      oss: {
        models: {
          model: { task: "chat", contextLength: WINDOW, targets: [{ upstream: "fake", model: "org/model" }] },
        },
      },
    },
  };
  const upstream = fakeUpstream(() => {
    if (driver === "chat") return answerWhole("A summary.");
    const content = [{ type: "text", text: "A summary." }];
    const usage = { input_tokens: 1, output_tokens: 1 };
    return Response.json({ type: "message", role: "assistant", model: "m", content, stop_reason: "end_turn", usage });
  });
  const response = await newApp({ config, fetch: upstream.fetch }).post("/oss/v1/responses", {
    model: "model",
    context_management: [{ type: "compaction", compact_threshold: 1_000 }],
    ...body,
  });
  assertEquals(response.status, 200);
  const notes = response.headers.get("x-laneway-notes") ?? "";
  await response.body?.cancel();
  return { sent: upstream.asked.map(({ body }) => JSON.parse(body)), notes };
}

const input = [
  { role: "user", content: "Tell me all" },
  { role: "assistant", content: LONG },
  { role: "user", content: "Go on" },
];

Deno.test("an answer after a summary may be as long as the client says, if the summary leaves room for it", async () => {
  const { sent, notes } = await compactedBy("chat", { input, max_output_tokens: 3_000 });
  assertEquals([sent.length, sent[1]!.max_tokens ?? sent[1]!.max_completion_tokens, notes], [2, 3_000, ""]);
  // Where it is not shortened, the conversation leaves no room.
  const whole = await compactedBy("chat", { input, max_output_tokens: 3_000, context_management: undefined });
  assert((whole.sent[0]!.max_tokens as number) < 2_000);
  assertEquals(whole.notes, `clamped max_tokens 3000>${whole.sent[0]!.max_tokens}`);
});

Deno.test("an answer after a summary may be as long as the summary leaves room for", async () => {
  const { sent } = await compactedBy("messages", { input });
  const [before, after] = sent.map(({ max_tokens }) => max_tokens as number);
  assert(before! < 2_000, "the summary has what the long conversation leaves");
  assert(after! > 3_000 && after! < WINDOW, "and the answer what the summary leaves");
});
