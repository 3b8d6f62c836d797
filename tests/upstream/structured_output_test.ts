/** JSON as an answer, asked for in the words of each client, of upstreams that see to it and of those that do not. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { GenerateResponse, OutputPart } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { replay } from "../../src/canonical/replay.ts";
import { formatFrame } from "../../src/http/framing.ts";
import { bodyFor, CONFIG, type Mode, PATH, post, TOOLS, type View, type Wire } from "../regressions/support.ts";
import { type ConfigInput, newApp, NOW } from "../support/app.ts";
import { ENDING, word } from "../support/chat.ts";
import { newWireRequest } from "../support/context.ts";
import { type Asked, type FakeUpstream, fakeUpstream } from "../support/fake_upstream.ts";
import { WIRES } from "../support/wires.ts";

const NAMES: readonly Wire[] = ["chat", "messages", "responses"];
const MODES: readonly Mode[] = ["whole", "streamed"];

const SCHEMA = {
  type: "object",
  properties: { title: { type: "string" } },
  required: ["title"],
  additionalProperties: false,
};
const JSON_TEXT = '{"title": "Tea for two"}';
const FENCED = `Sure:\n\`\`\`json\n${JSON_TEXT}\n\`\`\``;
const PROSE = "The title is Tea for two.";

/** How each client asks for an answer that fits the schema. */
const ASKING: Record<Wire, JsonObject> = {
  chat: { response_format: { type: "json_schema", json_schema: { name: "answer", schema: SCHEMA } } },
  messages: { output_config: { format: { type: "json_schema", schema: SCHEMA } } },
  responses: { text: { format: { type: "json_schema", name: "answer", schema: SCHEMA } } },
};
/** How those that can ask for any object. */
const ASKING_ANY: Partial<Record<Wire, JsonObject>> = {
  chat: { response_format: { type: "json_object" } },
  responses: { text: { format: { type: "json_object" } } },
};
const BY_INSTRUCTION = "asked for response_format by instruction";

function withUpstreams(more: object): ConfigInput {
  const upstreams = Object.entries(CONFIG.upstreams).map(([name, upstream]) => [name, { ...upstream, ...more }]);
  return { ...CONFIG, upstreams: Object.fromEntries(upstreams) };
}
const INSTRUCT = withUpstreams({ structuredOutput: "instruct" });

/** An answer of a model, as an upstream of `wire` tells it: whole, or streamed where it is asked to. */
function saying(wire: Wire, said: string | OutputPart[], reason: GenerateResponse["finish"]["reason"] = "stop") {
  const content: OutputPart[] = typeof said === "string" ? [{ type: "text", text: said }] : said;
  const usage = { inputTokens: 5, outputTokens: 2 };
  const response: GenerateResponse = { model: "org/model", content, finish: { reason }, usage };
  const spoken = WIRES.find(({ name }) => name === wire)!;
  return async ({ body }: Asked): Promise<Response> => {
    const request = newWireRequest(JSON.parse(body));
    const exchange = spoken.newExchange({ model: "org/model", messages: [], stream: false }, request);
    if (!JSON.parse(body).stream) return Response.json(await spoken.serializeResponse(response, exchange));
    const frames = spoken.writeFrames(replay(response), exchange);
    return new Response(frames.map(formatFrame).join(""), { headers: { "content-type": "text/event-stream" } });
  };
}

function refusing(message: string, status = 400) {
  return () => Response.json({ error: { message, type: "invalid_request_error" } }, { status });
}

interface Seen extends View {
  /** In the header and, of a stream, in its comments. */
  notes: string;
}

async function send(app: ReturnType<typeof newApp>, client: Wire, body: JsonObject, headers = {}): Promise<Seen> {
  const view = await post(app, client, body, headers);
  const comments = view.frames.map(({ comment }) => comment?.replace(/^notes: /, ""));
  const notes = [view.headers.get("x-laneway-notes"), ...comments].filter(Boolean).join("; ");
  return { ...view, notes };
}

const bodiesOf = ({ asked }: FakeUpstream) => asked.map(({ body }) => JSON.parse(body));

/** What the last message of a body says, and whether it has the field that its wire has for a form. */
function instructionIn(body: JsonObject): { last: string; hasField: boolean } {
  const turns = (body.messages ?? body.input) as JsonObject[];
  const hasField = "response_format" in body || "output_config" in body || "text" in body;
  return { last: JSON.stringify(turns.at(-1)), hasField };
}

interface Setting {
  title: string;
  config?: ConfigInput;
  modes?: readonly Mode[];
}
interface Case {
  client: Wire;
  upstream: Wire;
  mode: Mode;
  body: JsonObject;
  ask(answers: Parameters<typeof fakeUpstream>, body?: JsonObject): Promise<Seen & { bodies: JsonObject[] }>;
}

/** A test for each client before each upstream, in each mode. */
function forEach({ title, config = CONFIG, modes = MODES }: Setting, run: (one: Case) => Promise<void>): void {
  for (const client of NAMES) {
    for (const upstream of NAMES) {
      for (const mode of modes) {
        const body = { ...bodyFor(client, { stream: mode === "streamed" }, upstream), ...ASKING[client] };
        Deno.test(`form: ${title} · ${client} to ${upstream} · ${mode}`, () =>
          run({
            client,
            upstream,
            mode,
            body,
            async ask(answers, asked = body) {
              const fake = fakeUpstream(...answers);
              const view = await send(newApp({ config, fetch: fake.fetch }), client, asked);
              return { ...view, bodies: bodiesOf(fake) };
            },
          }));
      }
    }
  }
}

forEach({ title: "an upstream that knows forms is asked in its own field" }, async ({ ask, upstream, mode }) => {
  const view = await ask([saying(upstream, JSON_TEXT)]);
  assertEquals([view.said, view.end, view.notes], [[{ text: JSON_TEXT }], "stop", ""]);
  const [{ response_format, output_config, text }] = view.bodies as [Record<string, JsonObject>];
  const { schema } = (response_format?.json_schema ?? output_config?.format ?? text?.format) as JsonObject;
  assertEquals([schema, view.bodies.length], [SCHEMA, 1], mode);
});

forEach({
  title: "an upstream that knows none is asked in words, and only the JSON of its answer is told",
  config: INSTRUCT,
}, async ({ ask, upstream }) => {
  const view = await ask([saying(upstream, FENCED)]);
  assertEquals([view.said, view.end], [[{ text: JSON_TEXT }], "stop"]);
  assertEquals(view.notes, `${BY_INSTRUCTION}; dropped the text around the JSON`);
  const { last, hasField } = instructionIn(view.bodies[0]!);
  assertEquals([hasField, view.bodies.length], [false, 1]);
  assertStringIncludes(last, JSON.stringify(JSON.stringify(SCHEMA)).slice(1, -1));
  assertStringIncludes(last, "Hello");
});

forEach(
  { title: "what does not fit is asked for again, once, and paid for twice", config: INSTRUCT },
  async ({ ask, upstream }) => {
    const view = await ask([saying(upstream, PROSE), saying(upstream, JSON_TEXT)]);
    assertEquals([view.said, view.end], [[{ text: JSON_TEXT }], "stop"]);
    assertEquals(view.usage, { input: 10, cached: 0, output: 4 });
    assertEquals(view.notes, `${BY_INSTRUCTION}; asked again for the requested format`);
    const [first, second] = view.bodies as [JsonObject, JsonObject];
    // The second request is the first one, and two turns more: the upstream has the rest of it in its cache.
    const turns = (body: JsonObject) => (body.messages ?? body.input) as JsonObject[];
    assertEquals(turns(second).slice(0, -2), turns(first));
    assertStringIncludes(JSON.stringify(turns(second).at(-2)), PROSE);
    assertStringIncludes(instructionIn(second).last, "it is not JSON");
  },
);

forEach(
  { title: "what never fits is an error that says why, and never a success", config: INSTRUCT },
  async ({ ask, upstream }) => {
    const view = await ask([saying(upstream, '{"title": 1}')]);
    assertEquals([view.status, view.said, view.bodies.length], [502, [], 2]);
    assertEquals(view.headers.get("x-should-retry"), "false");
    assertStringIncludes(view.error!.message, "$.title must be of type string");
  },
);

const THOUGHT: OutputPart = { type: "reasoning", text: "A title, hm." };

forEach({
  title: "what the model thinks is told as it comes, before an error too",
  config: INSTRUCT,
  modes: ["streamed"],
}, async ({ ask, upstream }) => {
  const thinking = (text: string) => saying(upstream, [THOUGHT, { type: "text", text }]);
  const view = await ask([thinking(PROSE), thinking(JSON_TEXT)]);
  const said = view.said.filter((one) => !("reasoning" in one));
  assertEquals([view.status, view.end, said], [200, "stop", [{ text: JSON_TEXT }]]);
  assertStringIncludes(JSON.stringify(view.said), THOUGHT.text);
  const failed = await ask([thinking(PROSE)]);
  assertEquals(failed.said.filter((one) => "text" in one), []);
  assertStringIncludes(failed.error!.message, "it is not JSON");
});

forEach(
  { title: "an answer that calls tools goes out as it is", config: INSTRUCT },
  async ({ ask, client, upstream, mode }) => {
    const body = { ...bodyFor(client, { stream: mode === "streamed", tools: TOOLS }, upstream), ...ASKING[client] };
    const called: OutputPart = { type: "tool-call", kind: "function", id: "call_1", name: "look", input: '{"at":1}' };
    const said: OutputPart[] = [THOUGHT, { type: "text", text: "Let me look." }, called];
    const view = await ask([saying(upstream, said, "tool-calls")], body);
    assertEquals(view.said.slice(-2).map((one) => "call" in one ? one.input : one), [{ text: "Let me look." }, {
      at: 1,
    }]);
    assertEquals([view.end, view.bodies.length], ["tool-calls", 1]);
    assertStringIncludes(instructionIn(view.bodies[0]!).last, "When you do not call a tool");
  },
);

forEach({ title: "an answer that is cut off is told as one", config: INSTRUCT }, async ({ ask, upstream }) => {
  const view = await ask([saying(upstream, '```json\n{"title": "Tea', "length")]);
  assertEquals([view.said, view.end, view.bodies.length], [[{ text: '```json\n{"title": "Tea' }], "length", 1]);
});

forEach(
  { title: "a refusal of forms is answered by words, and remembered for a day" },
  async ({ client, upstream, body }) => {
    let now = NOW;
    const fake = fakeUpstream((asked) =>
      instructionIn(JSON.parse(asked.body)).hasField
        ? refusing("This response_format type is unavailable now")()
        : saying(upstream, FENCED)(asked)
    );
    const app = newApp({ config: CONFIG, fetch: fake.fetch, now: () => now });
    const calls: number[] = [];
    for (const later of [0, 0, 86_400_000]) {
      now += later;
      const before = fake.asked.length;
      const view = await send(app, client, body);
      assertEquals([view.said, view.status], [[{ text: JSON_TEXT }], 200]);
      assertStringIncludes(view.notes, BY_INSTRUCTION);
      calls.push(fake.asked.length - before);
    }
    assertEquals(calls, [2, 1, 2]);
  },
);

forEach({
  title: "an upstream that passes the form over is found out, and asked in words from then on",
}, async ({ client, upstream, mode, body }) => {
  const fake = fakeUpstream((asked) =>
    saying(upstream, instructionIn(JSON.parse(asked.body)).hasField ? PROSE : JSON_TEXT)(asked)
  );
  const app = newApp({ config: CONFIG, fetch: fake.fetch });
  const first = await send(app, client, body);
  if (mode === "whole") {
    assertEquals([first.said, first.usage], [[{ text: JSON_TEXT }], { input: 10, cached: 0, output: 4 }]);
    assertEquals(first.notes, `asked again for the requested format; ${BY_INSTRUCTION}`);
  } else {
    assertEquals([first.said, first.notes], [[{ text: PROSE }], "the answer is not the requested JSON"]);
  }
  const second = await send(app, client, body);
  assertEquals([second.said, second.notes], [[{ text: JSON_TEXT }], BY_INSTRUCTION]);
  assertEquals(fake.asked.length, mode === "whole" ? 3 : 2);
});

forEach({ title: "JSON in a fence is taken out of it where the field was passed over", modes: ["whole"] }, async ({
  ask,
  upstream,
}) => {
  const view = await ask([saying(upstream, FENCED)]);
  assertEquals([view.said, view.bodies.length], [[{ text: JSON_TEXT }], 1]);
  assertEquals(view.notes, "dropped the text around the JSON");
});

for (const mode of MODES) {
  for (const client of NAMES) {
    const asking = (more: JsonObject = ASKING[client], model = "chat") => ({
      ...bodyFor(client, { stream: mode === "streamed" }, model),
      ...more,
    });

    Deno.test(`form: a refusal of a form beside tools is remembered for requests with tools alone · ${client} · ${mode}`, async () => {
      const fake = fakeUpstream((asked) => {
        const { tools, response_format } = JSON.parse(asked.body);
        const refused = tools && response_format;
        return refused
          ? refusing("json mode cannot be combined with tool/function calling")()
          : saying("chat", JSON_TEXT)(asked);
      });
      const app = newApp({ config: CONFIG, fetch: fake.fetch });
      const tooled = { ...bodyFor(client, { stream: mode === "streamed", tools: TOOLS }), ...ASKING[client] };
      const notes = [];
      for (const body of [tooled, tooled, asking()]) notes.push((await send(app, client, body)).notes);
      assertEquals([notes, fake.asked.length], [[BY_INSTRUCTION, BY_INSTRUCTION, ""], 4]);
    });

    Deno.test(`form: what is wrong with the schema, or with the rest, is told as it is · ${client} · ${mode}`, async () => {
      for (
        const message of ["Invalid schema for response_format 'answer': 'oneOf' is not permitted", "No such voice"]
      ) {
        const fake = fakeUpstream(refusing(message));
        const view = await send(newApp({ config: CONFIG, fetch: fake.fetch }), client, asking());
        // It may be asked in a plainer form, and always for one that has the form of the answer.
        assertEquals([view.status, fake.asked.length <= 5], [400, true]);
        assert(bodiesOf(fake).every((body) => instructionIn(body).hasField));
        assertStringIncludes(view.error!.message, message);
      }
    });

    Deno.test(`form: where words are refused too, that is told, and nothing is remembered · ${client} · ${mode}`, async () => {
      const fake = fakeUpstream(refusing("response_format is not supported"), refusing("Too many images"));
      const app = newApp({ config: CONFIG, fetch: fake.fetch });
      assertStringIncludes((await send(app, client, asking())).error!.message, "Too many images");
      await send(app, client, asking());
      assertEquals(bodiesOf(fake).map((body) => instructionIn(body).hasField), [true, false, true]);
    });

    Deno.test(`form: a strict client is refused before it is asked for in words · ${client} · ${mode}`, async () => {
      const fake = fakeUpstream(refusing("response_format is not supported"));
      const app = newApp({ config: CONFIG, fetch: fake.fetch });
      const view = await send(app, client, asking(), { "x-laneway-strict": "true" });
      assertEquals([view.status, fake.asked.length], [400, 1]);
      assertStringIncludes(view.error!.message, BY_INSTRUCTION);
    });

    Deno.test(`form: the next target is asked where the first has no answer in the form · ${client} · ${mode}`, async () => {
      const config: ConfigInput = {
        ...INSTRUCT,
        lanes: {
          oss: {
            models: {
              chat: {
                task: "chat",
                targets: [{ upstream: "chat", model: "org/small" }, { upstream: "chat", model: "org/large" }],
              },
            },
          },
        },
      };
      const fake = fakeUpstream((asked) =>
        saying("chat", JSON.parse(asked.body).model === "org/large" ? JSON_TEXT : PROSE)(asked)
      );
      const view = await send(newApp({ config, fetch: fake.fetch }), client, asking());
      assertEquals([view.said, fake.asked.length], [[{ text: JSON_TEXT }], 3]);
    });

    const any = ASKING_ANY[client];
    if (any) {
      Deno.test(`form: any object is asked for in words of a messages upstream, and checked · ${client} · ${mode}`, async () => {
        const fake = fakeUpstream(saying("messages", "[1]"), saying("messages", FENCED));
        const view = await send(newApp({ config: CONFIG, fetch: fake.fetch }), client, asking(any, "messages"));
        assertEquals([view.said, fake.asked.length], [[{ text: JSON_TEXT }], 2]);
        assertStringIncludes(view.notes, BY_INSTRUCTION);
        assert(!view.notes.includes("dropped response_format"));
      });
    }
  }

  Deno.test(`form: an alias goes before its upstream, and a field that the upstream refuses counts as one that it has not · ${mode}`, async () => {
    const model = CONFIG.lanes.oss.models.chat;
    const settings: [ConfigInput, string][] = [
      [{ ...INSTRUCT, lanes: { oss: { models: { chat: { ...model, structuredOutput: "native" } } } } }, ""],
      [{ ...CONFIG, lanes: { oss: { models: { chat: { ...model, structuredOutput: "instruct" } } } } }, BY_INSTRUCTION],
      [withUpstreams({ refuses: ["response_format"] }), BY_INSTRUCTION],
    ];
    for (const [config, notes] of settings) {
      const fake = fakeUpstream(saying("chat", JSON_TEXT));
      const body = { ...bodyFor("chat", { stream: mode === "streamed" }), ...ASKING.chat };
      const view = await send(newApp({ config, fetch: fake.fetch }), "chat", body);
      assertEquals([view.said, view.notes], [[{ text: JSON_TEXT }], notes]);
      assertEquals(instructionIn(bodiesOf(fake)[0]!).hasField, notes === "");
    }
  });

  Deno.test(`form: an answer that was asked for in no form goes out as it is · ${mode}`, async () => {
    for (const more of [{}, { response_format: { type: "text" } }]) {
      const fake = fakeUpstream(saying("chat", PROSE));
      const body = { ...bodyFor("chat", { stream: mode === "streamed" }), ...more };
      const view = await send(newApp({ config: INSTRUCT, fetch: fake.fetch }), "chat", body);
      assertEquals([view.said, view.notes, instructionIn(bodiesOf(fake)[0]!).hasField], [[{ text: PROSE }], "", false]);
    }
  });
}

/** As the agent asks for the title of a conversation, of its small model. */
const TITLE_CALL = {
  model: "claude-haiku-4-5",
  max_tokens: 32_000,
  system: [{ type: "text", text: "You make titles." }],
  messages: [{ role: "user", content: [{ type: "text", text: "Tea?" }] }],
  output_config: { effort: "high", format: { type: "json_schema", schema: SCHEMA } },
  stream: true,
};

for (const structuredOutput of ["native", "instruct"] as const) {
  Deno.test(`form: an agent's call for a title gets its JSON · ${structuredOutput}`, async () => {
    const config: ConfigInput = {
      ...withUpstreams({ structuredOutput }),
      lanes: { oss: { models: { "claude-haiku-*": CONFIG.lanes.oss.models.chat } } },
    };
    const fake = fakeUpstream(saying("chat", structuredOutput === "native" ? JSON_TEXT : FENCED));
    const view = await send(newApp({ config, fetch: fake.fetch }), "messages", TITLE_CALL);
    assertEquals([view.said, view.end], [[{ text: JSON_TEXT }], "stop"]);
    assertEquals(bodiesOf(fake)[0]!.reasoning_effort, "high");
  });
}

Deno.test("form: an explanation shows the words that would be asked in", async () => {
  const app = newApp({ config: INSTRUCT });
  const body = { ...bodyFor("chat"), ...ASKING.chat };
  const response = await app.post("/oss/v1/chat/completions", body, { "x-laneway-explain": "true" });
  const [{ notes, requests }] = (await response.json()).targets;
  assertEquals([notes, instructionIn(requests[0].body).hasField], [[BY_INSTRUCTION], false]);
  assertStringIncludes(instructionIn(requests[0].body).last, "JSON schema");
});

Deno.test("form: one that the gateway does not know goes up on its own wire, and is said to be left out on others", async () => {
  const own: Record<Wire, JsonObject> = {
    chat: { response_format: { type: "grammar", value: "root ::= x" } },
    messages: { output_config: { format: { type: "xml_schema", value: "x" } } },
    responses: { text: { format: { type: "grammar", value: "x" } } },
  };
  for (const client of NAMES) {
    for (const upstream of NAMES) {
      const fake = fakeUpstream(saying(upstream, PROSE));
      const app = newApp({ config: CONFIG, fetch: fake.fetch });
      const view = await send(app, client, { ...bodyFor(client, {}, upstream), ...own[client] });
      assertEquals(view.said, [{ text: PROSE }]);
      const [key, value] = Object.entries(own[client])[0]!;
      if (client === upstream) assertEquals([bodiesOf(fake)[0]![key], view.notes], [value, ""]);
      else assert(/^dropped (response_format|(output_config|text)\.format)$/.test(view.notes), view.notes);
    }
  }
});

Deno.test("form: what an answer is to be is told to a messages upstream inside the schema", async () => {
  const fake = fakeUpstream(saying("messages", JSON_TEXT));
  const format = { name: "tea", description: "A title for the tea", strict: true, schema: SCHEMA };
  const body = {
    ...bodyFor("chat", {}, "messages"),
    response_format: { type: "json_schema", json_schema: format },
  };
  const view = await send(newApp({ config: CONFIG, fetch: fake.fetch }), "chat", body);
  assertEquals(view.notes, "");
  assertEquals(bodiesOf(fake)[0]!.output_config.format.schema, { ...SCHEMA, description: "A title for the tea" });
});

for (const mode of MODES) {
  Deno.test(`form: the embedded upstream keeps to it, and is told nothing in words · ${mode}`, async () => {
    const targets = [{ upstream: "sandbox", model: "sandbox" }];
    const config: ConfigInput = {
      upstreams: { sandbox: { driver: "sandbox" } },
      lanes: { oss: { models: { chat: { task: "chat", targets, structuredOutput: "instruct" } } } },
    };
    const body = { ...bodyFor("chat", { stream: mode === "streamed" }), ...ASKING.chat };
    const view = await send(newApp({ config }), "chat", body);
    const [said] = view.said as [{ text: string }];
    assertEquals([Object.keys(JSON.parse(said.text)), view.notes], [["title"], ""]);
    // What the client had cut is as long as it wanted it to be.
    const cut = await send(newApp({ config }), "chat", { ...body, stop: ["title"] });
    assertEquals([cut.said, cut.status], [[{ text: '{"' }], 200]);
  });
}

for (const client of NAMES) {
  Deno.test(`form: while a text is held back, the client hears that the gateway is there · ${client}`, async () => {
    const alive = Promise.withResolvers<void>();
    const fake = fakeUpstream(() => {
      const pieces = [word('{"title": '), alive.promise, word('"Tea"}'), ENDING];
      const body = ReadableStream.from((async function* () {
        for (const piece of pieces) {
          if (typeof piece === "string") yield new TextEncoder().encode(piece);
          else await piece;
        }
      })());
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    const app = newApp({ config: INSTRUCT, fetch: fake.fetch, pace: { headAfterMs: 1, keepAliveMs: 1 } });
    const body = { ...bodyFor(client, { stream: true }), ...ASKING[client] };
    const response = await app.post(PATH[client], body, { "anthropic-version": "2023-06-01" });
    let text = "";
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      // Nothing of the answer is out yet: what came is a sign of life.
      alive.resolve();
    }
    assertEquals(response.status, 200);
    assert(!text.slice(0, text.indexOf("\n\n")).includes("title"));
    assertStringIncludes(text, "Tea");
  });
}
