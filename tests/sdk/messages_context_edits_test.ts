/** Conversations of which the client has parts cleared, as the vendor's own client asks for it. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import Anthropic from "anthropic-sdk";
import type { JsonObject } from "../../src/canonical/json.ts";
import { CLEARED } from "../../src/transforms/editing.ts";
import { CONFIG, type ConfigInput, newApp } from "../support/app.ts";
import { ANSWER, answerStream, ENDING, frame } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

type Body = Anthropic.Beta.Messages.MessageCreateParamsNonStreaming;
type Turn = Anthropic.Beta.Messages.BetaMessageParam;

const LONG = "The file says much. ".repeat(100);

/** So many uses of a tool, after which the user asks for more. */
function history(uses: number): Turn[] {
  const turns: Turn[] = [{ role: "user", content: "Read the files" }];
  for (let at = 0; at < uses; at++) {
    turns.push({
      role: "assistant",
      content: [
        { type: "thinking", thinking: `I need file ${at}`, signature: "" },
        { type: "tool_use", id: `call_${at}`, name: "read", input: { path: `/file/${at}` } },
      ],
    }, { role: "user", content: [{ type: "tool_result", tool_use_id: `call_${at}`, content: LONG }] });
  }
  return [...turns, { role: "assistant", content: "All read." }, { role: "user", content: "Go on" }];
}

const TOOL_USES = {
  type: "clear_tool_uses_20250919" as const,
  trigger: { type: "input_tokens" as const, value: 1_000 },
  keep: { type: "tool_uses" as const, value: 1 },
};
const THINKING = { type: "clear_thinking_20251015" as const };
const BODY: Body = {
  model: "model",
  max_tokens: 100,
  messages: history(4),
  tools: [{ name: "read", input_schema: { type: "object" } }],
  betas: ["context-management-2025-06-27"],
  context_management: { edits: [TOOL_USES] },
};

function newRig(config: ConfigInput = CONFIG) {
  const upstream = fakeUpstream(...Array.from({ length: 9 }, () => ({ body }: { body: string }) => {
    if (!JSON.parse(body).stream) return Response.json(ANSWER);
    return answerStream([frame({ delta: { role: "assistant", content: "Hello" } }), ENDING]);
  }));
  const app = newApp({ fetch: upstream.fetch, config });
  const fetchApp: typeof fetch = (input, init) => app.fetch(new Request(input, init));
  return {
    app,
    client: new Anthropic({ baseURL: "http://gateway/oss", apiKey: "x", maxRetries: 0, fetch: fetchApp }),
    sent: () => upstream.asked.map(({ body }) => JSON.parse(body) as JsonObject),
  };
}

type Rig = ReturnType<typeof newRig>;

async function create({ client }: Rig, body: Body, stream: boolean) {
  return stream ? await client.beta.messages.stream(body).finalMessage() : await client.beta.messages.create(body);
}

/** The results of tools that the upstream read, with "…" for a whole one. */
const resultsOf = ({ messages }: JsonObject) =>
  (messages as JsonObject[]).filter(({ role }) => role === "tool").map(({ content }) =>
    content === LONG ? "…" : content
  );

for (const stream of [false, true]) {
  const way = stream ? "streamed" : "whole";

  Deno.test(`context edits: old results are cleared above the trigger, and the answer says so, ${way}`, async () => {
    const rig = newRig();
    const answer = await create(rig, BODY, stream);
    assertEquals(resultsOf(rig.sent()[0]!), [CLEARED, CLEARED, CLEARED, "…"]);
    const { applied_edits: [edit, ...more] } = answer.context_management!;
    assert(edit?.type === "clear_tool_uses_20250919" && more.length === 0);
    assertEquals([edit.cleared_tool_uses, edit.cleared_input_tokens], [3, 3 * (500 - 9)]);

    const above = { ...TOOL_USES, trigger: { type: "input_tokens" as const, value: 100_000 } };
    const quiet = await create(rig, { ...BODY, context_management: { edits: [above] } }, stream);
    assertEquals([resultsOf(rig.sent()[1]!), quiet.context_management], [["…", "…", "…", "…"], { applied_edits: [] }]);

    const plain = await create(rig, { ...BODY, context_management: undefined }, stream);
    assertEquals([resultsOf(rig.sent()[2]!), plain.context_management ?? null], [["…", "…", "…", "…"], null]);
  });

  Deno.test(`context edits: inputs too, not of excluded tools, and in whole batches, ${way}`, async () => {
    const rig = newRig();
    const inputs = { ...TOOL_USES, trigger: { type: "tool_uses" as const, value: 3 }, clear_tool_inputs: true };
    await create(rig, { ...BODY, context_management: { edits: [inputs] } }, stream);
    const calls = (rig.sent()[0]!.messages as { tool_calls?: { function: { arguments: string } }[] }[])
      .flatMap(({ tool_calls = [] }) => tool_calls.map((call) => call.function.arguments));
    assertEquals(calls, ["{}", "{}", "{}", '{"path":"/file/3"}']);

    const excluded = { ...TOOL_USES, exclude_tools: ["read"] };
    await create(rig, { ...BODY, context_management: { edits: [excluded] } }, stream);
    assertEquals(resultsOf(rig.sent()[1]!), ["…", "…", "…", "…"]);

    const batches = { ...TOOL_USES, clear_at_least: { type: "input_tokens" as const, value: 900 } };
    await create(rig, { ...BODY, context_management: { edits: [batches] } }, stream);
    assertEquals(resultsOf(rig.sent()[2]!), [CLEARED, CLEARED, "…", "…"]);
  });

  Deno.test(`context edits: reasoning of earlier turns is left out, ${way}`, async () => {
    const rig = newRig();
    const again: Turn[] = [{
      role: "assistant",
      content: [{ type: "thinking", thinking: "Newest", signature: "" }, { type: "text", text: "Yes" }],
    }, { role: "user", content: "More" }];
    const body = { ...BODY, messages: [...history(2), ...again], context_management: { edits: [THINKING] } };
    const answer = await create(rig, body, stream);
    assert(!JSON.stringify(rig.sent()[0]).includes("I need file"));
    assertEquals(answer.context_management!.applied_edits, [
      { type: "clear_thinking_20251015", cleared_thinking_turns: 1, cleared_input_tokens: 8 },
    ]);

    const all = { ...body, context_management: { edits: [{ ...THINKING, keep: "all" as const }] } };
    const kept = await create(rig, all, stream);
    assertEquals(kept.context_management!.applied_edits.map(({ type }) => type), []);
    assertEquals(resultsOf(rig.sent()[1]!), ["…", "…"]);
  });
}

Deno.test("context edits: a count is of what is left, and names the count before", async () => {
  const { client } = newRig();
  const { max_tokens: _, ...body } = BODY;
  const plain = await client.beta.messages.countTokens({ ...body, context_management: undefined });
  const edited = await client.beta.messages.countTokens(body);
  assertEquals(plain.context_management ?? null, null);
  assertEquals(edited.context_management, { original_input_tokens: plain.input_tokens });
  assertEquals(plain.input_tokens - edited.input_tokens, 3 * (500 - 9));
});

Deno.test("context edits: a malformed one is refused before any applies, in the vendor's words", async () => {
  const rig = newRig();
  const value = (type: string, value: unknown) => ({ type, value });
  for (
    const [edit, message] of [
      [{ ...TOOL_USES, keep: value("tool_uses", -1) }, "clear_tool_uses_20250919.keep.value: expected an integer"],
      [{ ...TOOL_USES, keep: 3 }, "clear_tool_uses_20250919.keep: expected an object"],
      [{ ...TOOL_USES, trigger: value("turns", 3) }, "clear_tool_uses_20250919.trigger.type: expected "],
      [{ ...TOOL_USES, trigger: value("tool_uses", 1.5) }, "clear_tool_uses_20250919.trigger.value: expected"],
      [{ ...TOOL_USES, clear_at_least: value("input_tokens", "9") }, "clear_tool_uses_20250919.clear_at_least.value"],
      [{ ...TOOL_USES, exclude_tools: "read" }, "clear_tool_uses_20250919.exclude_tools: expected an array"],
      [{ ...TOOL_USES, clear_tool_inputs: [1] }, "clear_tool_uses_20250919.clear_tool_inputs.0: expected a name"],
      [{ ...THINKING, keep: value("thinking_turns", 0) }, "clear_thinking_20251015.keep.value: expected"],
      [THINKING, "clear_thinking_20251015: must be the first"],
    ] as const
  ) {
    const refused = await assertRejects(
      () => create(rig, { ...BODY, context_management: { edits: [TOOL_USES, edit] as never } }, false),
      Anthropic.BadRequestError,
    );
    assertStringIncludes(refused.message, `context_management.edits.1.${message}`);
  }
  assertEquals(rig.sent(), []);
});

Deno.test("context edits: a passing instruction goes with the user's next message", async () => {
  const rig = newRig();
  const passing = { role: "system", content: "Be brief now", clear_at: "next_user_message" } as unknown as Turn;
  const said = () => JSON.stringify(rig.sent().at(-1)).includes("Be brief now");
  const messages: Turn[] = [{ role: "user", content: "Hello" }, passing];
  await create(rig, { ...BODY, context_management: undefined, messages }, false);
  assert(said());
  const later: Turn[] = [...messages, { role: "assistant", content: "Hi" }, { role: "user", content: "Bye" }];
  const { response } = await rig.client.beta.messages.create(
    { ...BODY, context_management: undefined, messages: later },
  ).withResponse();
  assert(!said());
  assertEquals(response.headers.get("x-laneway-notes"), null);
});

const NATIVE = {
  upstreams: { vendor: { driver: "messages", baseUrl: "http://vendor.test/v1" } },
  lanes: {
    oss: { models: { model: { task: "chat", targets: [{ upstream: "vendor", model: "claude-sonnet-4-6" }] } } },
  },
} satisfies ConfigInput;

for (const stream of [false, true]) {
  Deno.test(`context edits: who makes them itself gets them, and its report comes back, ${stream}`, async () => {
    const context_management = { applied_edits: [{ ...THINKING, cleared_thinking_turns: 7, cleared_input_tokens: 9 }] };
    const message = { type: "message", role: "assistant", model: "m", content: [], stop_reason: "end_turn" };
    const upstream = fakeUpstream(() => {
      if (!stream) return Response.json({ ...message, content: [{ type: "text", text: "Hi" }], context_management });
      const event = (type: string, fields: object) =>
        `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
      return answerStream([
        event("message_start", { message }),
        event("content_block_start", { index: 0, content_block: { type: "text", text: "Hi" } }),
        event("content_block_stop", { index: 0 }),
        event("message_delta", { delta: { stop_reason: "end_turn" }, context_management }),
        event("message_stop", {}),
      ]);
    });
    const app = newApp({ fetch: upstream.fetch, config: NATIVE });
    const body = { ...BODY, betas: undefined, stream };
    const response = await app.post("/oss/v1/messages", body);
    const text = await response.text();
    assertStringIncludes(text, JSON.stringify(context_management));
    const sent = JSON.parse(upstream.asked[0]!.body);
    assertEquals(sent.context_management, BODY.context_management);
    assertEquals(JSON.stringify(sent).includes(CLEARED), false);
  });
}
