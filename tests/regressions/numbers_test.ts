/** Numbers that a double would change, where they are kept, repaired, stored, sealed, relayed or counted. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type ConfigInput, newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { chatWhole, CONFIG, data, MODES, PATH, shortAnswer, streamed, type Wire } from "./support.ts";

const BIG = "9007199254740993";

function json(text: string): Response {
  return new Response(text, { headers: { "content-type": "application/json" } });
}

/** Posts JSON texts, one after the other; what the client got and what the upstream was sent. */
async function talk(
  client: Wire,
  bodies: string[],
  answer: () => Response,
  config: ConfigInput = CONFIG,
  headers = {},
) {
  const upstream = fakeUpstream(answer);
  const app = newApp({ config, fetch: upstream.fetch });
  const answers: { status: number; text: string; notes: string | null }[] = [];
  for (const body of bodies) {
    const response = await app.post(PATH[client], body, headers);
    answers.push({
      status: response.status,
      text: await response.text(),
      notes: response.headers.get("x-laneway-notes"),
    });
  }
  return { answers, sent: upstream.asked.map(({ body }) => body) };
}

const HELLO = '"messages":[{"role":"user","content":"Hello"}]';

Deno.test("a seed of 64 bits reaches the upstream as it is; another wire has none, and says so", async () => {
  for (const seed of [BIG, "18446744073709551615", "-9223372036854775808", "9007199254740992", "7"]) {
    const { sent } = await talk("chat", [`{"model":"chat",${HELLO},"seed":${seed}}`], () => shortAnswer("chat"));
    assertMatch(sent[0]!, new RegExp(`"seed":${seed}[,}]`));
  }
  const { answers } = await talk(
    "chat",
    [`{"model":"messages",${HELLO},"seed":${BIG}}`],
    () => shortAnswer("messages"),
  );
  assertStringIncludes(answers[0]!.notes!, "dropped seed");
});

Deno.test("a number that a field limits is the nearest double there; beyond the limit it is refused", async () => {
  const temperature = "0.70000000000000000000001";
  const { sent } = await talk(
    "chat",
    [`{"model":"chat",${HELLO},"temperature":${temperature},"top_p":0.10000000000000001}`],
    () => shortAnswer("chat"),
    CONFIG,
    { "x-laneway-strict": "true" },
  );
  assertStringIncludes(sent[0]!, '"temperature":0.7,"top_p":0.1');
  for (
    const [field, value] of [
      ["max_tokens", BIG],
      ["max_tokens", "1e400"],
      ["seed", "1.50000000000000000001"],
      [
        "messages",
        BIG,
      ],
      ["model", BIG],
      ["tools", BIG],
      ["metadata", BIG],
    ]
  ) {
    const { answers: [refused] } = await talk(
      "chat",
      [`{"model":"chat",${HELLO},"${field}":${value}}`],
      () => shortAnswer("chat"),
    );
    assertEquals([refused!.status, JSON.parse(refused!.text).error?.param], [400, field], `${field} ${refused!.text}`);
  }
});

Deno.test("a list of nothing but such numbers where texts belong is refused at once", async () => {
  const stop = Array(50_000).fill(BIG).join();
  const { answers: [refused] } = await talk(
    "chat",
    [`{"model":"chat",${HELLO},"stop":[${stop}]}`],
    () => shortAnswer("chat"),
  );
  assertEquals(refused!.status, 400);
});

for (const mode of MODES) {
  Deno.test(`what is relayed keeps its numbers, both ways · ${mode}`, async () => {
    const choices = (inner: string) =>
      `{"model":"org/model","x_id":${BIG},"choices":[{"index":0,${inner},"logprobs":{"content":[{"token":"a","logprob":-0.123456789012345678}]},"finish_reason":"stop"}]}`;
    const answer = mode === "whole"
      ? () => json(choices('"message":{"role":"assistant","content":"Hi"}'))
      : () => streamed(`data: ${choices('"delta":{"content":"Hi"}')}\n\ndata: [DONE]\n\n`);
    const body = `{"model":"chat",${HELLO},"logprobs":true,"stream":${mode === "streamed"},"x_id":${BIG}}`;
    const { answers, sent } = await talk("chat", [body], answer);
    assertStringIncludes(sent[0]!, `"x_id":${BIG}`);
    assertStringIncludes(answers[0]!.text, `"x_id":${BIG}`);
    assertStringIncludes(answers[0]!.text, '"logprob":-0.123456789012345678');
  });

  Deno.test(`a stored answer goes on with the numbers that its calls had · ${mode}`, async () => {
    const call =
      `{"index":0,"id":"call_1","type":"function","function":{"name":"look","arguments":"{\\"id\\":${BIG}}"}}`;
    const answer = mode === "whole"
      ? () =>
        json(
          `{"model":"m","choices":[{"index":0,"message":{"role":"assistant","tool_calls":[${call}]},"finish_reason":"tool_calls"}]}`,
        )
      : () =>
        streamed(
          `data: {"model":"m","choices":[{"index":0,"delta":{"tool_calls":[${call}]},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n`,
        );
    const stream = `"stream":${mode === "streamed"}`;
    const tools =
      `"tools":[{"type":"function","name":"look","parameters":{"type":"object","properties":{},"x_id":${BIG}}}]`;
    const first = `{"model":"chat","input":"Hello",${tools},"metadata":{"x_id":${BIG}},${stream}}`;
    const upstream = fakeUpstream(answer);
    const app = newApp({ config: CONFIG, fetch: upstream.fetch });
    const text = await (await app.post(PATH.responses, first)).text();
    const id = /"id":"(resp_[^"]+)"/.exec(text)![1]!;
    const kept = await (await app.get(`${PATH.responses}/${id}`)).text();
    assertEquals(kept.match(new RegExp(BIG, "g"))?.length, 3, kept);
    const output = '[{"type":"function_call_output","call_id":"call_1","output":"found"}]';
    await (await app.post(PATH.responses, `{"model":"chat","previous_response_id":"${id}","input":${output}}`)).text();
    assertStringIncludes(upstream.asked[1]!.body, `{\\"id\\":${BIG}}`);
  });
}

Deno.test("what a server wants back of its reasoning comes back out of the seal with its numbers", async () => {
  const details = `[{"type":"reasoning.text","text":"Hm","x_id":${BIG}}]`;
  const answer = () =>
    json(
      `{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","reasoning":"Hm","reasoning_details":${details}},"finish_reason":"stop"}]}`,
    );
  const upstream = fakeUpstream(answer);
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const headers = { "anthropic-version": "2023-06-01" };
  const first = { model: "chat", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] };
  const { content } = await (await app.post(PATH.messages, first, headers)).json();
  const messages = [...first.messages, { role: "assistant", content }, { role: "user", content: "And?" }];
  await (await app.post(PATH.messages, { ...first, messages }, headers)).text();
  assertStringIncludes(upstream.asked[1]!.body, details);
});

Deno.test("arguments that are repaired, and an answer that is checked here, keep their numbers", async () => {
  const upstreams = {
    chat: { ...CONFIG.upstreams.chat, repairArguments: true, structuredOutput: "instruct" },
  } as const;
  const lanes = { oss: { models: { chat: CONFIG.lanes.oss.models.chat } } };
  const config = { upstreams, lanes } satisfies ConfigInput;
  const schema = `{"type":"object","properties":{"id":{"type":"integer","minimum":${BIG}}}}`;
  const called = chatWhole({
    tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: `{'id': ${BIG},}` } }],
  }, "tool_calls");
  const tools = `"tools":[{"type":"function","function":{"name":"look","parameters":${schema}}}]`;
  const repaired = await talk("chat", [`{"model":"chat",${HELLO},${tools}}`], () => Response.json(called), config);
  assertStringIncludes(repaired.answers[0]!.text, `"arguments":"{\\"id\\":${BIG}}"`);
  assertStringIncludes(repaired.answers[0]!.notes!, "repaired arguments of look");

  const form = `"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":${schema}}}`;
  const answers = ['{"id":9007199254740992}', `{"id":${BIG}}`];
  let asked = 0;
  const checked = await talk(
    "chat",
    [`{"model":"chat",${HELLO},${form}}`],
    () => Response.json(chatWhole({ content: answers[asked++]! })),
    config,
  );
  assertEquals([asked, JSON.parse(checked.answers[0]!.text).choices[0].message.content], [2, answers[1]]);
  assertStringIncludes(checked.sent[0]!, BIG);
});

Deno.test("a call that a server tells as an object keeps its numbers", async () => {
  const call = `{"index":0,"id":"call_1","type":"function","function":{"name":"look","arguments":{"id":${BIG}}}}`;
  const frames =
    `data: {"model":"m","choices":[{"index":0,"delta":{"tool_calls":[${call}]},"finish_reason":"tool_calls"}]}\n\n` +
    "data: [DONE]\n\n";
  const { answers } = await talk("chat", [`{"model":"chat",${HELLO},"stream":true}`], () => streamed(frames));
  assertStringIncludes(answers[0]!.text, `{\\"id\\":${BIG}}`);
});

Deno.test("vectors are doubles, whatever digits a server writes them with", async () => {
  const config = {
    upstreams: CONFIG.upstreams,
    lanes: { oss: { models: { vectors: { task: "embedding", targets: [{ upstream: "chat", model: "org/model" }] } } } },
  } satisfies ConfigInput;
  const upstream = fakeUpstream(() => json('{"data":[{"index":0,"embedding":[0.10000000000000001,-1e-400]}]}'));
  const app = newApp({ config, fetch: upstream.fetch });
  const response = await app.post("/oss/v1/embeddings", { model: "vectors", input: "Hello" });
  assertEquals([response.status, (await response.json()).data?.[0].embedding], [200, [0.1, 0]]);
});

Deno.test("the sandbox takes schemas with such numbers", async () => {
  const config = {
    upstreams: { sandbox: { driver: "sandbox" } },
    lanes: { oss: { models: { chat: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] } } } },
  } satisfies ConfigInput;
  const schema =
    `{"type":"object","required":["a","b","c"],"properties":{"a":{"const":${BIG}},"b":{"type":"integer","minimum":${BIG}},"c":{"type":"integer","enum":[${BIG}]}}}`;
  const form = `"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":${schema}}}`;
  const { answers: [answer] } = await talk(
    "chat",
    [`{"model":"chat",${HELLO},${form}}`],
    () => shortAnswer("chat"),
    config,
  );
  const { content } = JSON.parse(answer!.text).choices[0].message;
  assert(content.startsWith(`{"a":${BIG},"b":`) && content.endsWith(`"c":${BIG}}`), content);
});

Deno.test("a frame with such numbers in an unknown field goes on to a client of the same wire", async () => {
  const frames = data({ model: "m", choices: [{ index: 0, delta: { content: "Hi" } }] })
    .replace('"content"', `"x_id":${BIG},"content"`) +
    data({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  const { answers } = await talk("chat", [`{"model":"chat",${HELLO},"stream":true}`], () => streamed(frames));
  assertStringIncludes(answers[0]!.text, BIG);
});
