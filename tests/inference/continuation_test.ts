/** Answers that break off and go on: where, how, and what their clients, the log and the budgets are told. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CHAT, chatBody, type ConfigInput, ENV, newApp } from "../support/app.ts";
import { answerStream, frame, word } from "../support/chat.ts";
import { answerFor, CLIENTS } from "../support/continued_answers.ts";
import { continuingEngine, type Engine, type Said } from "../support/continuing_engine.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";

type Lane = NonNullable<ConfigInput["lanes"]>[string];
type Model = NonNullable<Lane["models"]>[string];
type UpstreamInput = NonNullable<ConfigInput["upstreams"]>[string];

const TEXT = "One answer, whatever breaks: it goes on as if nothing had happened.";

/** A gateway before one server. */
function gatewayBefore(
  answer: (asked: Asked) => Response | Promise<Response>,
  { upstream = { prefill: "turn" }, lane = {}, config = {} }: {
    upstream?: Partial<UpstreamInput>;
    lane?: Partial<Lane>;
    config?: ConfigInput;
  } = {},
) {
  const { fetch, asked } = fakeUpstream(answer);
  const app = newApp({
    config: {
      upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", ...upstream } },
      lanes: { oss: { ...lane, models: { model: { task: "chat", targets: [{ upstream: "fake", model: "m" }] } } } },
      ...config,
    },
    fetch,
  });
  return { app, asked };
}

/** A gateway before two servers. The first one's answers break off. `answer`: what the first one answers instead. */
function gateway(
  { first, second = { ...first, breaks: [] }, answer, model = {}, upstream = {}, config = {} }: {
    first: Engine;
    second?: Engine;
    answer?(asked: Asked): Response;
    model?: Partial<Model>;
    upstream?: Partial<UpstreamInput>;
    config?: ConfigInput;
  },
) {
  const engines: Record<string, (asked: Asked) => Response> = {
    "first.test": answer ?? continuingEngine(first),
    "second.test": continuingEngine(second),
  };
  const upstreams = fakeUpstream((asked) => engines[asked.url.hostname]!(asked));
  const of = ({ prefill }: Engine) => prefill && { prefill };
  const app = newApp({
    config: {
      upstreams: {
        first: { driver: "chat", baseUrl: "http://first.test/v1", ...of(first), ...upstream },
        second: { driver: "chat", baseUrl: "http://second.test/v1", ...of(second) },
      },
      lanes: {
        oss: {
          models: {
            model: {
              task: "chat",
              targets: [{ upstream: "first", model: "m" }, { upstream: "second", model: "n" }],
              ...model,
            },
          },
        },
      },
      ...config,
    },
    fetch: upstreams.fetch,
  });
  const hosts = () => upstreams.asked.map(({ url }) => url.hostname.split(".")[0]);
  const bodies = () => upstreams.asked.map(({ body }) => JSON.parse(body));
  return { app, hosts, bodies };
}

function engine(more: Partial<Engine> = {}): Engine {
  return {
    wire: "chat",
    prefill: "turn",
    says: [{ text: TEXT }],
    pieces: [5],
    breaks: [{ after: 4, how: "reset" }],
    ...more,
  };
}

const WHOLE = { text: TEXT, ends: 1, errors: 0 };

function outcome({ text, ends, errors }: { text: string; ends: number; errors: number }) {
  return { text, ends, errors };
}

Deno.test("continuation: without a setting, an answer goes on only where the upstream is known to continue", async () => {
  const known = gateway({ first: engine() });
  assertEquals(outcome(await answerFor(known.app, "chat")), WHOLE);
  assertEquals(known.hosts(), ["first", "first"]);
  const unknown = gateway({ first: engine({ prefill: undefined }) });
  assertEquals(outcome(await answerFor(unknown.app, "chat")), { text: TEXT.slice(0, 20), ends: 0, errors: 1 });
  assertEquals(unknown.hosts(), ["first"]);
});

Deno.test("continuation: an alias, or else its lane, says where", async () => {
  for (
    const settings of [{ model: { continuation: "off" as const } }, { upstream: { continuation: "off" as const } }]
  ) {
    const { app, hosts } = gateway({ first: engine(), ...settings });
    assertEquals((await answerFor(app, "chat")).errors, 1);
    assertEquals(hosts(), ["first"]);
  }
  const always = engine({ breaks: Array(9).fill({ after: 4, how: "closed" }) });
  const { app, hosts } = gateway({ first: always, second: engine({ breaks: [] }), model: { continuation: "any" } });
  assertEquals(outcome(await answerFor(app, "chat")), WHOLE);
  assertEquals(hosts(), ["first", "first", "second"]);
});

Deno.test("continuation: with any, the next target goes on where the same one fails", async () => {
  const first = continuingEngine(engine());
  let calls = 0;
  const { app } = gateway({
    first: engine(),
    answer: (asked) => calls++ === 0 ? first(asked) : new Response("busy", { status: 503 }),
    model: { continuation: "any" },
  });
  const got = await answerFor(app, "chat");
  assertEquals(outcome(got), WHOLE);
  assertStringIncludes(got.notes, "continued at second/n after 20 characters: connection broken");
  assertEquals(app.logs[0]!.continued, 1);
  assertEquals(app.logs[0]!.target, "second/n");
});

Deno.test("continuation: a server that refuses unfinished turns is asked once", async () => {
  const engines = continuingEngine(engine({ breaks: Array(9).fill({ after: 4, how: "closed" }) }));
  const { app, asked } = gatewayBefore((asked) => {
    const { messages } = JSON.parse(asked.body);
    if (messages.at(-1).role === "user") return engines(asked);
    const message = "continue_final_message is not supported";
    return Response.json({ error: { message, type: "invalid_request_error" } }, { status: 400 });
  }, { upstream: { prefill: "continue-final-message" } });
  for (const calls of [2, 3, 4]) {
    assertEquals(outcome(await answerFor(app, "chat")), { text: TEXT.slice(0, 20), ends: 0, errors: 1 });
    assertEquals(asked.length, calls);
  }
});

Deno.test("continuation: by an instruction, the rest begins after the words that the model repeats", async () => {
  for (
    const begin of [
      (quote: string) => quote,
      (quote: string) => `"${quote}`,
      (quote: string) => `\n\n${quote.replaceAll(" ", "\n")}`,
      (quote: string) => quote.slice(-12),
    ]
  ) {
    let call = 0;
    const { app } = gatewayBefore(({ body }) => {
      if (call++ === 0) return answerStream([word("One answer, whatever "), word("breaks: it go")]);
      const { messages } = JSON.parse(body);
      assertEquals(messages.map(({ role }: { role: string }) => role), ["user", "assistant", "user"]);
      assertEquals(messages[1].content, "One answer, whatever breaks: it go");
      const [, quote = ""] = /\n\n(.+)\n\n/.exec(messages[2].content)!;
      assert(messages[1].content.endsWith(quote));
      const rest = `${begin(quote)}es on as if nothing had happened.`;
      return answerStream([...rest.match(/.{1,7}/gs)!.map(word), frame({ delta: {}, finish_reason: "stop" })]);
    }, { upstream: { continuation: "instruction" } });
    assertEquals(outcome(await answerFor(app, "chat")), WHOLE, begin("QUOTE"));
  }
});

Deno.test("continuation: a server that is not known to continue and begins anew shows nothing twice", async () => {
  const begins = ["One answer, whatever", "One answer, whatever it takes"];
  for (const [begun, whole] of [[begins[0]!, true], [begins[1]!, false]] as const) {
    let call = 0;
    const says = TEXT.replace("One answer, whatever", begun);
    const { app } = gatewayBefore(
      () =>
        call++ === 0
          ? answerStream([word(TEXT.slice(0, 26))])
          : answerStream([...says.match(/.{1,7}/gs)!.map(word), frame({ delta: {}, finish_reason: "stop" })]),
      { upstream: { continuation: "prefill" } },
    );
    const got = outcome(await answerFor(app, "chat"));
    assertEquals(got, whole ? WHOLE : { text: TEXT.slice(0, 26), ends: 0, errors: 1 });
  }
});

Deno.test("continuation: by an instruction, an answer of which nothing fits is not shown", async () => {
  let call = 0;
  const { app } = gatewayBefore(
    () =>
      call++ === 0
        ? answerStream([word("One answer, whatever breaks: ")])
        : answerStream([word("I am afraid that I cannot. ".repeat(20)), frame({ delta: {}, finish_reason: "stop" })]),
    { upstream: { continuation: "instruction" } },
  );
  assertEquals(outcome(await answerFor(app, "chat")), { text: "One answer, whatever breaks: ", ends: 0, errors: 1 });
});

const CALL: Said = { call: "look", input: '{"place":"here","depth":12}' };

for (const client of Object.keys(CLIENTS)) {
  Deno.test(`continuation: a call that broke off goes on if the model writes the same again: ${client}`, async () => {
    for (const after of [1, 3, 6, 8, 9, 11]) {
      const says = [{ text: "Let me look." }, CALL];
      const { app } = gateway({ first: engine({ says, pieces: [4], breaks: [{ after, how: "closed" }] }) });
      const got = await answerFor(app, client, { tools: ["look"] });
      assertEquals(got.calls, [{ name: "look", input: '{"place":"here","depth":12}' }], `after ${after}`);
      assertEquals(outcome(got), { text: "Let me look.", ends: 1, errors: 0 }, `after ${after}`);
    }
  });
}

Deno.test("continuation: a call that the model writes in another way ends in the error", async () => {
  const says = [{ text: "Let me look." }, CALL];
  const others: Said[] = [
    { call: "look", input: '{"place":"there"}' },
    { call: "find", input: '{"place":"here","depth":12}' },
    { text: "Never mind." },
    { call: "look", input: '{"pl' },
  ];
  for (const other of others) {
    let call = 0;
    const first = continuingEngine(engine({ says, pieces: [4], breaks: [{ after: 7, how: "reset" }] }));
    const second = continuingEngine(engine({ says: [{ text: "Let me look." }, other], breaks: [] }));
    const { app, asked } = gatewayBefore((asked) => call++ === 0 ? first(asked) : second(asked));
    const got = await answerFor(app, "chat", { tools: ["look", "find"] });
    assertEquals(got.calls, [{ name: "look", input: '{"place":"he' }]);
    assertEquals([got.text, got.ends, got.errors], ["Let me look.", 0, 1]);
    assertEquals(asked.length, 2);
  }
});

Deno.test("continuation: finished reasoning goes back with the text, and further reasoning is hidden", async () => {
  const says = [{ reasoning: "They want an answer." }, { text: TEXT }];
  const { app, bodies } = gateway({ first: engine({ says, breaks: [{ after: 6, how: "closed" }] }) });
  const got = await answerFor(app, "chat");
  assertEquals(outcome(got), WHOLE);
  assertEquals(got.reasoning, "They want an answer.");
  assertEquals(bodies()[1].messages.at(-1), {
    role: "assistant",
    content: TEXT.slice(0, 10).trimEnd(),
    reasoning_content: "They want an answer.",
  });
  const again = gateway({
    first: engine({ says, breaks: [{ after: 4, how: "closed" }] }),
  });
  const asked = await answerFor(again.app, "chat");
  assertEquals([asked.reasoning, asked.text, asked.ends, asked.errors], ["They want an answer.", "", 0, 1]);
});

Deno.test("continuation: reasoning that broke off before any of its text ends is not continued", async () => {
  const says = [{ reasoning: "They want an answer." }, { text: TEXT }];
  const { app, hosts } = gateway({ first: engine({ says, breaks: [{ after: 2, how: "closed" }] }) });
  const got = await answerFor(app, "chat");
  assertEquals([got.text, got.ends, got.errors], ["", 0, 1]);
  assertEquals(hosts(), ["first"]);
});

Deno.test("continuation: neither JSON for a schema nor a strict request goes on", async () => {
  const schema = { type: "object" };
  const format = { type: "json_schema", json_schema: { name: "answer", schema } };
  for (const [body, headers] of [[{ response_format: format }, {}], [{}, { "x-laneway-strict": "true" }]]) {
    const { app, hosts } = gateway({ first: engine({ says: [{ text: '{"answer": "long enough"}' }] }) });
    const text = await (await app.post(CHAT, chatBody({ stream: true, ...body }), headers as HeadersInit)).text();
    assertStringIncludes(text, '"error"');
    assertEquals(hosts(), ["first"]);
  }
});

Deno.test("continuation: the client is told its own prompt, and the output of all calls", async () => {
  const { app } = gateway({ first: engine() });
  const got = await answerFor(app, "chat", { maxTokens: 100 });
  // The second call: a prompt of 10 tokens with the 5 of the beginning, and 10 pieces.
  assertEquals([got.input, got.output], [5, 15]);
  assertEquals(app.logs[0]!.usage?.outputTokens, 15);
});

Deno.test("continuation: an answer of which only blank space was seen is asked for anew", async () => {
  const { app, bodies } = gateway({
    first: engine({ says: [{ text: `\n\n${TEXT}` }], pieces: [2], breaks: [{ after: 1, how: "reset" }] }),
  });
  assertEquals(outcome(await answerFor(app, "chat")), { ...WHOLE, text: `\n\n${TEXT}` });
  assertEquals(bodies().map(({ messages }) => messages.length), [1, 1]);
});

Deno.test("continuation: the limit of the answer is lowered by what was seen", async () => {
  const { app, bodies } = gateway({ first: engine() });
  await answerFor(app, "chat", { maxTokens: 100 });
  assertEquals(bodies().map(({ max_tokens }) => max_tokens), [100, 95]);
});

Deno.test("continuation: an answer that has all the tokens that it may have is not asked for again", async () => {
  const { app } = gateway({ first: engine() });
  const got = outcome(await answerFor(app, "chat", { maxTokens: 5 }));
  assertEquals(got, { text: TEXT.slice(0, 20), ends: 0, errors: 1 });
  const page = await (await app.get("/metrics")).text();
  assertStringIncludes(page, 'laneway_continuations_total{reason="upstream_error",outcome="refused"} 1');
  assert(!page.includes('reason="continuation"'), page);
  await app.close();
});

Deno.test("continuation: each call is billed by its own target", async () => {
  const price = { input: 1_000, output: 1_000 };
  const { app } = gateway({ first: engine(), model: { price } });
  await answerFor(app, "chat");
  // 10 tokens and 10 pieces of the second call; of the first one, an estimate.
  assert(Number(app.logs[0]!.cost) > 20 / 1_000, app.logs[0]!.cost);
  assertEquals(app.logs[0]!.costEstimated, true);
});

Deno.test("continuation: after a silence of stallContinueMs, the answer goes on", async () => {
  let call = 0;
  const rest = continuingEngine(engine({ breaks: [] }));
  const { app, asked } = gatewayBefore((asked) => {
    if (call++ > 0) return rest(asked);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(word("One answer, "))),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }, { lane: { stallContinueMs: 5 } });
  const got = await answerFor(app, "chat");
  assertEquals(outcome(got), WHOLE);
  assertStringIncludes(got.notes, "after 12 characters: no further event");
  assertEquals(asked.map(({ signal }) => signal.aborted), [true, false]);
});

Deno.test("continuation: each is counted with its reason and its outcome", async () => {
  const { app } = gateway({ first: engine() });
  await answerFor(app, "chat");
  const page = await (await app.get("/metrics")).text();
  assertStringIncludes(page, 'laneway_continuations_total{reason="upstream_error",outcome="continued"} 1');
  assertStringIncludes(page, 'laneway_attempts_total{upstream="first",reason="continuation"} 1');
  await app.close();
});

Deno.test("continuation: requests are kept within the memory for bodies, and the oldest makes way", async () => {
  const breaking: (() => void)[] = [];
  const rest = continuingEngine(engine({ breaks: [] }));
  const { app, asked } = gatewayBefore((asked) => {
    if (JSON.parse(asked.body).messages.at(-1).role === "assistant") return rest(asked);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(word("One answer, ")));
        breaking.push(() => controller.error(new TypeError("connection reset")));
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }, { config: { limits: { bodyBytes: 30_000, uploadBytes: 30_000 } } });
  const messages = [{ role: "user", content: "long ".repeat(2_000) }];
  const open = async () => {
    const reader = (await app.post(CHAT, chatBody({ stream: true, messages }))).body!.getReader();
    const { value } = await reader.read();
    return { reader, first: new TextDecoder().decode(value) };
  };
  const readers = [await open(), await open()];
  for (const one of breaking) one();
  const texts = await Promise.all(readers.map(async ({ reader, first }) => {
    let text = first;
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      text += new TextDecoder().decode(read.value);
    }
    return text;
  }));
  assertEquals(texts.map((text) => text.includes("[DONE]")), [false, true]);
  assertEquals(asked.length, 3);
});

Deno.test("continuation: reasoning that the client does not see begins again", async () => {
  const says = [{ reasoning: "They want an answer." }, { text: TEXT }];
  const { app, hosts } = gateway({ first: engine({ says, breaks: [{ after: 2, how: "closed" }] }) });
  const body = { model: "model", stream: true, max_tokens: 500, messages: [{ role: "user", content: "Hello" }] };
  const thinking = { type: "enabled", budget_tokens: 200, display: "omitted" };
  const text = await (await app.post("/oss/v1/messages", { ...body, thinking })).text();
  const shown = [...text.matchAll(/"text_delta","text":"([^"]*)"/g)].map(([, one]) => one).join("");
  assertEquals([shown, text.includes("message_stop"), hosts()], [TEXT, true, ["first", "first"]]);
});

Deno.test("continuation: a key says it whatever its lane or model says", async () => {
  for (const [continuation, lane, ends] of [["any", "off", 1], ["off", "any", 0]] as const) {
    const { app } = gateway({
      first: engine(),
      model: { continuation: lane },
      config: { keys: [{ name: "team", secret: { env: "TEAM_KEY" }, continuation }] },
    });
    const got = await answerFor(app, "chat", {}, { authorization: `Bearer ${ENV.TEAM_KEY}` });
    assertEquals(got.ends, ends);
  }
});

Deno.test("continuation: calls that are held back until the answer is whole may be others after the break", async () => {
  for (const after of [4, 6, 8, 9, 10, 12]) {
    let call = 0;
    const first = engine({
      says: [{ text: "Let me look." }, CALL, CALL],
      pieces: [4],
      breaks: [{ after, how: "reset" }],
    });
    const other = engine({ says: [{ text: "Let me look." }, { call: "find", input: "{}" }], breaks: [] });
    const engines = [continuingEngine(first), continuingEngine(other)];
    const { app } = gatewayBefore((asked) => engines[call++]!(asked), { lane: { toolCalls: "whole" } });
    const got = await answerFor(app, "chat", { tools: ["look", "find"] });
    assertEquals(outcome(got), { text: "Let me look.", ends: 1, errors: 0 });
    assertEquals(got.calls, [{ name: "find", input: "{}" }]);
  }
});

Deno.test("continuation: a response that is made in the background goes on", async () => {
  const { app, hosts } = gateway({ first: engine() });
  const queued = await (await app.post("/oss/v1/responses", { model: "model", input: "Hello", background: true }))
    .json();
  for (;;) {
    const found = await (await app.get(`/oss/v1/responses/${queued.id}`)).json();
    if (found.status === "queued" || found.status === "in_progress") {
      await new Promise((resolve) => setTimeout(resolve));
      continue;
    }
    assertEquals([found.status, found.output[0].content[0].text], ["completed", TEXT]);
    break;
  }
  assertEquals(hosts(), ["first", "first"]);
  await app.close();
});

Deno.test("continuation: an answer that is stored is stored whole, and the next turn builds on it", async () => {
  const { app, bodies } = gateway({ first: engine() });
  const body = { model: "model", input: "Hello", stream: true };
  const text = await (await app.post("/oss/v1/responses", body)).text();
  const [, id] = /"id":"(resp_[^"]+)"/.exec(text)!;
  await (await app.post("/oss/v1/responses", { ...body, input: "And?", previous_response_id: id })).text();
  const messages = bodies().at(-1).messages.map(({ content }: { content: string }) => content);
  assertEquals(messages, ["Hello", TEXT, "And?"]);
  await app.close();
});
