import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { CONFIG, type ConfigInput, ENV } from "../support/app.ts";
import { answerStream, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { MAJORS, newClient, type OpenAI } from "./chat_clients.ts";
import {
  asSent,
  bodiesOf,
  type Body,
  forEachMajor,
  lastResponse,
  newResponsesApp,
  readEvents,
  readWithHelper,
  type Response,
  type Said,
  scriptedUpstream,
  type Setting,
  summaryOf,
} from "./responses_clients.ts";

const HELLO: Body = { model: "model", input: "Hello" };

// A conversation with tools

const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const TOOLS: OpenAI.Responses.Tool[] = [
  { type: "function", name: "get_weather", parameters: CITY, strict: false },
  {
    type: "namespace",
    name: "clock",
    description: "About the time",
    tools: [{ type: "function", name: "read", parameters: CITY }],
  },
  { type: "custom", name: "write", description: "Write it down" },
];

const WEATHER = { id: "call_w", name: "get_weather", input: '{"city":"Oslo"}' };
const CLOCK = { id: "call_c", name: "clock__read", input: '{"city":"Oslo"}' };
const WRITE = { id: "call_n", name: "write", input: '{"input":"It is sunny"}' };

/** What the model says in each turn, and what it is told before. */
const TURNS: { said: Said; input: OpenAI.Responses.ResponseInput }[] = [
  {
    input: [{ role: "user", content: "Is it a nice day?" }],
    said: { thought: "I need the weather.", calls: [WEATHER] },
  },
  {
    input: [{ type: "function_call_output", call_id: WEATHER.id, output: "sunny" }],
    said: { text: "And the time.", calls: [CLOCK, WRITE] },
  },
  {
    input: [
      { type: "function_call_output", call_id: CLOCK.id, output: [{ type: "input_text", text: "noon" }] },
      { type: "custom_tool_call_output", call_id: WRITE.id, output: "done" },
    ],
    said: { thought: "All is there.", text: "Yes, it is." },
  },
  { input: [{ role: "user", content: "Thanks" }], said: { text: "You are welcome." } },
];

interface Way {
  streamed: boolean;
  stateless: boolean;
}

async function converse(client: OpenAI, { streamed, stateless }: Way): Promise<Response[]> {
  const answers: Response[] = [];
  const history: OpenAI.Responses.ResponseInput = [];
  for (const { input } of TURNS) {
    history.push(...input);
    const body: Body = {
      model: "model",
      instructions: "Be brief.",
      tools: TOOLS,
      ...(stateless
        ? { input: [...history], store: false, include: ["reasoning.encrypted_content"] }
        : { input, previous_response_id: answers.at(-1)?.id }),
    };
    const answer = streamed ? (await readWithHelper(client, body)).final : await client.responses.create(body);
    // Of a thought, a client without a memory needs nothing but what is encrypted.
    const output = answer.output.map((item) => item.type === "reasoning" ? { ...item, content: [] } : item);
    history.push(...output as OpenAI.Responses.ResponseInput);
    answers.push(answer);
  }
  return answers;
}

for (const streamed of [false, true]) {
  const script = TURNS.map(({ said }) => said);
  forEachMajor(
    `a conversation with tools is the same with a memory and without one, ${streamed ? "streamed" : "whole"}`,
    () => scriptedUpstream(...script, ...script),
    async ({ client, upstream }) => {
      const kept = await converse(client, { streamed, stateless: false });
      const resent = await converse(client, { streamed, stateless: true });
      assertEquals(kept.map(({ output }) => summaryOf(output)), resent.map(({ output }) => summaryOf(output)));
      assertEquals(kept.map(({ previous_response_id }) => previous_response_id), [
        null,
        ...kept.slice(0, -1).map(({ id }) => id),
      ]);

      const bodies = upstream.asked.map(({ body }) => body);
      assertEquals(bodies.slice(TURNS.length), bodies.slice(0, TURNS.length));
      const { messages } = bodiesOf(upstream).at(-1);
      assertEquals(messages.map(({ role }: { role: string }) => role), [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
      ]);
      const [, , first, , second] = messages;
      assertEquals([first.reasoning_content, first.tool_calls[0].id], ["I need the weather.", "call_w"]);
      assertEquals(second.content, "And the time.");
      const calls = second.tool_calls.map((call: OpenAI.ChatCompletionMessageFunctionToolCall) => call.function);
      assertEquals(calls, [CLOCK, WRITE].map(({ name, input }) => ({ name, arguments: input })));
      assertEquals([messages[5].content, messages[6].content], ["noon", "done"]);
    },
  );
}

forEachMajor(
  "an answer is continued in several ways",
  () => scriptedUpstream({ text: "One" }, { text: "Two" }),
  async ({ client, upstream }) => {
    const first = await client.responses.create(HELLO);
    for (const input of ["left", "right"]) {
      await client.responses.create({ model: "model", input, previous_response_id: first.id });
    }
    const conversations = bodiesOf(upstream).slice(1).map(({ messages }) =>
      messages.map(({ content }: { content: string }) => content)
    );
    assertEquals(conversations, [["Hello", "One", "left"], ["Hello", "One", "right"]]);
  },
);

forEachMajor(
  "an answer that is not kept follows one that is",
  () => scriptedUpstream({ text: "One" }, { text: "Two" }),
  async ({ major: { Sdk }, client, upstream }) => {
    const first = await client.responses.create(HELLO);
    const second = await client.responses.create({ ...HELLO, previous_response_id: first.id, store: false });
    assertEquals([second.previous_response_id, bodiesOf(upstream)[1].messages.length], [first.id, 3]);
    await assertRejects(
      () => client.responses.create({ ...HELLO, previous_response_id: second.id }),
      Sdk.BadRequestError,
    );
  },
);

forEachMajor(
  "instructions hold for one answer",
  () => scriptedUpstream({ text: "One" }),
  async ({ client, upstream }) => {
    const first = await client.responses.create({ ...HELLO, instructions: "Be brief." });
    await client.responses.create({ ...HELLO, previous_response_id: first.id, instructions: "Be long." });
    const texts = JSON.stringify(bodiesOf(upstream)[1].messages);
    assertEquals([texts.includes("Be long."), texts.includes("Be brief.")], [true, false]);
  },
);

// What is kept

forEachMajor(
  "an answer is read again as it was",
  () => scriptedUpstream(...TURNS.map(({ said }) => said)),
  async ({ client }) => {
    const whole = await client.responses.create({ ...HELLO, tools: TOOLS, metadata: { ticket: "1" } });
    const { final } = await readWithHelper(client, { ...HELLO, tools: TOOLS, previous_response_id: whole.id });
    for (const answer of [whole, final]) {
      const again = await client.responses.retrieve(answer.id);
      assertEquals(asSent(again), asSent(answer));
    }
  },
);

forEachMajor(
  "an answer is read again whole, not as a stream",
  () => scriptedUpstream({ text: "Hi" }),
  async ({ major: { Sdk }, client }) => {
    const { id } = await client.responses.create(HELLO);
    await assertRejects(() => client.responses.retrieve(id, { stream: true }), Sdk.NotFoundError, "stream");
  },
);

/** The ways in which an id is used, and what the SDK raises where nothing is behind it. */
const USES: Record<string, (client: OpenAI, id: string) => Promise<unknown>> = {
  retrieve: (client, id) => client.responses.retrieve(id),
  delete: (client, id) => client.responses.delete(id),
  cancel: (client, id) => client.responses.cancel(id),
  inputItems: async (client, id) => await client.responses.inputItems.list(id),
};

async function assertUnknown({ major: { Sdk }, client }: Setting, id: string): Promise<void> {
  for (const [name, use] of Object.entries(USES)) {
    await assertRejects(() => use(client, id), Sdk.NotFoundError, id, name);
  }
  for (const stream of [false, true]) {
    const error = await assertRejects(
      () => client.responses.create({ ...HELLO, previous_response_id: id, stream }),
      Sdk.BadRequestError,
      id,
    );
    assertEquals([error.code, error.param, error.type], [
      "previous_response_not_found",
      "previous_response_id",
      "invalid_request_error",
    ]);
  }
}

forEachMajor("an id that nobody gave out", () => scriptedUpstream({ text: "Hi" }), async (setting) => {
  await assertUnknown(setting, "resp_nobody");
  await assertUnknown(setting, "nobody");
  assertEquals(setting.upstream.asked.length, 0);
});

forEachMajor("an answer that was not to be kept", () => scriptedUpstream({ text: "Hi" }), async (setting) => {
  const { client } = setting;
  const whole = await client.responses.create({ ...HELLO, store: false });
  const { final } = await readWithHelper(client, { ...HELLO, store: false });
  for (const answer of [whole, final]) {
    assertEquals("store" in answer && answer.store, false);
    await assertUnknown(setting, answer.id);
  }
});

forEachMajor("an answer that was deleted", () => scriptedUpstream({ text: "Hi" }), async (setting) => {
  const { client } = setting;
  const { id } = await client.responses.create(HELLO);
  const other = await client.responses.create(HELLO);
  await client.responses.delete(id);
  await assertUnknown(setting, id);
  assertEquals((await client.responses.retrieve(other.id)).id, other.id);
});

const TWO_KEYS: ConfigInput = {
  ...CONFIG,
  keys: [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }],
};

for (const major of MAJORS) {
  Deno.test(`openai ${major.major}: an answer that somebody else was given`, async () => {
    const upstream = scriptedUpstream({ text: "Hi" });
    const app = newResponsesApp({ config: TWO_KEYS, fetch: upstream.fetch });
    const client = newClient(major, app);
    const guest = client.withOptions({ apiKey: ENV.GUEST_KEY });
    const { id } = await client.responses.create(HELLO);
    await assertUnknown({ major, client: guest, app, upstream }, id);
    assertEquals((await client.responses.retrieve(id)).id, id);
  });
}

forEachMajor(
  "an answer that is there cannot be cancelled",
  () => scriptedUpstream({ text: "Hi" }),
  async ({ major: { Sdk }, client }) => {
    const { id } = await client.responses.create(HELLO);
    const error = await assertRejects(() => client.responses.cancel(id), Sdk.BadRequestError);
    assertStringIncludes(error.message.toLowerCase(), "background");
    assertEquals((await client.responses.retrieve(id)).status, "completed");
  },
);

forEachMajor(
  "an answer that failed in mid-stream is not continued",
  () => fakeUpstream(() => answerStream([word("one")], new TypeError("connection reset"))),
  async ({ major: { Sdk }, client }) => {
    const { id, status } = lastResponse(await readEvents(client, HELLO));
    assertEquals(status, "failed");
    await assertRejects(() => client.responses.create({ ...HELLO, previous_response_id: id }), Sdk.BadRequestError);
  },
);

// The items of an answer's input

const INPUT: OpenAI.Responses.ResponseInput = [
  { role: "developer", content: "One" },
  { role: "user", content: [{ type: "input_text", text: "Two" }] },
  { type: "message", role: "user", content: "Three" },
  { type: "function_call", call_id: "c", name: "get_weather", arguments: "{}" },
  { type: "function_call_output", call_id: "c", output: "Four" },
];
const SHORT = ["One", "Two", "Three", "get_weather", "Four"];

function short(item: OpenAI.Responses.ResponseItem): string | undefined {
  return JSON.stringify(item).match(/One|Two|Three|get_weather|Four/)?.[0];
}

forEachMajor("the items of an input, page by page", () => scriptedUpstream({ text: "Hi" }), async ({ client }) => {
  const { id } = await client.responses.create({ model: "model", input: INPUT, tools: TOOLS });
  const all: OpenAI.Responses.ResponseItem[] = [];
  for await (const item of client.responses.inputItems.list(id, { order: "asc", limit: 2 })) all.push(item);
  assertEquals(all.map(short), SHORT);
  assertEquals(new Set(all.map((item) => item.id)).size, SHORT.length);

  const backwards: OpenAI.Responses.ResponseItem[] = [];
  for await (const item of client.responses.inputItems.list(id)) backwards.push(item);
  assertEquals(backwards, all.toReversed());

  const page = await client.responses.inputItems.list(id, { order: "asc", limit: 2, after: all[0]!.id! });
  assertEquals([page.data, page.has_more], [all.slice(1, 3), true]);
  const rest = await client.responses.inputItems.list(id, { order: "asc", after: all[2]!.id! });
  assertEquals([rest.data, rest.has_more], [all.slice(3), false]);
});

forEachMajor("a text is an item, too", () => scriptedUpstream({ text: "Hi" }), async ({ client }) => {
  const { id } = await client.responses.create(HELLO);
  const { data } = await client.responses.inputItems.list(id);
  assertEquals(data.map((item) => item.type === "message" && [item.role, item.content]), [
    ["user", [{ type: "input_text", text: "Hello" }]],
  ]);
});

// References

forEachMajor(
  "items of earlier answers are referred to",
  () => scriptedUpstream({ thought: "Hm.", text: "I look.", calls: [WEATHER] }, { text: "Sunny" }),
  async ({ client, upstream }) => {
    const first = await client.responses.create({ ...HELLO, tools: TOOLS });
    const ids = first.output.map(({ id }) => id!);
    assertEquals(ids.length, 3);
    const result = { type: "function_call_output", call_id: WEATHER.id, output: "sunny" } as const;
    const hello = { role: "user", content: "Hello" } as const;
    const continued = { ...HELLO, tools: TOOLS };
    await client.responses.create({ ...continued, previous_response_id: first.id, input: [result] });
    const references = ids.map((id) => ({ type: "item_reference" as const, id }));
    await client.responses.create({ ...continued, input: [hello, ...references, result] });
    // The type may be left out.
    await client.responses.create({ ...continued, input: [hello, ...ids.map((id) => ({ id })), result] });
    const [, expected, ...referred] = bodiesOf(upstream);
    for (const body of referred) assertEquals(body, expected);
  },
);

forEachMajor(
  "a reference to nothing",
  () => scriptedUpstream({ text: "Hi" }),
  async ({ major: { Sdk }, client, upstream }) => {
    const unkept = await client.responses.create({ ...HELLO, store: false });
    for (const id of ["msg_nobody", unkept.output[0]!.id!]) {
      const error = await assertRejects(
        () => client.responses.create({ model: "model", input: [{ type: "item_reference", id }] }),
        Sdk.APIError,
        id,
      );
      assert([400, 404].includes(error.status!), `It answered ${error.status}`);
    }
    assertEquals(upstream.asked.length, 1);
  },
);

// Counting

forEachMajor(
  "tokens are counted before anything is asked",
  () => scriptedUpstream({ text: "A long answer, so that it counts." }),
  async ({ client, upstream }) => {
    const short = await client.responses.inputTokens.count({ model: "model", input: "Hello" });
    assertEquals([short.object, short.input_tokens > 0], ["response.input_tokens", true]);
    assertEquals(upstream.asked.length, 0);
    const more = await client.responses.inputTokens.count({
      model: "model",
      input: "Hello",
      instructions: "Be brief.",
      tools: TOOLS,
    });
    assert(more.input_tokens > short.input_tokens);

    const { id } = await client.responses.create(HELLO);
    const after = await client.responses.inputTokens.count({
      model: "model",
      input: "Hello",
      previous_response_id: id,
    });
    assert(after.input_tokens > short.input_tokens);
  },
  // The oldest one does not know it.
  MAJORS.filter(({ major }) => major > 5),
);
