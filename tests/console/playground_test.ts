/** What the playground sends on each wire, and what it shows of the answers. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { protocols } from "../../plugins/mod.ts";
import type { GenerateEvent, GenerateRequest, Message, OutputPart } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Protocol } from "../../src/contract/protocol.ts";
import { createRegistry } from "../../src/contract/registry.ts";
import { objectSchema } from "../../src/transforms/tool_schema.ts";
import { CONFIG, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { answerStream, frame } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { law } from "../support/law.ts";
import { type Script, script } from "../support/script.ts";
import { until } from "../support/wait.ts";

const KEYED: ConfigInput = {
  ...CONFIG,
  keys: [
    { name: "ops", secret: { env: "TEAM_KEY" }, operator: true, models: ["model"] },
    { name: "anna", secret: { env: "GUEST_KEY" } },
  ],
};
const WIRES = ["messages", "responses", "gemini", "chat", "ollama"];
const JSON_TYPE = { "content-type": "application/json" };
const OPS = { ...JSON_TYPE, "x-api-key": ENV.TEAM_KEY! };

const HELLO = { model: "model", messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }] };

function ask(app: TestApp, wire: string, request: object = HELLO, headers: HeadersInit = OPS): Promise<Response> {
  return app.post("/console/playground/ask", { wire, lane: "oss", request }, headers);
}

/** The events of an answer, by the gateway's own words. */
async function eventsOf(response: Response): Promise<JsonObject[]> {
  assertEquals(response.status, 200);
  const text = await response.text();
  return text.split("\n").flatMap((line) => line.startsWith("data: ") ? [JSON.parse(line.slice(6))] : []);
}

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

function partsIn(events: readonly JsonObject[]): OutputPart[] {
  const parts: OutputPart[] = [];
  for (const event of events as unknown as GenerateEvent[]) {
    if (event.type === "part-start") parts.push({ ...event.part });
    const part = event.type === "part-delta" ? parts[event.index] : undefined;
    if (part?.type === "tool-call" && event.type === "part-delta") part.input += event.delta.text;
    else if (part && "text" in part && event.type === "part-delta") part.text += event.delta.text;
  }
  return parts;
}

Deno.test("playground: every wire of the gateway is offered", async () => {
  const offered = await (await newApp({ config: KEYED }).get("/console/playground/wires", OPS)).json();
  assertEquals(offered.wires.toSorted(), WIRES.toSorted());
  assert(offered.limitBytes > 0);
});

for (const wire of WIRES) {
  Deno.test(`playground: the answer of the model is seen on every wire, with the request's line in the log · ${wire}`, async () => {
    const app = newApp({ config: KEYED, fetch: fakeUpstream(() => answerStream(FRAMES)).fetch });
    const events = await eventsOf(await ask(app, wire));
    const [head] = events;
    const ended = events.at(-1)!.entry as JsonObject;
    assertEquals([head!.type, head!.lost, head!.id], ["head", [], ended.id]);
    assertEquals([ended.key, ended.status], ["ops", 200], "It is a request of the operator");
    const parts = partsIn(events).filter((part) => part.type !== "reasoning" || part.text !== "");
    const shown = parts.map((part) =>
      part.type === "tool-call" ? [part.id, part.name, part.input] : "text" in part && part.text
    );
    assertEquals(shown, ["Hm", "One two", ["c1", "look", '{"at":"it"}']]);
    const finish = events.find(({ type }) => type === "finish") as unknown as GenerateEvent & { type: "finish" };
    assertEquals(finish.finish.reason, "tool-calls");
    assertEquals([finish.usage.inputTokens, finish.usage.outputTokens], [7, 4]);
  });

  Deno.test(`playground: an answer that breaks off says why, and so does a refusal · ${wire}`, async () => {
    const broken = `data: ${JSON.stringify({ error: { message: "The model fell over", code: 500 } })}\n\n`;
    const app = newApp({ config: KEYED, fetch: fakeUpstream(() => answerStream([FRAMES[1]!, broken])).fetch });
    const events = await eventsOf(await ask(app, wire));
    const { error } = events.at(-2) as { error: JsonObject };
    assertStringIncludes(String(error.message), "The model fell over");
    assertEquals((events.at(-1)!.entry as JsonObject).error, "upstream_error");
    const [, refused] = await eventsOf(await ask(app, wire, { ...HELLO, model: "other" }));
    assertMatch(JSON.stringify(refused), /"type":"error".*other/);
  });

  Deno.test(`playground: who leaves the page ends the request at the upstream · ${wire}`, async () => {
    let isGone = false;
    const endless = () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode(FRAMES[1]!)),
          cancel: () => void (isGone = true),
        }),
        { headers: { "content-type": "text/event-stream" } },
      );
    const app = newApp({ config: KEYED, fetch: fakeUpstream(endless).fetch });
    const reader = (await ask(app, wire)).body!.getReader();
    let text = "";
    while (!text.includes("One ")) text += new TextDecoder().decode((await reader.read()).value);
    await reader.cancel();
    await until(() => isGone);
    await until(() => app.logs.some(({ status }) => status === 499));
  });
}

Deno.test("playground: only operators ask, and only from the console's own pages", async () => {
  const app = newApp({ config: KEYED, fetch: () => Promise.resolve(answerStream(FRAMES)) });
  const path = "/console/playground/ask";
  const body = { wire: "chat", lane: "oss", request: HELLO };
  const statuses = [];
  for (
    const headers of [
      JSON_TYPE,
      { ...JSON_TYPE, "x-api-key": ENV.GUEST_KEY! },
      { ...OPS, "sec-fetch-site": "cross-site" },
      { ...OPS, origin: "https://other.test" },
      { ...OPS, "content-type": "text/plain" },
    ]
  ) statuses.push((await app.post(path, body, headers)).status);
  assertEquals(statuses, [401, 403, 403, 403, 415]);
  assertEquals(app.logs.filter(({ model }) => model !== undefined), [], "Nobody was asked");
});

Deno.test("playground: what makes no conversation is refused by name", async () => {
  const app = newApp({ config: KEYED });
  const cases: [object, RegExp][] = [
    [{ wire: "smoke", lane: "oss", request: HELLO }, /smoke/],
    [{ wire: "chat", lane: "oss", request: { ...HELLO, messages: [] } }, /messages/],
    [
      { wire: "chat", lane: "oss", request: { ...HELLO, messages: [{ role: "user", content: [{ type: "spell" }] }] } },
      /content/,
    ],
    [{ wire: "chat", lane: "oss", request: { ...HELLO, secret: 1 } }, /secret/],
    [{
      wire: "chat",
      lane: "oss",
      request: {
        ...HELLO,
        messages: [{
          role: "user",
          content: [{ type: "file", mediaType: "image/png", source: { type: "url", url: "file:///etc/passwd" } }],
        }],
      },
    }, /url/],
  ];
  for (const [body, complaint] of cases) {
    const response = await app.post("/console/playground/ask", body, OPS);
    assertEquals(response.status, 400);
    assertMatch(await response.text(), complaint);
  }
  const outside = await eventsOf(
    await app.post("/console/playground/ask", { wire: "chat", lane: "../console", request: HELLO }, OPS),
  );
  assertEquals((outside[0] as { status: number }).status, 404, "A lane is no path");
});

Deno.test("playground: a request has no more room than any other", async () => {
  const app = newApp({ config: { ...KEYED, limits: { bodyBytes: 5_000 } } });
  const long = { ...HELLO, messages: [{ role: "user", content: [{ type: "text", text: "x".repeat(5_000) }] }] };
  const refused = await ask(app, "chat", long);
  assertEquals(refused.status, 413);
  await refused.body?.cancel();
  assertEquals((await (await app.get("/console/playground/wires", OPS)).json()).limitBytes, 5_000);
});

Deno.test("playground: a tool that the server runs goes out as its wire writes it", async () => {
  const app = newApp({ config: KEYED });
  const cases: [string, JsonObject][] = [
    ["messages", { type: "web_search_20250305", name: "web_search" }],
    ["responses", { type: "web_search" }],
    ["gemini", { googleSearch: {} }],
  ];
  for (const [wire, fields] of cases) {
    const request = { ...HELLO, tools: [{ type: "hosted", name: "search", fields }] };
    const { body, notes } = await (await app.post("/console/playground/request", { wire, lane: "oss", request }, OPS))
      .json();
    assertEquals([body.tools, notes], [[fields], []]);
  }
});

// The law

const registry = createRegistry(protocols);
const lawful = newApp({ config: KEYED });

/** A conversation as the page holds it. */
function conversationOf(asked: Script): object {
  const text = (text: string) => ({ type: "text", text });
  const messages = asked.turns.flatMap((turn, at) => [
    {
      role: "user",
      content: [
        text(turn.asked),
        ...turn.pictures.map((data, index) => ({
          type: "file",
          // A picture, then another file.
          ...index === 0 ? { mediaType: "image/png" } : { mediaType: "application/pdf", name: "a.pdf" },
          source: { type: "base64", data: `iVBORw0KGgoA${data}` },
        })),
      ],
    },
    {
      role: "assistant",
      content: [
        ...turn.thought === undefined ? [] : [{ type: "reasoning", text: turn.thought }],
        ...turn.answered === undefined ? [] : [text(turn.answered)],
        ...turn.calls.map(({ id, name, input }) => ({
          type: "tool-call",
          kind: "function",
          id,
          name,
          input: JSON.stringify(input),
        })),
      ],
    },
    ...turn.calls.length === 0 ? [] : [{
      role: "tool",
      content: turn.calls.map(({ id, result, failed }) => ({
        type: "tool-result",
        id,
        content: [text(result)],
        ...failed && { isError: true },
      })),
    }],
    // The conversation ends with whom it is that asks.
    ...at === asked.turns.length - 1 && turn.calls.length === 0 ? [{ role: "user", content: [text("And now?")] }] : [],
  ]);
  const { tools, system, effort, temperature, maxTokens, stop, choice } = asked;
  return {
    model: "org/model",
    messages: [...system === undefined ? [] : [{ role: "system", content: [text(system)] }], ...messages],
    ...tools.length > 0 && {
      tools: tools.map(({ schema, ...rest }) => ({ type: "function", ...rest, parameters: schema })),
    },
    ...typeof choice === "string" && { toolChoice: { type: choice } },
    ...effort && { thinking: { effort } },
    maxOutputTokens: maxTokens,
    ...temperature !== undefined && { temperature },
    ...stop && { stopSequences: stop },
    outputSchema: { schema: { type: "object", properties: { a: { type: "string" } } } },
  };
}

/** All that a conversation says, as a list. Turns of one role in a row are one, as on most wires. */
function factsOf(request: GenerateRequest): Record<string, unknown> {
  const { tools, toolChoice, thinking, maxOutputTokens, temperature, stopSequences, outputSchema, stream } = request;
  const turns: [string, unknown[]][] = [];
  const documents: unknown[] = [];
  for (const { role, content } of request.messages) {
    const last = turns.at(-1);
    const isDocument = (part: { type: string; mediaType?: string }) => part.mediaType === "application/pdf";
    documents.push(...content.filter(isDocument).map(factOf));
    const parts = (content as Message["content"]).filter((part) => !isDocument(part)).map(factOf);
    if (last?.[0] === role) last[1].push(...parts);
    else turns.push([role, parts]);
  }
  return {
    turns,
    documents,
    tools: tools?.map((tool) =>
      tool.type === "function" && [tool.name, tool.description ?? "", objectSchema(tool.parameters)]
    ),
    choice: toolChoice?.type ?? "auto",
    effort: thinking?.effort,
    maxOutputTokens,
    temperature,
    stopSequences,
    schema: outputSchema?.schema,
    stream,
  };
}

function factOf(part: Message["content"][number]): unknown {
  switch (part.type) {
    case "text":
    case "reasoning":
      return [part.type, part.text];
    case "file":
      return [part.mediaType, part.source, part.name];
    case "tool-call":
      return [part.id, part.name, JSON.parse(part.input)];
    case "tool-result": {
      const text = part.content.map((one) => one.type === "text" ? one.text : "").join("");
      // Some wires have no mark for a failure, and say it.
      return [part.id, part.isError ? `Error: ${text}` : text];
    }
    default:
      return part;
  }
}

/** The notes that say what a wire has no place for. */
const LOSSES: Record<string, Record<string, RegExp>> = {
  responses: { stopSequences: /dropped stop/ },
  ollama: { choice: /dropped tool_choice/, documents: /dropped a file of type application\/pdf/ },
};

for (const wire of WIRES) {
  law(
    `playground: what is sent is read as it was meant, or the page says what is lost · ${wire}`,
    script,
    async (asked) => {
      const request = conversationOf(asked);
      const response = await lawful.post("/console/playground/request", { wire, lane: "oss", request }, OPS);
      const { path, body, notes } = await response.json();
      const url = new URL(`http://gateway.test/${path}`);
      const match = registry.match({ method: "POST", headers: new Headers(), url: url.href }, url);
      assert(match && "params" in match);
      const protocol = match.protocol as Protocol<"generate">;
      await protocol.load?.();
      const parsed = protocol.parse(
        { body, headers: new Headers(), params: match.params, query: url.searchParams },
        { clientWire: wire, note() {} },
      );
      const [meant, read] = [factsOf({ ...request, stream: true } as GenerateRequest), factsOf(parsed)];
      const lost = Object.entries(LOSSES[wire] ?? {}).filter(([name]) =>
        read[name] !== meant[name] && !same(read[name], meant[name])
      );
      for (const [name, said] of lost) {
        assertMatch(notes.join("; "), said);
        delete meant[name];
        delete read[name];
      }
      assertEquals(read, meant);
      assertEquals([parsed.model, notes.length], ["org/model", lost.length]);
    },
  );
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
