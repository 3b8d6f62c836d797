/** A lane that has an upstream and no catalog lists what the upstream lists itself. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import { chatBody, type ConfigInput, ENV, newApp, type TestApp } from "../../support/app.ts";

interface Rig {
  app: TestApp;
  asked: { url: string; credential: string | null }[];
}

function newRig(upstream: object, answer: (url: URL) => Response, lane: object = { chat: "local" }): Rig {
  const asked: Rig["asked"] = [];
  const config = {
    upstreams: { local: { driver: "chat", baseUrl: "http://127.0.0.1:11434/v1", ...upstream } },
    lanes: { local: { upstreams: lane } },
  } as ConfigInput;
  const app = newApp({
    config,
    fetch(input, init) {
      const { url, headers } = new Request(input, init);
      asked.push({ url, credential: headers.get("authorization") ?? headers.get("x-api-key") });
      return Promise.resolve(answer(new URL(url)));
    },
  });
  return { app, asked };
}

async function list(app: TestApp, headers: HeadersInit = {}): Promise<JsonObject[]> {
  return (await (await app.get("/local/v1/models", headers)).json()).data;
}

const OPENAI = () =>
  Response.json({
    object: "list",
    data: [
      { id: "qwen3-coder:30b", object: "model", created: 1_790_000_000, owned_by: "library", max_model_len: 4_096 },
      { id: "tiny-chat", object: "model", created: 1_795_358_405, owned_by: "llamacpp", meta: { n_ctx: 65_536 } },
      { id: "" },
      "no model",
    ],
  });

for (const driver of ["chat", "messages", "responses"]) {
  Deno.test(`models: the lane of a ${driver} upstream lists the upstream's models, with no further configuration`, async () => {
    const { app, asked } = newRig({ driver, secret: { env: "UPSTREAM_SECRET" } }, OPENAI);
    const models = await list(app);
    assertEquals(models.map(({ id, owned_by, context_length }) => [id, owned_by, context_length] as JsonValue), [
      ["qwen3-coder:30b", "library", 4_096],
      ["tiny-chat", "llamacpp", 65_536],
    ]);
    const credential = driver === "messages" ? ENV.UPSTREAM_SECRET! : `Bearer ${ENV.UPSTREAM_SECRET}`;
    assertEquals(asked, [{ url: "http://127.0.0.1:11434/v1/models", credential }]);
    const one = await (await app.get("/local/v1/models/tiny-chat")).json();
    assertEquals([one.id, one.context_length], ["tiny-chat", 65_536]);
    // One call serves all who ask.
    await list(app);
    assertEquals(asked.length, 1);
  });
}

Deno.test("models: a list of the messages wire is read page by page", async () => {
  const page = (id: string, has_more: boolean) =>
    Response.json({
      data: [{ type: "model", id, display_name: id.toUpperCase(), created_at: "2026-01-31T00:00:00Z" }],
      has_more,
      last_id: id,
    });
  const { app, asked } = newRig(
    { driver: "messages" },
    ({ search }) => search === "" ? page("a", true) : page("b", false),
  );
  assertEquals((await list(app)).map(({ id, created }) => [id, created] as JsonValue), [
    ["a", 1_769_817_600],
    ["b", 1_769_817_600],
  ]);
  assertEquals(asked.map(({ url }) => new URL(url).search), ["", "?after_id=a"]);
});

Deno.test("models: what a server does not list it is asked for all the same, and one that lists nothing is noted", async () => {
  const answer = ({ pathname }: URL) =>
    pathname.endsWith("/models") ? new Response("", { status: 404 }) : Response.json({
      id: "x",
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
    });
  const { app, asked } = newRig({}, answer);
  const empty = await app.get("/local/v1/models");
  assertEquals((await empty.json()).data, []);
  assertStringIncludes(empty.headers.get("x-laneway-notes") ?? "", 'Upstream "local" answered 404');
  assertEquals((await app.post("/local/v1/chat/completions", chatBody({ model: "any-name" }))).status, 200);
  assertEquals((await app.get("/local/v1/models/any-name")).status, 200);
  assertEquals(asked.filter(({ url }) => url.endsWith("/models")).length, 1);
});

Deno.test("models: each has the task that the lane asks its upstream for, and a caller's token asks for no list", async () => {
  const { app } = newRig({}, OPENAI, { embedding: "local" });
  assertEquals((await app.get("/local/v1/models?task=embedding").then((response) => response.json())).data.length, 2);
  const strangers = newRig({ secret: "client" }, OPENAI);
  await list(strangers.app, { authorization: "Bearer a-callers-token" });
  assertEquals(strangers.asked.map(({ credential }) => credential), [null]);
});

Deno.test("models: the documents' lane local lists what the server has, and a name that is nearly right is told", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/configuration.md", import.meta.url));
  const example = [...page.matchAll(/```json\n([^]*?)```/g)].map(([, json]) => JSON.parse(json!))
    .find(({ lanes }) => lanes?.local)!;
  const { extends: _, ...config } = example;
  const missing = { error: { message: 'model "qwen3-code:30b" not found', code: "model_not_found" } };
  const app = newApp({
    config,
    fetch: (input) =>
      Promise.resolve(String(input).endsWith("/models") ? OPENAI() : Response.json(missing, { status: 404 })),
  });
  assertEquals((await list(app)).map(({ id }) => id as string), ["qwen3-coder:30b", "tiny-chat"]);
  const response = await app.post("/local/v1/chat/completions", chatBody({ model: "qwen3-code:30b" }));
  assertStringIncludes((await response.json()).error.message, 'Did you mean "qwen3-coder:30b"?');
});
