import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import {
  type Answer,
  ask,
  bodyFor,
  chatStream,
  chatWhole,
  CONFIG,
  HELLO,
  PATH,
  responseOf,
  shortAnswer,
  testEach,
  testRequests,
} from "./support.ts";

/** The app with another model behind the chat wire. */
function modelOf(model: string) {
  const chat = { task: "chat" as const, targets: [{ upstream: "chat", model }] };
  return { ...CONFIG, lanes: { oss: { models: { ...CONFIG.lanes.oss.models, chat } } } };
}

const LIMITED = {
  chat: { max_tokens: 50, temperature: 0.2, top_p: 0.9 },
  messages: { max_tokens: 50, temperature: 0.2, top_p: 0.9 },
  responses: { max_output_tokens: 50, temperature: 0.2, top_p: 0.9 },
};

function parametersOf({ max_tokens, max_completion_tokens, temperature, top_p }: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify({ max_tokens, max_completion_tokens, temperature, top_p }));
}

testRequests([
  ...["o3-mini", "openai/gpt-5-nano"].map((model) => ({
    id: "R43",
    title: `${model} gets its limit under the name that it takes, and no temperature`,
    config: modelOf(model),
    bodies: LIMITED,
    check(asked: JsonObject, { headers }: { headers: Headers }) {
      assertEquals(parametersOf(asked), { max_completion_tokens: 50 });
      assertEquals(headers.get("x-laneway-notes"), "dropped temperature; dropped top_p");
    },
  })),
  {
    id: "R43",
    title: "a model that samples as it is told gets all, its limit under the new name",
    config: modelOf("gpt-5.4"),
    bodies: LIMITED,
    check: (asked) => assertEquals(parametersOf(asked), { max_completion_tokens: 50, temperature: 0.2, top_p: 0.9 }),
  },
  {
    id: "R43",
    title: "a model of another family gets its limit under the name that every server takes",
    config: modelOf("openai/gpt-oss-120b"),
    bodies: LIMITED,
    check: (asked) => assertEquals(parametersOf(asked), { max_tokens: 50, temperature: 0.2, top_p: 0.9 }),
  },
]);

function refusal(message: string): Response {
  return Response.json({ error: { message, type: "invalid_request_error" } }, { status: 400 });
}

testEach("R43", "an upstream that wants another name for the limit gets it", {}, async (client, mode) => {
  const message =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
  const body = bodyFor(client, { maxTokens: 50, stream: mode === "streamed" });
  const answers = [() => refusal(message), () => responseOf(HELLO, mode)];
  const { asked, status, said, headers } = await ask(client, body, answers);
  assertEquals([status, said], [200, [{ text: "Hi" }]]);
  assertEquals(asked.map(parametersOf), [{ max_tokens: 50 }, { max_completion_tokens: 50 }]);
  assertEquals(headers.get("x-laneway-notes"), null);
});

testEach("R43", "a knob that an upstream refuses is left out, noted, and not sent again", {}, async (client, mode) => {
  const body = bodyFor(client, { temperature: 0.2, stream: mode === "streamed" });
  const answers = [
    () => refusal("Unsupported value: 'temperature' does not support 0.2 with this model."),
    () => responseOf(HELLO, mode),
    () => responseOf(HELLO, mode),
  ];
  const { upstream, app, status, headers } = await ask(client, body, answers);
  assertEquals([status, headers.get("x-laneway-notes")], [200, "dropped temperature"]);
  const again = await app.post(PATH[client], body);
  await again.body?.cancel();
  assertEquals([again.status, again.headers.get("x-laneway-notes")], [200, "dropped temperature"]);
  const sent = upstream.asked.map(({ body }) => JSON.parse(body).temperature);
  assertEquals(sent, [0.2, undefined, undefined]);
});

testEach(
  "R43",
  "an upstream that names one knob after the other is asked without all of them",
  {},
  async (client, mode) => {
    const body = bodyFor(client, { temperature: 0.2, stream: mode === "streamed" });
    const { asked, status, headers } = await ask(client, { ...body, top_p: 0.9 }, [
      () => refusal("Unsupported parameter: 'temperature' is not supported with this model."),
      () => refusal("Unsupported parameter: 'top_p' is not supported with this model."),
      () => responseOf(HELLO, mode),
    ]);
    assertEquals([status, headers.get("x-laneway-notes")], [200, "dropped temperature; dropped top_p"]);
    assertEquals(asked.map(({ temperature, top_p }) => [temperature, top_p]), [[0.2, 0.9], [undefined, 0.9], [
      undefined,
      undefined,
    ]]);
  },
);

testEach(
  "R43",
  "a knob stays away from an upstream that then refuses the form of the answer",
  {},
  async (client, mode) => {
    const upstream: Answer = { frames: chatStream([{ content: "{}" }]), whole: chatWhole({ content: "{}" }) };
    const schema = { type: "object" };
    const form = {
      chat: { response_format: { type: "json_schema", json_schema: { name: "answer", schema } } },
      messages: { output_config: { format: { type: "json_schema", schema } } },
      responses: { text: { format: { type: "json_schema", name: "answer", schema } } },
    }[client];
    const body = { ...bodyFor(client, { temperature: 0.2, stream: mode === "streamed" }), ...form };
    const { asked, status } = await ask(client, body, [
      () => refusal("Unsupported parameter: 'temperature' is not supported with this model."),
      () => refusal("This model does not support response_format"),
      () => responseOf(upstream, mode),
    ]);
    assertEquals([status, asked.map(({ temperature }) => temperature)], [200, [0.2, undefined, undefined]]);
  },
);

for (const upstream of ["messages", "responses"] as const) {
  testEach("R43", `so it is with a ${upstream} upstream`, { modes: ["whole"] }, async (client) => {
    const body = bodyFor(client, { temperature: 0.2 }, upstream);
    const answers = [() => refusal("temperature: Extra inputs are not permitted"), () => shortAnswer(upstream)];
    const { asked, status, headers } = await ask(client, body, answers);
    assertEquals([status, headers.get("x-laneway-notes")], [200, "dropped temperature"]);
    assertEquals(asked.map(({ temperature }) => temperature), [0.2, undefined]);
  });
}

testEach("R43", "what an answer is to be is never left out", { modes: ["whole"] }, async (client) => {
  const tools = [{ name: "look", description: "To look", schema: { type: "object", properties: {} } }];
  const { asked, status, error } = await ask(client, bodyFor(client, { tools }), [
    () => refusal("Unsupported parameter: 'tools' is not supported with this model."),
  ]);
  assertEquals([status, asked.length], [400, 1]);
  assertEquals(error?.message.includes("'tools'"), true);
});
