/** Conversations that clients want shortened: the model that is asked writes the summary, and goes on from it. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import Anthropic from "anthropic-sdk";
import OpenAI from "openai";
import type { JsonObject } from "../../src/canonical/json.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { CONFIG, ENV, newApp, type TestApp } from "../support/app.ts";
import { ANSWER, answerStream, ENDING, frame } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

const SUMMARY = "The user wants a poem. Two lines are written.";
const UNREADABLE = "The gateway cannot read the key that seals summaries: try again later";
const NEXT = "And here is the third line.";

interface Rig {
  app: TestApp;
  openai: OpenAI;
  anthropic: Anthropic;
  /** The bodies that the upstream got. */
  sent(): JsonObject[];
}

/** An upstream of the chat wire that says these texts, one after the other, whole or as a stream; "" is an answer without words. */
function newRig(...texts: string[]): Rig {
  const upstream = fakeUpstream(...texts.map((text) => ({ body }: { body: string }) => {
    if (!JSON.parse(body).stream) {
      const message = { role: "assistant", content: text };
      return Response.json({ ...ANSWER, choices: [{ index: 0, message, finish_reason: "stop" }] });
    }
    const usage = `data: ${JSON.stringify({ choices: [], usage: ANSWER.usage })}\n\n`;
    return answerStream([frame({ delta: { role: "assistant", content: text } }), usage, ENDING]);
  }));
  const app = newApp({ fetch: upstream.fetch });
  const fetchApp: typeof fetch = (input, init) => app.fetch(new Request(input, init));
  return {
    app,
    openai: new OpenAI({ baseURL: "http://gateway/oss/v1", apiKey: "x", maxRetries: 0, fetch: fetchApp }),
    anthropic: new Anthropic({ baseURL: "http://gateway/oss", apiKey: "x", maxRetries: 0, fetch: fetchApp }),
    sent: () => upstream.asked.map(({ body }) => JSON.parse(body)),
  };
}

/** Its turns, with "…" for the words around a summary. Turns of one side that follow each other are one turn. */
const textsOf = (body: JsonObject) =>
  (body.messages as JsonObject[]).map(({ role, content }) =>
    `${role}: ${String(content).replace(/The conversation before[^]*?<summary>\n([^]*?)\n<\/summary>/, "… $1 …")}`
  );
const lastOf = (body: JsonObject) => (body.messages as JsonObject[]).at(-1)!;

const SEARCH = { type: "function" as const, name: "search", parameters: { type: "object" }, strict: false };
const HISTORY: OpenAI.Responses.ResponseInput = [
  { role: "developer", content: "Rhyme." },
  { role: "user", content: "Write a poem" },
  { type: "function_call", call_id: "call_1", name: "search", arguments: "{}" },
  { type: "function_call_output", call_id: "call_1", output: "a rhyme" },
  { role: "assistant", content: "Line one. Line two." },
];

// Responses

Deno.test("compact: while the store does not give its key, no model works for a summary, and none that was made is passed over", async () => {
  const store = createMemoryStore({ now: () => 0, limitBytes: 1_000_000 });
  const lost = Promise.reject(new Error("The store is gone"));
  lost.catch(() => {});
  const body = { model: "model", input: [{ role: "user", content: "Write a poem" }] };
  const rig = newRig(SUMMARY);
  const failing = newApp({ store: { ...store, ensure: () => lost } });
  const { output } = await rig.openai.responses.compact(body as OpenAI.Responses.ResponseCompactParams);
  for (const [path, asked] of [["responses/compact", body], ["responses", { ...body, input: output }]] as const) {
    const response = await failing.post(`/oss/v1/${path}`, asked);
    const { error } = await response.json();
    assertEquals([response.status, error.message], [503, UNREADABLE]);
  }
  assertEquals(rig.sent().length, 1);
});

Deno.test("compact: the endpoint gives the users' messages and a sealed summary, from which the next request goes on", async () => {
  const { openai, sent } = newRig(SUMMARY, NEXT);
  const compacted = await openai.responses.compact({ model: "model", input: HISTORY });
  assertEquals(compacted.object, "response.compaction");
  assertMatch(compacted.id, /^resp_/);
  assertEquals(compacted.output.map(({ type }) => type), ["message", "compaction"]);
  assertEquals((compacted.output[0] as { content: unknown }).content, [{ type: "input_text", text: "Write a poem" }]);
  assertEquals([compacted.usage.input_tokens, compacted.usage.output_tokens], [5, 1]);
  assert(!JSON.stringify(compacted).includes(SUMMARY), "the summary is sealed");
  assertMatch(String(lastOf(sent()[0]!).content), /summary/);

  const input = [...compacted.output as OpenAI.Responses.ResponseInput, { role: "user" as const, content: "Go on" }];
  const answer = await openai.responses.create({ model: "model", input });
  assertEquals(answer.output_text, NEXT);
  assertEquals(textsOf(sent()[1]!), [`user: Write a poem\n\n… ${SUMMARY} …\n\nGo on`]);
});

Deno.test("compact: the endpoint takes a stored conversation, a text, and nothing without a model or an input", async () => {
  const { app, openai, sent } = newRig(NEXT, SUMMARY, SUMMARY);
  const first = await openai.responses.create({ model: "model", input: "Hello" });
  const compacted = await openai.responses.compact({ model: "model", previous_response_id: first.id });
  assertEquals(compacted.output.map(({ type }) => type), ["message", "compaction"]);
  assertEquals(textsOf(sent()[1]!).slice(0, 2), ["user: Hello", `assistant: ${NEXT}`]);
  await openai.responses.compact({ model: "model", input: "Hello" });
  for (const body of [{ input: "Hello" }, { model: "model" }, { model: "model", input: [] }]) {
    assertEquals((await app.post("/oss/v1/responses/compact", body)).status, 400);
  }
});

for (const stream of [false, true]) {
  const way = stream ? "streamed" : "whole";

  Deno.test(`compact: a trigger gives exactly one item, ${way}`, async () => {
    const { openai, sent } = newRig(SUMMARY, NEXT);
    const input = [...HISTORY, { type: "compaction_trigger" }] as OpenAI.Responses.ResponseInput;
    const answer = await ask(openai, { model: "model", input, tools: [SEARCH], store: false }, stream);
    assertEquals(answer.output.map(({ type }) => type), ["compaction"]);
    assertEquals(answer.status, "completed");
    const asked = sent()[0]!;
    assertEquals([asked.tool_choice, (asked.tools as unknown[]).length], ["none", 1]);
    assert(!JSON.stringify(asked).includes("compaction_trigger"));

    // What an agent keeps: its instructions, what the user said, and the item.
    const kept = [HISTORY[0]!, HISTORY[1]!, ...answer.output] as OpenAI.Responses.ResponseInput;
    await ask(openai, { model: "model", input: kept, tools: [SEARCH], store: false }, stream);
    assertEquals(textsOf(sent()[1]!), ["system: Rhyme.", `user: Write a poem\n\n… ${SUMMARY} …`]);
  });

  Deno.test(`compact: a trigger after a stored response summarizes what is stored, ${way}`, async () => {
    const { openai, sent } = newRig(NEXT, SUMMARY, NEXT);
    const first = await openai.responses.create({ model: "model", input: "Hello" });
    const input = [{ type: "compaction_trigger" }] as unknown as OpenAI.Responses.ResponseInput;
    const second = await ask(openai, { model: "model", input, previous_response_id: first.id }, stream);
    assertEquals(second.output.map(({ type }) => type), ["compaction"]);
    assertEquals(textsOf(sent()[1]!).slice(0, 2), ["user: Hello", `assistant: ${NEXT}`]);
    // The chain goes on from the summary, which is stored, too.
    await ask(openai, { model: "model", input: "And now?", previous_response_id: second.id }, stream);
    assertEquals(textsOf(sent()[2]!), [`user: Hello\n\n… ${SUMMARY} …\n\nAnd now?`]);
  });

  Deno.test(`compact: a conversation beyond the threshold is summarized before the answer, ${way}`, async () => {
    const { openai, sent, app } = newRig(SUMMARY, NEXT, NEXT, NEXT);
    const context_management = [{ type: "compaction", compact_threshold: 10 }];
    const body = { model: "model", input: HISTORY, context_management, store: false };
    const answer = await ask(openai, body as OpenAI.Responses.ResponseCreateParamsNonStreaming, stream);
    assertEquals(answer.output.map(({ type }) => type), ["compaction", "message"]);
    assertEquals(answer.output_text, NEXT);
    assertEquals([answer.usage?.input_tokens, answer.usage?.output_tokens], [10, 2]);
    const user = `user: Write a poem\n\n… ${SUMMARY}\n\nThe user's latest message, word for word:\nWrite a poem …`;
    assertEquals(textsOf(sent()[1]!), ["system: Rhyme.", user]);
    assertEquals(app.logs[0]!.usage?.inputTokens, 10);

    // All of it comes back: what the summary stands for is left out, what came after it stays.
    const input = [...HISTORY, ...answer.output, { role: "user", content: "Thanks" }];
    await ask(openai, { ...body, input, context_management: [] } as never, stream);
    assertEquals(textsOf(sent()[2]!), ["system: Rhyme.", user, `assistant: ${NEXT}`, "user: Thanks"]);

    const short = { ...body, context_management: [{ type: "compaction", compact_threshold: 100_000 }] };
    const other = await ask(openai, short as never, stream);
    assertEquals(other.output.map(({ type }) => type), ["message"]);
  });

  Deno.test(`compact: the summary follows no schema, the answer does, ${way}`, async () => {
    const JSON_ANSWER = '{"line":"three"}';
    const { openai, sent, app } = newRig(SUMMARY, JSON_ANSWER);
    const schema = { type: "object", properties: { line: { type: "string" } }, required: ["line"] };
    const body = {
      model: "model",
      input: HISTORY,
      context_management: [{ type: "compaction", compact_threshold: 10 }],
      text: { format: { type: "json_schema", name: "poem", schema } },
      store: false,
    };
    const answer = await ask(openai, body as OpenAI.Responses.ResponseCreateParamsNonStreaming, stream);
    assertEquals(answer.output.map(({ type }) => type), ["compaction", "message"]);
    assertEquals([answer.output_text, sent().length], [JSON_ANSWER, 2]);
    assertEquals(sent().map(({ response_format }) => response_format !== undefined), [false, true]);
    assertEquals(app.logs[0]!.notes, undefined);
  });
}

async function ask(
  client: OpenAI,
  body: OpenAI.Responses.ResponseCreateParamsNonStreaming,
  stream: boolean,
): Promise<OpenAI.Responses.Response> {
  if (!stream) return await client.responses.create(body);
  let final: OpenAI.Responses.Response | undefined;
  const done: string[] = [];
  for await (const event of await client.responses.create({ ...body, stream: true })) {
    if (event.type === "response.output_item.done") done.push(event.item.type);
    if (event.type === "response.completed") final = event.response;
  }
  assertEquals(done, final!.output.map(({ type }) => type));
  return { ...final!, output_text: textIn(final!) };
}

function textIn({ output }: OpenAI.Responses.Response): string {
  return output.flatMap((item) => item.type === "message" ? item.content : [])
    .map((part) => part.type === "output_text" ? part.text : "").join("");
}

Deno.test("compact: calls whose results follow the summary stay with them", async () => {
  const { openai, sent } = newRig(SUMMARY, NEXT);
  const [, , call, result] = HISTORY;
  const compacted = await openai.responses.compact({ model: "model", input: HISTORY.slice(0, 3) });
  const input = [HISTORY[1], call, compacted.output.at(-1), result] as OpenAI.Responses.ResponseInput;
  await openai.responses.create({ model: "model", input, tools: [SEARCH] });
  const messages = sent()[1]!.messages as JsonObject[];
  assertEquals(messages.map(({ role }) => role), ["user", "assistant", "tool"]);
});

Deno.test("compact: a vendor's summary is left out for another's model, with a note", async () => {
  const { app, sent } = newRig(NEXT);
  const item = { type: "compaction", encrypted_content: "gAAAAvendor" };
  const response = await app.post("/oss/v1/responses", { model: "model", input: [item, HISTORY[1]] });
  assertEquals(response.status, 200);
  assertStringIncludes(response.headers.get("x-laneway-notes")!, "compaction");
  await response.body?.cancel();
  assertEquals(textsOf(sent()[0]!), ["user: Write a poem"]);
});

Deno.test("compact: a summary of another key, of an earlier sealing key, or changed is an error, and no new conversation", async () => {
  const store = createMemoryStore({ now: () => 0, limitBytes: 1_000_000 });
  const upstream = fakeUpstream(() => Response.json(ANSWER));
  const keys = ["TEAM_KEY", "GUEST_KEY"].map((name) => ({ name: name.toLowerCase(), secret: { env: name } }));
  const config = { ...CONFIG, keys };
  const app = newApp({ config, store, fetch: upstream.fetch });
  const sealing = { key: { env: "SEALING_KEY" } };
  const env = { ...ENV, SEALING_KEY: "another sealing key of 32 bytes, or more" };
  const rekeyed = newApp({ config: { ...config, sealing }, env, store, fetch: upstream.fetch });
  const team = { authorization: `Bearer ${ENV.TEAM_KEY}` };
  const guest = { authorization: `Bearer ${ENV.GUEST_KEY}` };
  const change = (text: string, at: number) => text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
  const hello = { model: "model", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };
  const wires = [
    {
      compact: ["/oss/v1/responses/compact", { model: "model", input: "Hello" }, "output"],
      next: "/oss/v1/responses",
      body: (item: JsonObject) => ({ model: "model", input: [item, HISTORY[1]] }),
      type: "invalid_request_error",
    },
    {
      compact: ["/oss/v1/messages", { ...hello, compaction: { type: "summarize" } }, "content"],
      next: "/oss/v1/messages",
      body: (item: JsonObject) => ({
        ...hello,
        messages: [...hello.messages, { role: "assistant", content: [item] }, { role: "user", content: "Go on" }],
      }),
      type: "invalid_request_error",
    },
  ] as const;
  for (const { compact: [path, asked, field], next, body, type } of wires) {
    const made = await (await app.post(path, asked, team)).json();
    const item: JsonObject = made[field].at(-1);
    assertEquals(item.type, "compaction");
    const data = item.encrypted_content as string;
    const count = upstream.asked.length;
    const forms: [TestApp, JsonObject, HeadersInit][] = [
      [app, item, guest],
      [rekeyed, item, team],
      [app, { ...item, encrypted_content: change(data, data.length - 10) }, team],
      [app, { ...item, encrypted_content: data.slice(0, 30) }, team],
    ];
    for (const [where, changed, headers] of forms) {
      const response = await where.post(next, body(changed), headers);
      const { error } = await response.json();
      assertEquals([response.status, error.type], [400, type]);
      assertStringIncludes(error.message, "could not be verified");
    }
    assertEquals(upstream.asked.length, count, "no model works on half a conversation");
    const right = await app.post(next, body(item), team);
    assertEquals(right.status, 200);
    await right.body?.cancel();
  }
});

Deno.test("compact: where the model writes no summary, a trigger fails, and a conversation beyond its threshold goes on as it was", async () => {
  const { openai, app, sent } = newRig("", NEXT);
  const input = [...HISTORY, { type: "compaction_trigger" }] as OpenAI.Responses.ResponseInput;
  const error = await assertRejects(() => openai.responses.create({ model: "model", input }), OpenAI.APIError);
  assertEquals(error.status, 502);
  assertStringIncludes(error.message, "no summary");

  const rig = newRig("", NEXT);
  const context_management = [{ type: "compaction", compact_threshold: 10 }];
  const response = await rig.app.post("/oss/v1/responses", { model: "model", input: HISTORY, context_management });
  assertEquals((await response.json()).output.map(({ type }: { type: string }) => type), ["message"]);
  assertEquals(response.headers.get("x-laneway-notes"), "could not compact the conversation");
  assertEquals(textsOf(rig.sent()[1]!).length, textsOf(rig.sent()[0]!).length - 1);
  assertEquals([app.logs.length, sent().length], [1, 1]);
});

Deno.test("compact: of a summary that was cut off, a client that asked for it learns, and no answer builds on it", async () => {
  const message = { role: "assistant", content: SUMMARY.slice(0, 20) };
  const choices = [{ index: 0, message, finish_reason: "length" }];
  const newUpstream = () => fakeUpstream(() => Response.json({ ...ANSWER, choices }), () => Response.json(ANSWER));

  const upstream = newUpstream();
  const context_management = [{ type: "compaction", compact_threshold: 10 }];
  const body = { model: "model", input: HISTORY, context_management };
  const response = await newApp({ fetch: upstream.fetch }).post("/oss/v1/responses", body);
  assertEquals((await response.json()).output.map(({ type }: JsonObject) => type), ["message"]);
  assertEquals(response.headers.get("x-laneway-notes"), "could not compact the conversation");
  const [first, second] = upstream.asked.map(({ body }) => textsOf(JSON.parse(body)));
  assertEquals(second, first!.slice(0, -1), "the whole conversation is asked");

  const asked = { model: "model", input: [...HISTORY, { type: "compaction_trigger" }] };
  const compacted = await newApp({ fetch: newUpstream().fetch }).post("/oss/v1/responses", asked);
  assertEquals((await compacted.json()).output.map(({ type }: JsonObject) => type), ["compaction"]);
  assertEquals(compacted.headers.get("x-laneway-notes"), "cut off the summary of the conversation");
});

Deno.test("compact: what cannot be meant is refused", async () => {
  const { app } = newRig(NEXT);
  const trigger = { type: "compaction_trigger" };
  const bodies = [
    { input: [trigger, HISTORY[1]] },
    { input: "Hello", context_management: [{ type: "compaction", compact_threshold: -1 }] },
    { input: [trigger] },
  ];
  for (const body of bodies) {
    const response = await app.post("/oss/v1/responses", { model: "model", ...body });
    assertEquals(response.status, 400);
    assertMatch((await response.json()).error.param, /^(input|context_management)/);
  }
});

// Messages

const EDITS = { edits: [{ type: "compact_20260112" as const, trigger: { type: "input_tokens" as const, value: 10 } }] };
const TALK = [
  { role: "user" as const, content: "Write a poem" },
  { role: "assistant" as const, content: "Line one. Line two." },
  { role: "user" as const, content: "Go on" },
];

for (const stream of [false, true]) {
  const way = stream ? "streamed" : "whole";

  Deno.test(`compact: messages: the summary comes first, then the answer, ${way}`, async () => {
    const { anthropic, sent } = newRig(SUMMARY, NEXT, NEXT);
    const body = { model: "model", max_tokens: 100, system: "Rhyme.", messages: TALK, context_management: EDITS };
    const answer = await create(anthropic, body, stream);
    const [block, text] = answer.content as unknown as Record<string, string>[];
    assertEquals([block!.type, text!.type], ["compaction", "text"]);
    assertStringIncludes(block!.content!, SUMMARY);
    assertStringIncludes(block!.content!, "Go on");
    assertEquals([text!.text, answer.stop_reason], [NEXT, "end_turn"]);
    const { input_tokens, iterations } = answer.usage;
    assertEquals([input_tokens, iterations?.map(({ type }) => type)], [5, ["compaction", "message"]]);
    assertEquals(sent()[0]!.max_tokens, undefined);
    const [system, summary, ...more] = textsOf(sent()[1]!);
    assertEquals([system, more.length], ["system: Rhyme.", 0]);
    assertStringIncludes(summary!, SUMMARY);

    // All before the block is left out, whatever stands there.
    const messages = [...TALK, { role: "assistant" as const, content: answer.content as never }, TALK[0]!];
    await create(anthropic, { ...body, messages, context_management: undefined }, stream);
    const after = textsOf(sent()[2]!);
    assertEquals([after.length, after[2], after[3]], [4, `assistant: ${NEXT}`, "user: Write a poem"]);
    assertStringIncludes(after[1]!, SUMMARY);
  });

  Deno.test(`compact: messages: a client that wants to see the summary first gets it alone, ${way}`, async () => {
    for (
      const asked of [
        {
          context_management: {
            edits: [{ ...EDITS.edits[0]!, pause_after_compaction: true, instructions: "Be short" }],
          },
        },
        { compaction: { type: "summarize", instructions: "Be short" } },
      ]
    ) {
      const { anthropic, sent } = newRig(SUMMARY);
      const answer = await create(anthropic, { model: "model", max_tokens: 100, messages: TALK, ...asked }, stream);
      assertEquals([answer.content.map(({ type }) => type), answer.stop_reason], [["compaction"], "compaction"]);
      assertEquals(answer.usage.iterations?.map(({ type }) => type), ["compaction"]);
      assertStringIncludes(String(lastOf(sent()[0]!).content), "Be short");
    }
  });
}

type Beta = Anthropic.Beta.Messages.BetaMessage;

async function create(client: Anthropic, body: object, stream: boolean): Promise<Beta> {
  const betas = ["compact-2026-01-12"];
  if (!stream) return await client.beta.messages.create({ ...body, betas } as never) as unknown as Beta;
  return await client.beta.messages.stream({ ...body, betas } as never).finalMessage();
}

Deno.test("compact: messages: other edits stay a note, and a trigger that is none is refused", async () => {
  const { app } = newRig(SUMMARY, NEXT);
  const edits = [...EDITS.edits, { type: "clear_all_20991231" }];
  const body = { model: "model", max_tokens: 9, messages: TALK, context_management: { edits } };
  const response = await app.post("/oss/v1/messages", body);
  assertEquals(response.headers.get("x-laneway-notes"), "dropped context_management");
  await response.body?.cancel();
  const wrong = { edits: [{ type: "compact_20260112", trigger: { type: "tool_uses", value: 3 } }] };
  const refused = await app.post("/oss/v1/messages", { ...body, context_management: wrong });
  assertEquals(refused.status, 400);
  assertStringIncludes((await refused.json()).error.message, "input_tokens");
});

Deno.test("compact: messages: an edit whose type is a number that no double holds is one like others", async () => {
  const { app } = newRig(NEXT);
  const body = '{"model":"model","max_tokens":9,"messages":[{"role":"user","content":"Hello"}],' +
    '"context_management":{"edits":[{"type":1e400}]}}';
  const headers = { "content-type": "application/json" };
  const answer = await app.fetch(new Request("http://gateway/oss/v1/messages", { method: "POST", headers, body }));
  assertEquals(answer.status, 200, await answer.text());
});
