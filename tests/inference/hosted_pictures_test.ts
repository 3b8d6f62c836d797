/** Pictures that a chat model wants drawn: the gateway has another model draw them, and the client gets the vendor's items. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { type ConfigInput, ENV, newApp } from "../support/app.ts";
import { answerStream } from "../support/chat.ts";
import { png, promptOf } from "../support/fake_hub.ts";
import { MAJORS, newClient } from "../sdk/chat_clients.ts";

const DRAWN = png("a red fox", 32, 32).toBase64();

function configWith(more: JsonObject = {}): ConfigInput {
  const at = (model: string) => [{ upstream: "fake", model }];
  return {
    upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1" } },
    lanes: {
      oss: {
        models: {
          talker: { task: "chat", targets: at("org/talker") },
          painter: { task: "image", targets: at("org/painter") },
        },
      },
    },
    hostedTools: { imageGeneration: { model: "painter" } },
    ...more,
  } as ConfigInput;
}

interface Asked {
  path: string;
  body: JsonObject | Record<string, unknown>;
}

/** A chat model that calls the function with this input, and then says what it saw. */
function newRig(
  input: JsonObject,
  { draw, ...more }: { draw?: () => Response } & JsonObject | { draw?: () => Response } = {},
) {
  const asked: Asked[] = [];
  const app = newApp({
    config: configWith(more as JsonObject),
    async fetch(url, init) {
      const request = new Request(url, init);
      const { pathname } = new URL(request.url);
      const isForm = request.headers.get("content-type")?.startsWith("multipart/");
      const body = isForm ? Object.fromEntries(await request.formData()) : await request.json();
      asked.push({ path: pathname, body });
      if (pathname.includes("/images/")) return draw?.() ?? Response.json({ created: 1, data: [{ b64_json: DRAWN }] });
      return chat(body, input);
    },
  });
  return { app, asked };
}

function chat({ messages, tools, stream }: JsonObject, input: JsonObject): Response {
  const last = (messages as JsonObject[]).at(-1)!;
  const message = last.role === "tool" || !tools
    ? { role: "assistant", content: `Seen: ${JSON.stringify(last.content)}` }
    : {
      role: "assistant",
      content: null,
      tool_calls: [{
        index: 0,
        id: "call_1",
        type: "function",
        function: { name: "image_generation", arguments: JSON.stringify(input) },
      }],
    };
  const finish_reason = "tool_calls" in message ? "tool_calls" : "stop";
  const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
  if (!stream) return Response.json({ choices: [{ index: 0, message, finish_reason }], usage });
  const chunk = (fields: object) => `data: ${JSON.stringify({ choices: [{ index: 0, ...fields }], usage })}\n\n`;
  return answerStream([chunk({ delta: message }), chunk({ delta: {}, finish_reason }), "data: [DONE]\n\n"]);
}

const SANDBOX_LANES = {
  oss: { models: { sandbox: { task: "chat" as const, targets: [{ upstream: "sandbox", model: "sandbox" }] } } },
};
const TOOL = { type: "image_generation", size: "32x32", quality: "low" } as const;
const ask = { model: "talker", input: "Draw a fox", tools: [TOOL], store: false };

for (const major of MAJORS) {
  Deno.test(`hosted pictures: openai ${major.major} gets the vendor's item, whole and streamed`, async () => {
    const { app, asked } = newRig({ prompt: "a red fox" });
    const client = newClient(major, app);
    const whole = await client.responses.create(
      ask as Parameters<typeof client.responses.create>[0] & { stream?: false },
    );
    const stream = client.responses.stream(ask as Parameters<typeof client.responses.stream>[0]);
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    const last = await stream.finalResponse();
    for (const { output } of [whole, last]) {
      const item = output.find(({ type }) => type === "image_generation_call") as unknown as Record<string, string>;
      assertEquals([promptOf(item.result!), item.status, item.revised_prompt], ["a red fox", "completed", "a red fox"]);
      assertEquals([item.size, item.output_format, item.action], ["32x32", "png", "generate"]);
      assert(item.id!.startsWith("ig_"));
      assertStringIncludes(JSON.stringify(output), "The picture is drawn");
    }
    assertEquals(types.filter((type) => type.includes("image_generation_call")), [
      "response.image_generation_call.in_progress",
      "response.image_generation_call.generating",
      "response.image_generation_call.completed",
    ]);
    const drawn = asked.filter(({ path }) => path === "/v1/images/generations").map(({ body }) => body);
    const wanted = {
      model: "org/painter",
      prompt: "a red fox",
      size: "32x32",
      quality: "low",
      response_format: "b64_json",
    };
    assertEquals(drawn, [wanted, wanted]);
    // The chat model never gets the picture itself.
    assert(asked.every(({ path, body }) => path.includes("images") || !JSON.stringify(body).includes(DRAWN)));
  });
}

Deno.test("hosted pictures: the latest picture of the conversation is changed, the client's or the model's", async () => {
  for (
    const input of [
      [{
        role: "user",
        content: [
          { type: "input_image", image_url: `data:image/png;base64,${DRAWN}` },
          { type: "input_text", text: "Make it blue" },
        ],
      }],
      [
        { type: "message", role: "user", content: "Draw a fox" },
        { type: "image_generation_call", id: "ig_1", status: "completed", result: DRAWN, revised_prompt: "a red fox" },
        { type: "message", role: "user", content: "Make it blue" },
      ],
    ]
  ) {
    const { app, asked } = newRig({ prompt: "a blue fox", edit: true });
    const response = await app.post("/oss/v1/responses", { ...ask, input });
    const { output } = await response.json();
    const item = output.find(({ type }: { type: string }) => type === "image_generation_call");
    assertEquals([item.action, item.status], ["edit", "completed"]);
    const edit = asked.find(({ path }) => path === "/v1/images/edits")!.body as Record<string, unknown>;
    assertEquals(promptOf(await (edit.image as File).bytes()), "a red fox");
    assertEquals(edit.prompt, "a blue fox");
  }
});

Deno.test("hosted pictures: the picture is a request of its own, with its log, its cost and its limits", async () => {
  const price = { image: 0.04 };
  const at = (model: string) => [{ upstream: "fake", model }];
  const { app } = newRig({ prompt: "a red fox" }, {
    keys: [{ name: "team", secret: { env: "TEAM_KEY" } }],
    lanes: {
      oss: {
        models: {
          talker: { task: "chat", targets: at("org/talker"), price: { request: 0 } },
          painter: { task: "image", targets: at("org/painter"), price },
        },
      },
    },
  });
  const headers = { authorization: `Bearer ${ENV.TEAM_KEY}` };
  await (await app.post("/oss/v1/responses", ask, headers)).text();
  assertEquals(app.logs.map(({ protocol, key, cost }) => [protocol, key, cost]), [
    ["images", "team", "0.04"],
    ["responses", "team", "0"],
  ]);
});

Deno.test("hosted pictures: a picture counts as one request of its key", async () => {
  for (const [requestsPerMinute, status] of [[1, "failed"], [2, "completed"]] as const) {
    const { app } = newRig({ prompt: "a red fox" }, {
      keys: [{ name: "team", secret: { env: "TEAM_KEY" }, quota: { requestsPerMinute } }],
    });
    const response = await app.post("/oss/v1/responses", ask, { authorization: `Bearer ${ENV.TEAM_KEY}` });
    assertEquals((await response.json()).output[0].status, status);
  }
});

Deno.test("hosted pictures: pictures are recorded for the console at no faster a pace than other requests", async () => {
  const { app } = newRig({ prompt: "a red fox" }, { console: { record: { perMinute: 1 } } });
  await (await app.post("/oss/v1/responses", ask)).text();
  const { data, passed } = await (await app.get("/console/api/records")).json();
  assertEquals([data.length, passed], [1, 1]);
});

Deno.test("hosted pictures: a key that may not use the model that draws gets no picture, and the model says so", async () => {
  const { app, asked } = newRig({ prompt: "a red fox" }, {
    keys: [{ name: "team", secret: { env: "TEAM_KEY" }, models: ["talker"] }],
  });
  const response = await app.post("/oss/v1/responses", ask, { authorization: `Bearer ${ENV.TEAM_KEY}` });
  const { output } = await response.json();
  assertEquals(output[0].status, "failed");
  assertStringIncludes(JSON.stringify(output), "not available");
  assert(!asked.some(({ path }) => path.includes("images")));
});

Deno.test("hosted pictures: what the drawing model refuses is for the chat model to read", async () => {
  const { app } = newRig({ prompt: "something" }, {
    draw: () =>
      Response.json({ error: { message: "Your request was rejected by the safety system" } }, { status: 400 }),
  });
  const { output } = await (await app.post("/oss/v1/responses", ask)).json();
  assertEquals([output[0].type, output[0].status, output[0].result], ["image_generation_call", "failed", null]);
  assertStringIncludes(JSON.stringify(output), "rejected by the safety system");
});

Deno.test("hosted pictures: without a model that draws, the tool is what it was", async () => {
  const { app, asked } = newRig({ prompt: "a" }, { hostedTools: {} });
  const { output } = await (await app.post("/oss/v1/responses", ask)).json();
  assertEquals([output[0].type, output[0].status, asked], ["image_generation_call", "failed", []]);
});

Deno.test("hosted pictures: the sandbox draws by itself, whole and streamed", async () => {
  const app = newApp({ config: { upstreams: { sandbox: { driver: "sandbox" } }, lanes: SANDBOX_LANES } });
  const request = { model: "sandbox", input: "A red fox", tools: [{ type: "image_generation" }], store: false };
  const { output } = await (await app.post("/oss/v1/responses", request)).json();
  const { type, status, result, size } = output[0];
  assertEquals([type, status, size], ["image_generation_call", "completed", "1024x1024"]);
  assertEquals(output[1].content[0].text, "The Laneway sandbox drew a picture by your words");
  const streamed = await (await app.post("/oss/v1/responses", { ...request, stream: true })).text();
  assertStringIncludes(streamed, result);
});
