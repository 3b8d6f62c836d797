/** What the playground asks on each wire, and what it makes of the answers. */
import { assertEquals, assertThrows } from "@std/assert";
import { eventsIn, noAnswer, readTools, WIRES } from "../../src/console/wires.js";
import type { JsonObject } from "../../src/canonical/json.ts";
import { newApp } from "../support/app.ts";
import { answerStream, frame } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

const ASKED = {
  model: "model",
  system: "Be brief",
  prompt: "What is this?",
  images: [{ mediaType: "image/png", data: "aGVsbG8=" }],
  tools: readTools('[{ "name": "look", "parameters": { "type": "object", "properties": {} } }]'),
  maxTokens: 99,
  effort: "low",
};

/** Thoughts, a text in two pieces, a call in two pieces, and the usage. */
const FRAMES = [
  frame({ delta: { role: "assistant", reasoning_content: "Hm" } }),
  frame({ delta: { content: "One " } }),
  frame({ delta: { content: "two" } }),
  frame({
    delta: { tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "look", arguments: "" } }] },
  }),
  frame({ delta: { tool_calls: [{ index: 0, function: { arguments: '{"at":' } }] } }),
  frame({ delta: { tool_calls: [{ index: 0, function: { arguments: '"it"}' } }] } }),
  frame({ delta: {}, finish_reason: "tool_calls" }),
  `data: ${
    JSON.stringify({
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: 4, total_tokens: 11, prompt_tokens_details: { cached_tokens: 5 } },
    })
  }\n\n`,
  "data: [DONE]\n\n",
];

async function answerOn(wire: string, frames: readonly string[], more: object = {}) {
  const fake = fakeUpstream(() => answerStream(frames));
  const { path, body, read } = WIRES[wire]!;
  const response = await newApp({ fetch: fake.fetch }).post(`/oss/${path}`, body({ ...ASKED, ...more }));
  const answer = noAnswer();
  for await (const event of eventsIn(response.body!)) read(event, answer);
  return { answer, asked: fake.asked[0] && JSON.parse(fake.asked[0].body) as JsonObject };
}

for (const wire of Object.keys(WIRES)) {
  Deno.test(`playground: the same is asked and the same is seen on every wire · ${wire}`, async () => {
    const { answer, asked } = await answerOn(wire, FRAMES);
    const { reasoning, text, usage, error, calls } = answer;
    assertEquals({ reasoning, text, usage, error }, {
      reasoning: "Hm",
      text: "One two",
      usage: { input: 7, output: 4 },
      error: undefined,
    });
    assertEquals(calls.map(({ name, input }) => ({ name, input })), [{ name: "look", input: '{"at":"it"}' }]);
    const { messages, tools, reasoning_effort, max_tokens, max_completion_tokens } = asked as Record<
      string,
      JsonObject[]
    >;
    assertEquals(messages!.map(({ role }) => role), ["system", "user"]);
    const [picture, prompt] = messages![1]!.content as JsonObject[];
    assertEquals(picture, { type: "image_url", image_url: { url: "data:image/png;base64,aGVsbG8=" } });
    assertEquals(prompt!.text, "What is this?");
    assertEquals((tools![0]!.function as JsonObject).name, "look");
    assertEquals([reasoning_effort, max_tokens ?? max_completion_tokens], ["low", 99] as unknown[]);
  });

  Deno.test(`playground: an answer that breaks off says why · ${wire}`, async () => {
    const broken = `data: ${JSON.stringify({ error: { message: "The model fell over", code: 500 } })}\n\n`;
    const { answer } = await answerOn(wire, [FRAMES[1]!, broken]);
    assertEquals(answer.text, "One ");
    assertEquals(answer.error?.includes("The model fell over"), true, answer.error);
  });
}

Deno.test("playground: every effort that the page offers can be asked for on every wire", async () => {
  const efforts = ["none", "minimal", "low", "max"];
  const asked: Record<string, unknown[]> = {};
  for (const wire of Object.keys(WIRES)) {
    asked[wire] = [];
    for (const effort of efforts) asked[wire].push((await answerOn(wire, FRAMES, { effort })).asked?.reasoning_effort);
  }
  assertEquals(asked, { messages: ["none", "low", "low", "max"], chat: efforts, responses: efforts });
});

Deno.test("playground: calls of custom tools are shown", async () => {
  const custom = (fields: object) => frame({ delta: { tool_calls: [{ index: 0, ...fields }] } });
  const frames = [
    custom({ id: "c1", type: "custom", custom: { name: "run", input: "" } }),
    custom({ custom: { input: "ls " } }),
    custom({ custom: { input: "-l" } }),
    ...FRAMES.slice(-3),
  ];
  const tools = {
    chat: '[{ "type": "custom", "custom": { "name": "run" } }]',
    responses: '[{ "type": "custom", "name": "run" }]',
  };
  for (const [wire, text] of Object.entries(tools)) {
    const { answer } = await answerOn(wire, frames, { tools: readTools(text) });
    assertEquals(answer.calls.map(({ name, input }) => [name, input]), [["run", "ls -l"]], wire);
  }
});

Deno.test("playground: whoever stops reading a stream ends the request, also where a stream cannot be iterated", async () => {
  const { prototype } = ReadableStream;
  const iterator = Object.getOwnPropertyDescriptor(prototype, Symbol.asyncIterator)!;
  Reflect.deleteProperty(prototype, Symbol.asyncIterator);
  try {
    let isCancelled = false;
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('data: {"a":1}\n\n')),
      cancel: () => void (isCancelled = true),
    });
    for await (const event of eventsIn(body)) {
      assertEquals(event, { a: 1 });
      break;
    }
    assertEquals(isCancelled, true);
  } finally {
    Object.defineProperty(prototype, Symbol.asyncIterator, iterator);
  }
});

Deno.test("playground: tools are taken as any of the wires writes them, and what is wrong with them is named", () => {
  const parameters = { type: "object" };
  const look = [{ name: "look", parameters }];
  for (
    const one of [
      { name: "look", parameters },
      { name: "look", input_schema: parameters },
      { type: "function", name: "look", parameters },
      { type: "function", function: { name: "look", parameters } },
      { type: "custom", name: "look", input_schema: parameters },
    ]
  ) assertEquals(readTools(JSON.stringify([one])), look);
  assertEquals(readTools(" "), []);
  assertEquals(readTools('[{"type":"web_search"}]'), [{ hosted: { type: "web_search" } }]);
  for (
    const [text, complaint] of [
      ["{", "not valid JSON"],
      ["{}", "a list"],
      ["[1]", "Tool 1 must be an object"],
      ['[{"parameters":{}}]', 'Tool 1 needs a "name"'],
      ['[{"name":"look"}]', 'Tool 1, "look", needs "parameters"'],
    ]
  ) assertThrows(() => readTools(text!), TypeError, complaint);
});
