/** Models of the hub at endpoints of other tasks, whatever of the hub can be reached: `model_task_mismatch` wherever anybody knows. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import defaults from "../../../gateway.default.json" with { type: "json" };
import { isJsonObject, type JsonObject } from "../../../src/canonical/json.ts";
import { configSchema } from "../../../src/config/schema.ts";
import { newApp } from "../../support/app.ts";
import {
  fakeHub,
  type FakeHubOptions,
  HUB,
  type HubAsked,
  REFUSALS,
  REPOSITORIES,
  TOKEN,
} from "../../support/fake_hub.ts";

const config = configSchema.parse(defaults);
const HELLO = [{ role: "user", content: "Hello" }];

/** The smallest request of each endpoint that chats. */
const CHATS: Readonly<Record<string, (model: string) => JsonObject>> = {
  "chat/completions": (model) => ({ model, messages: HELLO }),
  messages: (model) => ({ model, max_tokens: 10, messages: HELLO }),
  responses: (model) => ({ model, input: "Hello" }),
};

/** The parts of the hub that are out of order. */
const OUTAGES: Readonly<Record<string, (asked: HubAsked) => boolean>> = {
  nothing: () => false,
  "the hub's listing": ({ url }) => url.origin === HUB && url.searchParams.has("pipeline_tag"),
  "every listing": ({ url }) => url.searchParams.has("pipeline_tag") || url.pathname === "/v1/models",
};

const down = (isDown: (asked: HubAsked) => boolean) => (asked: HubAsked) =>
  isDown(asked) ? new Response("", { status: 503 }) : undefined;

interface Refusal {
  status: number;
  code: unknown;
  message: string;
}

async function ask(path: string, body: JsonObject, options: FakeHubOptions): Promise<Refusal> {
  const app = newApp({ config, env: { HF_TOKEN: TOKEN }, fetch: fakeHub(options).fetch });
  const response = await app.post(`/hf/v1/${path}`, body);
  const { error } = await response.json();
  const details = isJsonObject(error.details) ? error.details : {};
  return { status: response.status, code: error.code ?? details.error_code, message: error.message };
}

for (const [outage, isDown] of Object.entries(OUTAGES)) {
  for (const { id } of REPOSITORIES) {
    Deno.test(`hub: ${id}, asked to chat, is told to be for something else (out of order: ${outage})`, async () => {
      for (const [path, bodyOf] of Object.entries(CHATS)) {
        for (const stream of [false, true]) {
          const { status, code } = await ask(path, { ...bodyOf(id), stream }, { instead: down(isDown) });
          assertEquals([status, code], [422, "model_task_mismatch"], path);
        }
      }
    });
  }
}

Deno.test("hub: that a model does not chat is believed of the router alone, where the hub says nothing", async () => {
  const instead = (asked: HubAsked) => {
    if (asked.url.origin === HUB) return new Response("", { status: 503 });
    if (asked.method !== "POST") return undefined;
    return REFUSALS.notChat(JSON.parse(asked.body).model);
  };
  for (const [path, bodyOf] of Object.entries(CHATS)) {
    for (const stream of [false, true]) {
      const { status, code, message } = await ask(path, { ...bodyOf("BAAI/bge-m3"), stream }, { instead });
      assertEquals([status, code], [422, "model_task_mismatch"], path);
      assertStringIncludes(message, "is not a chat model");
    }
  }
});

Deno.test("hub: a classifier ranks, and does nothing else", async () => {
  const others: [path: string, body: JsonObject][] = [
    ["embeddings", { input: "Hello" }],
    ["audio/speech", { input: "Hello", voice: "alloy" }],
  ];
  for (const [path, body] of others) {
    const { status, code } = await ask(path, { model: "distilbert/sst-2", ...body }, {});
    assertEquals([status, code], [422, "model_task_mismatch"], path);
  }
  const app = newApp({ config, env: { HF_TOKEN: TOKEN }, fetch: fakeHub().fetch });
  const ranked = await app.post("/hf/v1/rerank", { model: "distilbert/sst-2", query: "a", documents: ["b"] });
  assertEquals(ranked.status, 200);
});

Deno.test("hub: a model that nobody knows is still not found", async () => {
  for (const isDown of [...Object.values(OUTAGES), ({ url }: HubAsked) => url.origin === HUB]) {
    for (const [path, bodyOf] of Object.entries(CHATS)) {
      const { status } = await ask(path, bodyOf("no/such-model"), { instead: down(isDown) });
      assertEquals(status, 404, path);
    }
  }
});
