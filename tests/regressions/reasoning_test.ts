/** What a model thought in one turn, in the request of the next one, whichever protocol the client speaks. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { ENV, newApp, type TestAppOptions } from "../support/app.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";
import { blocksOf, type Memory, nextTurn } from "./next_turn.ts";
import {
  bodyFor,
  chatStream,
  chatWhole,
  CONFIG,
  events,
  listOf,
  type Mode,
  objectOf,
  post,
  responseOf,
  shortAnswer,
  testEach,
  TOOLS,
  type View,
  type Wire,
} from "./support.ts";

const THOUGHT = ' First, "look" \\ then\n\tfind \u00e9\u{1f600} ';
const SIGNATURE = "EqQBCgIYAhIkc2lnbmF0dXJl/+==";

/** The answers of an upstream that thinks, calls a tool, and thinks again once it has the result. */
function thinking(upstream: Wire, thought: string): { frames: string; whole: JsonObject } {
  switch (upstream) {
    case "chat": {
      const tool_calls = [{ id: "call_1", type: "function", function: { name: "look", arguments: '{"a":1}' } }];
      const pieces = [thought.slice(0, 4), thought.slice(4)];
      return {
        whole: chatWhole({ reasoning_content: thought, content: null, tool_calls }, "tool_calls"),
        frames: chatStream([
          ...pieces.map((reasoning_content) => ({ reasoning_content })),
          { tool_calls: [{ index: 0, ...tool_calls[0] }] },
        ], "tool_calls"),
      };
    }
    case "messages":
      return messagesAnswer([{ type: "thinking", thinking: thought, signature: SIGNATURE }, CALL]);
    case "responses": {
      const output = [
        { type: "reasoning", id: "rs_up", summary: [], content: [{ type: "reasoning_text", text: thought }] },
        {
          type: "function_call",
          id: "fc_up",
          call_id: "call_1",
          name: "look",
          arguments: '{"a":1}',
          status: "completed",
        },
      ];
      return responsesAnswer(output);
    }
    default:
      return upstream satisfies never;
  }
}

const HELLO = { whole: chatWhole({ content: "Hi" }), frames: chatStream([{ content: "Hi" }]) };

const CALL = { type: "tool_use", id: "toolu_1", name: "look", input: { a: 1 } };

function messagesAnswer(content: JsonObject[]): { frames: string; whole: JsonObject } {
  const whole: JsonObject = {
    id: "msg_upstream",
    type: "message",
    role: "assistant",
    model: "org/model",
    content,
    stop_reason: content.at(-1)?.type === "tool_use" ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 2 },
  };
  const blocks = content.flatMap((block, index): JsonObject[] => {
    const deltas: Record<string, JsonObject[]> = {
      thinking: [
        { type: "thinking_delta", thinking: block.thinking },
        { type: "signature_delta", signature: block.signature },
      ],
      tool_use: [{ type: "input_json_delta", partial_json: JSON.stringify(block.input) }],
      text: [{ type: "text_delta", text: block.text }],
    };
    const empty: Record<string, JsonObject> = {
      thinking: { ...block, thinking: "", signature: "" },
      tool_use: { ...block, input: {} },
      text: { ...block, text: "" },
    };
    const type = String(block.type);
    return [
      { type: "content_block_start", index, content_block: empty[type] ?? block },
      ...(deltas[type] ?? []).map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ];
  });
  const { stop_reason, usage, ...rest } = whole;
  return {
    whole,
    frames: events(
      { type: "message_start", message: { ...rest, content: [], stop_reason: null, usage } },
      ...blocks,
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
      { type: "message_stop" },
    ),
  };
}

function responsesAnswer(output: JsonObject[]): { frames: string; whole: JsonObject } {
  const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
  const head = { id: "resp_upstream", object: "response", status: "in_progress", model: "org/model", output: [] };
  const whole = { ...head, status: "completed", output, usage };
  return {
    whole,
    frames: events(
      { type: "response.created", response: head },
      ...output.flatMap((item, output_index) => [
        { type: "response.output_item.added", output_index, item },
        { type: "response.output_item.done", output_index, item },
      ]),
      { type: "response.completed", response: whole },
    ),
  };
}

/** What a client says that wants reasoning in a form which it can give back. */
const WANTS: Record<Wire, JsonObject> = {
  chat: {},
  messages: {},
  responses: { store: false, include: ["reasoning.encrypted_content"] },
};

interface Talk {
  first: View;
  second: View;
  /** What the upstreams were asked, in order. */
  asked: JsonObject[];
}

/** Two turns of one conversation. `between` changes what the client sends, or who is asked. */
async function talk(
  client: Wire,
  mode: Mode,
  answers: ((asked: Asked) => Response)[],
  { model = "chat", memory, more = {}, between = (body) => body, again, ...options }: TestAppOptions & {
    model?: string;
    memory?: Memory;
    more?: JsonObject;
    between?: (body: JsonObject) => JsonObject;
    /** Another app for the second turn. */
    again?: TestAppOptions;
  } = {},
): Promise<Talk> {
  const upstream = fakeUpstream(...answers);
  const setting = { config: CONFIG, fetch: upstream.fetch, ...options };
  const app = newApp(setting);
  const body = { ...bodyFor(client, { tools: TOOLS, stream: mode === "streamed" }, model), ...WANTS[client], ...more };
  const first = await post(app, client, body);
  assertEquals(first.status, 200);
  const later = again ? newApp({ ...setting, ...again }) : app;
  const second = await post(later, client, between(nextTurn(client, body, first, memory)));
  return { first, second, asked: upstream.asked.map(({ body }) => JSON.parse(body)) };
}

/** What an upstream is told that was thought before. */
const THOUGHTS_IN: Record<Wire, (asked: JsonObject) => unknown[]> = {
  chat: ({ messages }) =>
    listOf(messages).flatMap(({ reasoning_content }) => reasoning_content === undefined ? [] : [reasoning_content]),
  messages: ({ messages }) =>
    listOf(messages).flatMap(({ content }) => Array.isArray(content) ? listOf(content) : [])
      .filter(({ type }) => /thinking/.test(String(type))),
  responses: ({ input }) =>
    listOf(input).filter(({ type }) => type === "reasoning")
      .flatMap(({ content, encrypted_content }) => [...listOf(content).map(({ text }) => text), encrypted_content])
      .filter((one) => one !== undefined),
};

const SENT_BACK: Record<Wire, unknown[]> = {
  chat: [THOUGHT],
  messages: [{ type: "thinking", thinking: THOUGHT, signature: SIGNATURE }],
  responses: [THOUGHT],
};

for (const upstream of ["chat", "messages", "responses"] as const) {
  for (const memory of ["whole", "trimmed", "nothing"] as const) {
    // What a client of the chat wire gives back is its words alone.
    const clients: Wire[] = memory === "whole" && upstream !== "messages"
      ? ["chat", "messages", "responses"]
      // A signature that the vendor's own client keeps is worth nothing without its words.
      : memory !== "whole" && upstream === "messages"
      ? ["responses"]
      : ["messages", "responses"];
    const kept = { whole: "all", trimmed: "a part", nothing: "nothing" }[memory];
    testEach(
      upstream === "messages" ? "R19" : "R23",
      `a thought of the ${upstream} wire goes back byte for byte, where ${kept} of its words is kept`,
      { clients },
      async (client, mode) => {
        const { second, asked } = await talk(client, mode, [() => responseOf(thinking(upstream, THOUGHT), mode)], {
          model: upstream,
          memory,
        });
        assertEquals(second.status, 200);
        assertEquals(second.headers.get("x-laneway-notes"), null);
        assertEquals(THOUGHTS_IN[upstream](asked[1]!), SENT_BACK[upstream]);
      },
    );
  }
}

testEach("R23", "what was only thought is there in the turn after the next", {}, async (client, mode) => {
  const upstream = fakeUpstream(
    () => responseOf(thinking("chat", "The word is petrichor"), mode),
    () => responseOf({ whole: chatWhole({ content: "Done" }), frames: chatStream([{ content: "Done" }]) }, mode),
    () => responseOf({ whole: chatWhole({ content: "It is" }), frames: chatStream([{ content: "It is" }]) }, mode),
  );
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  let body: JsonObject = { ...bodyFor(client, { tools: TOOLS, stream: mode === "streamed" }), ...WANTS[client] };
  for (let turn = 0; turn < 3; turn++) {
    const view = await post(app, client, body);
    assertEquals(view.status, 200);
    body = nextTurn(client, body, view);
  }
  assertEquals(THOUGHTS_IN.chat(JSON.parse(upstream.asked[2]!.body)), ["The word is petrichor"]);
});

testEach("R23", "a server that reads it in another field gets it there, and in no other", {}, async (client, mode) => {
  const chat = { ...CONFIG.upstreams.chat, reasoningField: "reasoning" as const };
  const { asked } = await talk(client, mode, [() => responseOf(thinking("chat", THOUGHT), mode)], {
    config: { ...CONFIG, upstreams: { ...CONFIG.upstreams, chat } },
  });
  const [turn] = listOf(asked[1]!.messages).filter(({ role }) => role === "assistant");
  assertEquals([turn!.reasoning, turn!.reasoning_content], [THOUGHT, undefined]);
});

testEach("R23", "the same history is the same request, byte for byte", {
  clients: ["messages", "responses"],
}, async (client, mode) => {
  const upstream = fakeUpstream(() => responseOf(thinking("chat", THOUGHT), mode));
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const body = { ...bodyFor(client, { tools: TOOLS, stream: mode === "streamed" }), ...WANTS[client] };
  const next = nextTurn(client, body, await post(app, client, body));
  for (let time = 0; time < 2; time++) await post(app, client, next);
  assertEquals(upstream.asked[1]!.body, upstream.asked[2]!.body);
});

// A client that does not give back what it was given

/** Replaces what the client keeps sealed. */
function resealed(client: Wire, change: (sealed: string) => string): (body: JsonObject) => JsonObject {
  const list = client === "messages" ? "messages" : "input";
  return (body) => ({
    ...body,
    [list]: listOf(body[list]).map((one) =>
      typeof one.encrypted_content === "string"
        ? { ...one, encrypted_content: change(one.encrypted_content) }
        : Array.isArray(one.content)
        ? {
          ...one,
          content: listOf(one.content).map((block) =>
            typeof block.signature === "string" ? { ...block, signature: change(block.signature) } : block
          ),
        }
        : one
    ),
  });
}

const LOST = "dropped reasoning that was sealed with another key or for another caller";
const FOREIGN = "dropped reasoning that only its vendor can read";
const STRANGE: Record<string, { change: (sealed: string) => string; noted: string | null }> = {
  "that was changed": {
    change: (sealed) => sealed.slice(0, -3) + (sealed.endsWith("AAA") ? "BBB" : "AAA"),
    noted: LOST,
  },
  "that was cut": { change: (sealed) => sealed.slice(0, 20), noted: LOST },
  "of a form of the future": { change: (sealed) => sealed.replace("lw1.", "lw2."), noted: LOST },
  "of somebody else": { change: () => SIGNATURE, noted: FOREIGN },
  "that is empty": { change: () => "", noted: null },
};
for (const [what, { change, noted }] of Object.entries(STRANGE)) {
  testEach("R23", `a seal ${what} is ignored, and the words stay`, {
    clients: ["messages", "responses"],
  }, async (client, mode) => {
    const { second, asked } = await talk(client, mode, [() => responseOf(thinking("chat", THOUGHT), mode)], {
      between: resealed(client, change),
    });
    assertEquals([second.status, THOUGHTS_IN.chat(asked[1]!)], [200, [THOUGHT]]);
    assertEquals(second.headers.get("x-laneway-notes"), noted);
    assert(!JSON.stringify(asked[1]).includes("lw1."));
  });
}

testEach("R23", "a seal without words that does not open is as if it were not there", {
  clients: ["messages", "responses"],
}, async (client, mode) => {
  const { second, asked } = await talk(client, mode, [() => responseOf(thinking("chat", THOUGHT), mode)], {
    memory: "nothing",
    between: resealed(client, () => "lw1.AAAA"),
  });
  assertEquals([second.status, THOUGHTS_IN.chat(asked[1]!)], [200, []]);
  const turn = listOf(asked[1]!.messages).find(({ role }) => role === "assistant")!;
  assertEquals(Object.keys(turn), ["role", "content", "tool_calls"]);
});

const SEALED_BY = (variable: string) => ({ ...CONFIG, sealing: { key: { env: variable } } });

testEach("R23", "two gateways with one configured key open what the other sealed; with two keys they do not", {
  clients: ["messages", "responses"],
}, async (client, mode) => {
  const answers = [() => responseOf(thinking("chat", THOUGHT), mode)];
  for (const [variable, back] of [["ONE_KEY", [THOUGHT]], ["OTHER_KEY", []]] as const) {
    const env = { ...ENV, ONE_KEY: "one", OTHER_KEY: "other" };
    const { second, asked } = await talk(client, mode, answers, {
      config: SEALED_BY("ONE_KEY"),
      env,
      memory: "nothing",
      again: { config: SEALED_BY(variable), store: newStore() },
    });
    assertEquals([second.status, THOUGHTS_IN.chat(asked[1]!)], [200, [...back]], variable);
  }
});

function newStore() {
  return createMemoryStore({ now: () => 0, limitBytes: 1_000_000 });
}

testEach("R23", "two gateways on one store open what the other sealed; on two stores they do not", {
  clients: ["messages", "responses"],
}, async (client, mode) => {
  const shared = newStore();
  for (const [store, back] of [[shared, [THOUGHT]], [newStore(), []]] as const) {
    const { second, asked } = await talk(client, mode, [() => responseOf(thinking("chat", THOUGHT), mode)], {
      store: shared,
      memory: "nothing",
      again: { store },
    });
    assertEquals([second.status, THOUGHTS_IN.chat(asked[1]!)], [200, [...back]]);
  }
});

testEach(
  "R23",
  "another key's owner does not open it",
  { clients: ["messages", "responses"] },
  async (client, mode) => {
    const upstream = fakeUpstream(() => responseOf(thinking("chat", THOUGHT), mode));
    const keys = [
      { name: "team", secret: { env: "TEAM_KEY" } },
      { name: "guest", secret: { env: "GUEST_KEY" } },
    ];
    const app = newApp({ config: { ...CONFIG, keys }, fetch: upstream.fetch });
    const body = { ...bodyFor(client, { tools: TOOLS, stream: mode === "streamed" }), ...WANTS[client] };
    const as = (key: string) => ({ authorization: `Bearer ${ENV[key]}` });
    const next = nextTurn(client, body, await post(app, client, body, as("TEAM_KEY")), "nothing");
    for (const key of ["TEAM_KEY", "GUEST_KEY"]) assertEquals((await post(app, client, next, as(key))).status, 200);
    const [, own, others] = upstream.asked.map(({ body }) => THOUGHTS_IN.chat(JSON.parse(body)));
    assertEquals([own, others], [[THOUGHT], []]);
  },
);

const UNSEALED = "could not read the key that seals reasoning";

testEach("R23", "while the store fails, nothing is sealed, the answer and the log say so, and the words stay", {
  clients: ["messages", "responses"],
}, async (client, mode) => {
  const cause = new Error("The disk is full");
  const failing = { ...newStore(), ensure: () => Promise.reject(cause) };
  const upstream = fakeUpstream(() => responseOf(thinking("chat", THOUGHT), mode));
  const app = newApp({ config: CONFIG, fetch: upstream.fetch, store: failing });
  const body = { ...bodyFor(client, { tools: TOOLS, stream: mode === "streamed" }), ...WANTS[client] };
  const first = await post(app, client, body);
  assertEquals(first.status, 200);
  const store = newStore();
  for (
    const { memory, back } of [
      { memory: "whole", back: [THOUGHT] },
      { memory: "nothing", back: [] },
    ] as const
  ) {
    const asked = fakeUpstream(() => responseOf(thinking("chat", THOUGHT), mode));
    const later = newApp({ config: CONFIG, fetch: asked.fetch, store });
    assertEquals((await post(later, client, nextTurn(client, body, first, memory))).status, 200);
    assertEquals(THOUGHTS_IN.chat(JSON.parse(asked.asked[0]!.body)), [...back]);
  }
  // What was sealed before does not open, and that is no other key's fault.
  const sealed = await post(newApp({ config: CONFIG, fetch: upstream.fetch, store }), client, body);
  const next = await post(app, client, nextTurn(client, body, sealed, "nothing"));
  assertEquals([next.status, next.headers.get("x-laneway-notes")], [200, UNSEALED]);
  assertEquals(app.logs.map(({ cause, notes }) => [cause, notes]), [[cause, [UNSEALED]], [cause, [UNSEALED]]]);
});

testEach(
  "R23",
  "a client that can give nothing back, and an answer without a thought, do not open the store",
  {},
  async (
    client,
    mode,
  ) => {
    const refuse = () => Promise.reject(new Error("Nobody asks the store"));
    const store = { ...newStore(), ensure: refuse, get: refuse };
    const answer = client === "messages" ? HELLO : thinking("chat", THOUGHT);
    const more = client === "responses" ? { store: false } : {};
    const app = newApp({ config: CONFIG, fetch: fakeUpstream(() => responseOf(answer, mode)).fetch, store });
    await post(app, client, { ...bodyFor(client, { tools: TOOLS, stream: mode === "streamed" }), ...more });
    assertEquals(app.logs.map(({ status, cause }) => [status, cause]), [[200, undefined]]);
  },
);

testEach("R23", "a thought survives two gateways, one behind the other", {
  clients: ["messages", "responses"],
}, async (client, mode) => {
  for (const more of client === "responses" ? [{}, { store: true, include: [] }] : [{}]) {
    const upstream = fakeUpstream(() => responseOf(thinking("chat", THOUGHT), mode));
    const inner = newApp({ config: CONFIG, fetch: upstream.fetch });
    const outer = newApp({
      config: {
        upstreams: { inner: { driver: "messages", baseUrl: "http://inner.test/oss/v1" } },
        lanes: { oss: { models: { outer: { task: "chat", targets: [{ upstream: "inner", model: "chat" }] } } } },
      },
      fetch: async (input, init) => await inner.fetch(new Request(input, init)),
    });
    const asked = bodyFor(client, { tools: TOOLS, stream: mode === "streamed" }, "outer");
    const body = { ...asked, ...WANTS[client], ...more };
    const first = await post(outer, client, body);
    const next = "store" in more
      ? {
        ...body,
        previous_response_id: first.id!,
        input: [{ type: "function_call_output", call_id: "call_1", output: "here" }],
      }
      : nextTurn(client, body, first, "nothing");
    const second = await post(outer, client, next);
    assertEquals([second.status, second.headers.get("x-laneway-notes")], [200, null]);
    assertEquals(THOUGHTS_IN.chat(JSON.parse(upstream.asked[1]!.body)), [THOUGHT]);
  }
});

testEach("R23", "what only the vendor reads is not told as lost where it is stored", { clients: ["responses"] }, async (
  client,
  mode,
) => {
  const upstream = fakeUpstream(() => responseOf(thinking("messages", THOUGHT), mode));
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  for (const store of [true, false]) {
    const body = bodyFor(client, { tools: TOOLS, stream: mode === "streamed" }, "messages");
    const { headers, frames } = await post(app, client, { ...body, store });
    const visible = [headers.get("x-laneway-notes"), ...frames.map(({ comment }) => comment)].join();
    assertEquals(visible.includes("dropped reasoning that only its vendor can read"), !store);
  }
});

// What a client does not want to see

testEach("R23", "thoughts that the client wants omitted are in the signature alone", {
  clients: ["messages"],
}, async (client, mode) => {
  for (const upstream of ["chat", "messages", "responses"] as const) {
    const { first, asked } = await talk(client, mode, [() => responseOf(thinking(upstream, THOUGHT), mode)], {
      model: upstream,
      more: { thinking: { type: "adaptive", display: "omitted" } },
    });
    const [thought, call] = blocksOf(first);
    assertEquals([thought!.type, thought!.thinking, call!.type], ["thinking", "", "tool_use"]);
    assert(!JSON.stringify(first.frames).includes("First") && !JSON.stringify(first.body).includes("First"));
    assertEquals(first.headers.get("x-laneway-notes"), null);
    assertEquals(THOUGHTS_IN[upstream](asked[1]!), SENT_BACK[upstream]);
  }
});

// Signatures

testEach("R20", "a vendor's signature is told as it is, and one is never made for a vendor", {
  clients: ["messages"],
}, async (client, mode) => {
  const { first } = await talk(client, mode, [() => responseOf(thinking("messages", THOUGHT), mode)], {
    model: "messages",
  });
  assertEquals(blocksOf(first)[0], { type: "thinking", thinking: THOUGHT, signature: SIGNATURE });
});

const REDACTED = { type: "redacted_thinking", data: "EmwKAhgBEgy3va3pzix/LafPsn4a" };

testEach("R19", "redacted thoughts go back as they came", {
  clients: ["messages", "responses"],
}, async (client, mode) => {
  const answer = messagesAnswer([REDACTED, CALL]);
  const { first, second, asked } = await talk(client, mode, [() => responseOf(answer, mode)], { model: "messages" });
  assertEquals([second.status, THOUGHTS_IN.messages(asked[1]!)], [200, [REDACTED]]);
  if (client === "messages") assertEquals(blocksOf(first)[0], REDACTED);
});

testEach(
  "R19",
  "a client that cannot give redacted thoughts back hears of it",
  { clients: ["chat"] },
  async (client, mode) => {
    const answer = messagesAnswer([REDACTED, CALL]);
    const { first } = await talk(client, mode, [() => responseOf(answer, mode)], { model: "messages" });
    const note = "dropped reasoning that only its vendor can read";
    if (mode === "whole") assertEquals(first.headers.get("x-laneway-notes"), note);
    else assertEquals(first.frames.map(({ comment }) => comment).filter(Boolean), [`notes: ${note}`]);
  },
);

/** A model of the wire's own vendor, and one that anybody serves. */
const SIGNING = {
  ...CONFIG,
  lanes: {
    oss: {
      models: {
        ...CONFIG.lanes.oss.models,
        vendor: { task: "chat" as const, targets: [{ upstream: "messages", model: "anthropic/claude-opus-4-5" }] },
        other: { task: "chat" as const, targets: [{ upstream: "responses", model: "gpt-5.2" }] },
        sibling: { task: "chat" as const, targets: [{ upstream: "responses", model: "gpt-5.2-mini" }] },
      },
    },
  },
};

testEach("R21", "a thought that its vendor has not signed does not go to the vendor", {}, async (client, mode) => {
  const answers = [() => responseOf(thinking("chat", THOUGHT), mode), () => responseOf(messagesAnswer([CALL]), mode)];
  const { second, asked } = await talk(client, mode, answers, {
    config: SIGNING,
    between: (body) => ({ ...body, model: "vendor" }),
  });
  assertEquals([second.status, THOUGHTS_IN.messages(asked[1]!)], [200, []]);
  assert(!JSON.stringify(asked[1]).includes('"signature"'));
  assertEquals(second.headers.get("x-laneway-notes"), "dropped reasoning that its vendor has not signed");
});

testEach("R21", "a server of open models gets it all the same, under an empty signature", {}, async (client, mode) => {
  const answers = [() => responseOf(thinking("chat", THOUGHT), mode), () => responseOf(messagesAnswer([CALL]), mode)];
  const { second, asked } = await talk(client, mode, answers, {
    config: SIGNING,
    between: (body) => ({ ...body, model: "messages" }),
  });
  assertEquals(second.status, 200);
  assertEquals(THOUGHTS_IN.messages(asked[1]!), [{ type: "thinking", thinking: THOUGHT, signature: "" }]);
});

const BAD_SIGNATURE = {
  type: "error",
  error: {
    type: "invalid_request_error",
    message: "messages.1.content.0: Invalid `signature` in `thinking` block",
  },
};

testEach("R21", "a signature that the vendor refuses is left out of one more try, and of nobody else's", {
  clients: ["messages"],
}, async (client, mode) => {
  const ok = () => responseOf(messagesAnswer([{ type: "text", text: "Hi" }]), mode);
  const upstream = fakeUpstream(() => Response.json(BAD_SIGNATURE, { status: 400 }), ok);
  const app = newApp({ config: SIGNING, fetch: upstream.fetch });
  const asked = (signature: string) => ({
    ...bodyFor(client, { stream: mode === "streamed" }, "vendor"),
    messages: [
      { role: "user", content: "Hello" },
      { role: "assistant", content: [{ type: "thinking", thinking: "hm", signature }, { type: "text", text: "Hi" }] },
      { role: "user", content: "And now?" },
    ],
  });
  const mended = await post(app, client, asked("c3RyYW5nZQ=="));
  assertEquals([mended.status, mended.said], [200, [{ text: "Hi" }]]);
  assertEquals(mended.headers.get("x-laneway-notes"), "dropped reasoning of earlier turns");
  await post(app, client, asked(SIGNATURE));
  const thoughts = upstream.asked.map(({ body }) => THOUGHTS_IN.messages(JSON.parse(body)).length);
  assertEquals(thoughts, [1, 0, 1]);
});

testEach("R21", "what somebody else encrypted is left out of one more try, where the vendor cannot read it", {
  clients: ["responses"],
}, async (client, mode) => {
  const message = "The encrypted content gAAA... could not be verified. Reason: could not be decrypted or parsed.";
  const refusal = { error: { message, type: "invalid_request_error", code: "invalid_encrypted_content" } };
  const upstream = fakeUpstream(
    () => Response.json(refusal, { status: 400 }),
    () => responseOf(responsesAnswer(ENCRYPTED), mode),
  );
  const app = newApp({ config: SIGNING, fetch: upstream.fetch });
  const input = [
    { type: "message", role: "user", content: "Hello" },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAAstrange" },
    { type: "message", role: "assistant", content: "Hi" },
    { type: "message", role: "user", content: "And now?" },
  ];
  const view = await post(app, client, { ...bodyFor(client, { stream: mode === "streamed" }, "other"), input });
  assertEquals([view.status, view.said], [200, [{ text: "Hi" }]]);
  assertEquals(view.headers.get("x-laneway-notes"), "dropped reasoning of earlier turns");
  const thoughts = upstream.asked.map(({ body }) => THOUGHTS_IN.responses(JSON.parse(body)));
  assertEquals(thoughts, [["gAAAAstrange"], []]);
});

testEach("R21", "a second refusal is the answer", { clients: ["messages"], modes: ["whole"] }, async (client) => {
  const upstream = fakeUpstream(() => Response.json(BAD_SIGNATURE, { status: 400 }));
  const app = newApp({ config: SIGNING, fetch: upstream.fetch });
  const content = [{ type: "thinking", thinking: "hm", signature: "c3RyYW5nZQ==" }, { type: "text", text: "Hi" }];
  const messages = [{ role: "user", content: "a" }, { role: "assistant", content }, { role: "user", content: "b" }];
  const view = await post(app, client, { ...bodyFor(client, {}, "vendor"), messages });
  assertEquals([view.status, upstream.asked.length], [400, 2]);
});

testEach("R21", "a host that knows no reasoning of earlier turns is asked once more without, and for a day so", {
  modes: ["whole"],
}, async (client) => {
  const refusal = { error: { message: "messages[1].reasoning_content: Extra inputs are not permitted", code: 400 } };
  const upstream = fakeUpstream(
    () => Response.json(thinking("chat", THOUGHT).whole),
    () => Response.json(refusal, { status: 400 }),
    () => shortAnswer("chat"),
  );
  let time = 0;
  const app = newApp({ config: CONFIG, fetch: upstream.fetch, now: () => time });
  const body = { ...bodyFor(client, { tools: TOOLS }), ...WANTS[client] };
  const next = nextTurn(client, body, await post(app, client, body));
  for (const now of [0, 86_399_999, 86_400_000]) {
    time = now;
    const { status, headers } = await post(app, client, next);
    const noted = headers.get("x-laneway-notes");
    assertEquals([status, noted], [200, now < 86_400_000 ? "dropped reasoning of earlier turns" : null]);
  }
  const thoughts = upstream.asked.map(({ body }) => THOUGHTS_IN.chat(JSON.parse(body)).length);
  assertEquals(thoughts, [0, 1, 0, 0, 1]);
});

testEach("R21", "such a host does not hear either that nothing was thought, whatever the model's others want", {
  modes: ["whole"],
}, async (client) => {
  const model = { task: "chat" as const, targets: [{ upstream: "chat", model: "moonshotai/kimi-k2-instruct" }] };
  const config = { ...CONFIG, lanes: { oss: { models: { ...CONFIG.lanes.oss.models, chat: model } } } };
  const message = "'messages.2' : for 'role:assistant' property 'reasoning_content' is unsupported";
  const upstream = fakeUpstream(({ body }) =>
    body.includes("reasoning_content") ? Response.json({ error: { message } }, { status: 400 }) : shortAnswer("chat")
  );
  const app = newApp({ config, fetch: upstream.fetch });
  const turn = { asked: "Look", pictures: [], thought: undefined, answered: undefined };
  const calls = [{ id: "call_1", name: "look", input: {}, result: "Nothing", failed: false }];
  const { status } = await post(app, client, bodyFor(client, { turns: [{ ...turn, calls }], tools: TOOLS }));
  const kept = upstream.asked.map(({ body }) => body.includes("reasoning_content"));
  assertEquals([status, kept], [200, [true, false]]);
});

// Another model in mid-conversation

const ENCRYPTED = [
  { type: "reasoning", id: "rs_up", summary: [], encrypted_content: "gAAAAsecret" },
  {
    type: "message",
    id: "msg_up",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "Hi", annotations: [] }],
  },
];

testEach("R53", "what is encrypted goes back to the model that wrote it, and to no other", {
  clients: ["messages", "responses"],
}, async (client, mode) => {
  const answers = [() => responseOf(responsesAnswer(ENCRYPTED), mode)];
  for (const [model, back] of [["other", ["gAAAAsecret"]], ["sibling", []], ["chat", []]] as const) {
    const { second, asked } = await talk(client, mode, [
      ...answers,
      () => responseOf(model === "chat" ? HELLO : responsesAnswer(ENCRYPTED), mode),
    ], {
      config: SIGNING,
      model: "other",
      between: (body) => ({ ...body, model }),
    });
    assertEquals(second.status, 200);
    if (model !== "chat") assertEquals(THOUGHTS_IN.responses(asked[1]!), [...back]);
    assertEquals(JSON.stringify(asked[1]).includes("gAAAAsecret"), back.length > 0);
    const notes = second.headers.get("x-laneway-notes");
    assertEquals(notes, back.length > 0 ? null : "dropped reasoning that only another model can read");
  }
});

testEach("R23", "what a server of open models encrypted goes back to it with its words", {
  clients: ["messages", "responses"],
}, async (client, mode) => {
  const thought = {
    type: "reasoning",
    id: "rs_up",
    summary: [],
    content: [{ type: "reasoning_text", text: THOUGHT }],
    encrypted_content: "gAAAAsecret",
  };
  const answer = responsesAnswer([thought, ENCRYPTED[1]!]);
  const { second, asked } = await talk(client, mode, [() => responseOf(answer, mode)], { model: "responses" });
  assertEquals([second.status, second.headers.get("x-laneway-notes")], [200, null]);
  assertEquals(THOUGHTS_IN.responses(asked[1]!), [THOUGHT, "gAAAAsecret"]);
});

testEach(
  "R53",
  "another model gets the words of a thought",
  { clients: ["messages", "responses"] },
  async (client, mode) => {
    const answers = [() => responseOf(thinking("messages", THOUGHT), mode), () => responseOf(HELLO, mode)];
    const { second, asked } = await talk(client, mode, answers, {
      model: "messages",
      between: (body) => ({ ...body, model: "chat" }),
    });
    assertEquals([second.status, THOUGHTS_IN.chat(asked[1]!)], [200, [THOUGHT]]);
    assert(!JSON.stringify(asked[1]).includes(SIGNATURE));
  },
);

// What a server puts on its calls, and beside its thoughts

const EXTRA = { google: { thought_signature: "c2lnbmF0dXJl" } };
const SIGNED_CALLS = ["call_1", "call_2"].map((id, at) => ({
  id,
  type: "function",
  function: { name: "look", arguments: `{"a":${at}}` },
  ...(at === 0 && { extra_content: EXTRA }),
}));
const SIGNED_ANSWER = {
  whole: chatWhole({ content: "Let me look", tool_calls: SIGNED_CALLS }, "tool_calls"),
  frames: chatStream([
    { content: "Let me " },
    { content: "look" },
    ...SIGNED_CALLS.map((call, index) => ({ tool_calls: [{ index, ...call }] })),
  ], "tool_calls"),
};

testEach("R24", "what a server puts on a call comes back on it", {}, async (client, mode) => {
  for (const store of client === "responses" ? [false, true] : [undefined]) {
    const more = store === undefined ? {} : { store };
    const { first, second, asked } = await talk(client, mode, [() => responseOf(SIGNED_ANSWER, mode)], { more });
    assertEquals([first.status, second.status], [200, 200]);
    const [turn] = listOf(asked[1]!.messages).filter(({ role }) => role === "assistant");
    assertEquals(turn, { role: "assistant", content: "Let me look", tool_calls: SIGNED_CALLS });
    assertEquals(first.said.map((one) => Object.keys(one)[0]), ["text", "call", "call"]);
  }
});

testEach("R24", "what carries it stands before the call, so that clients do not cut it off as a last thought", {
  clients: ["messages"],
}, async (client, mode) => {
  const { first } = await talk(client, mode, [() => responseOf(SIGNED_ANSWER, mode)]);
  assertEquals(blocksOf(first).map(({ type }) => type), ["text", "thinking", "tool_use", "tool_use"]);
});

const TWO_MODELS = {
  ...CONFIG,
  lanes: {
    oss: {
      models: {
        ...CONFIG.lanes.oss.models,
        second: { task: "chat" as const, targets: [{ upstream: "chat", model: "org/second" }] },
      },
    },
  },
};

testEach("R24", "a server's own marks do not go to another model", {
  clients: ["messages", "responses"],
}, async (client, mode) => {
  const { second, asked } = await talk(client, mode, [() => responseOf(SIGNED_ANSWER, mode)], {
    config: TWO_MODELS,
    between: (body) => ({ ...body, model: "second" }),
  });
  assertEquals(second.status, 200);
  assert(!JSON.stringify(asked[1]).includes("thought_signature"));
});

testEach("R24", "nor do they out of the gateway's memory", { clients: ["responses"] }, async (client, mode) => {
  const upstream = fakeUpstream(() => responseOf(SIGNED_ANSWER, mode));
  const app = newApp({ config: TWO_MODELS, fetch: upstream.fetch });
  const body = bodyFor(client, { tools: TOOLS, stream: mode === "streamed" });
  const { id } = await post(app, client, body);
  const next = await post(app, client, { ...body, model: "second", previous_response_id: id!, input: "And now?" });
  assertEquals(next.status, 200);
  assert(!upstream.asked[1]!.body.includes("thought_signature"));
});

testEach("R24", "a stored answer gives it back by its id", { clients: ["responses"] }, async (client, mode) => {
  const upstream = fakeUpstream(() => responseOf(SIGNED_ANSWER, mode));
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const body = bodyFor(client, { tools: TOOLS, stream: mode === "streamed" });
  const { id, body: whole, frames } = await post(app, client, body);
  const input = ["call_1", "call_2"].map((call_id) => ({ type: "function_call_output", call_id, output: "here" }));
  await post(app, client, { ...body, previous_response_id: id!, input });
  const output = listOf(frames.length > 0 ? objectOf(JSON.parse(frames.at(-2)!.data!).response).output : whole.output);
  const references = output.map(({ id }) => ({ type: "item_reference", id: id! }));
  await post(app, client, { ...body, input: [...listOf(body.input), ...references, ...input] });
  for (const { body: asked } of upstream.asked.slice(1)) {
    const [turn] = listOf(JSON.parse(asked).messages).filter(({ role }) => role === "assistant");
    assertEquals(turn, { role: "assistant", content: "Let me look", tool_calls: SIGNED_CALLS });
  }
});

const DETAILS = [
  { type: "reasoning.text", text: "First, look", signature: "c2ln", format: "x-v1", index: 0 },
  { type: "reasoning.encrypted", data: "ZW5j", id: "call_1", format: "x-v1", index: 1 },
];
const [TEXT_DETAIL, ENCRYPTED_DETAIL] = DETAILS;
const DETAILED = {
  whole: chatWhole({
    reasoning: "First, look",
    reasoning_details: DETAILS,
    content: null,
    tool_calls: [SIGNED_CALLS[1]!],
  }, "tool_calls"),
  frames: chatStream([
    { reasoning: "First,", reasoning_details: [{ ...TEXT_DETAIL, text: "First,", signature: null }] },
    { reasoning: " look", reasoning_details: [{ ...TEXT_DETAIL, text: " look", signature: null }] },
    { reasoning_details: [{ type: "reasoning.text", signature: "c2ln", index: 0 }] },
    { reasoning_details: [ENCRYPTED_DETAIL!], tool_calls: [{ index: 0, ...SIGNED_CALLS[1] }] },
  ], "tool_calls"),
};

testEach("R24", "the details of reasoning come back to the server that wrote them", {
  clients: ["messages", "responses"],
}, async (client, mode) => {
  const { first, second, asked } = await talk(client, mode, [() => responseOf(DETAILED, mode)], { memory: "nothing" });
  assertEquals([first.said[0], second.status], [{ reasoning: "First, look" }, 200]);
  const [turn] = listOf(asked[1]!.messages).filter(({ role }) => role === "assistant");
  assertEquals(turn!.reasoning_content, "First, look");
  assertEquals(turn!.reasoning_details, DETAILS);
});

testEach("R24", "details that come after the call are told all the same", {
  clients: ["messages", "responses"],
  modes: ["streamed"],
}, async (client, mode) => {
  const frames = chatStream([
    { tool_calls: [{ index: 0, ...SIGNED_CALLS[1] }] },
    { reasoning_details: [ENCRYPTED_DETAIL!] },
  ], "tool_calls");
  const { second, asked } = await talk(client, mode, [() => responseOf({ frames }, mode)]);
  const [turn] = listOf(asked[1]!.messages).filter(({ role }) => role === "assistant");
  assertEquals([second.status, turn!.reasoning_details], [200, [ENCRYPTED_DETAIL!]]);
  assertNotEquals(turn!.tool_calls, undefined);
});
