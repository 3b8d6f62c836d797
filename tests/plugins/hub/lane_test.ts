/** The lane of the hub, as the default configuration has it, in front of a fake router. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import defaults from "../../../gateway.default.json" with { type: "json" };
import type { JsonValue } from "../../../src/canonical/json.ts";
import { configSchema } from "../../../src/config/schema.ts";
import { chatBody, newApp, NOW, type TestApp } from "../../support/app.ts";
import {
  fakeHub,
  type FakeHubOptions,
  HUB,
  type HubAsked,
  listed,
  provider,
  REFUSALS,
  ROUTER,
  TOKEN,
} from "../../support/fake_hub.ts";
import type { FakeUpstream } from "../../support/fake_upstream.ts";
import { withFakeClock } from "../../support/fake_clock.ts";
import { until } from "../../support/wait.ts";

const CHAT = "/hf/v1/chat/completions";
const LIST = "/hf/v1/models";

interface Hub extends FakeUpstream {
  app: TestApp;
  /** The clock's time, in milliseconds since the epoch. */
  clock: { now: number };
  /** How often the list was asked for. */
  lists(): number;
}

/** These tests are about the router, which lists what chats; the hub's own listings are told of in fake_hub_test.ts. */
function silentHub({ url }: HubAsked): Response | undefined {
  return url.origin === HUB ? new Response("", { status: 503 }) : undefined;
}

function newHub(options: FakeHubOptions = {}, env: Record<string, string> = { HF_TOKEN: TOKEN }): Hub {
  const hub = fakeHub({ instead: silentHub, ...options });
  const clock = { now: NOW };
  const config = configSchema.parse(defaults);
  const app = newApp({ config, env, fetch: hub.fetch, now: () => clock.now });
  return { ...hub, app, clock, lists: () => hub.asked.filter(({ url }) => url.pathname === "/v1/models").length };
}

async function idsOf({ app }: Hub): Promise<string[]> {
  const response = await app.get(LIST);
  assertEquals(response.status, 200);
  return (await response.json()).data.map(({ id }: { id: string }) => id);
}

/** The bodies that the router was asked to run. */
function calls({ asked }: Hub): Record<string, JsonValue>[] {
  return asked.filter(({ method }) => method === "POST").map(({ body }) => JSON.parse(body));
}

const OWN = ["", "-embedding", "-rerank", "-speech", "-transcription", "-image"].map((task) =>
  `laneway/sandbox${task}`
);
const ALL = [...OWN, "zai-org/GLM-5.3", "moonshotai/Kimi-K3", "org/bare"];

// The list

Deno.test("hub: the list says what each model takes, where the hub says it", async () => {
  const { data } = await (await newHub().app.get(LIST)).json();
  const listed = Object.fromEntries(
    data.map(({ id, context_length, supports_tools, input_modalities }: Record<string, JsonValue>) => [
      id,
      [context_length, supports_tools, input_modalities],
    ]),
  );
  // The least that a live provider takes.
  assertEquals(listed["moonshotai/Kimi-K3"], [262_144, true, ["text", "image"]]);
  assertEquals(listed["zai-org/GLM-5.3"].slice(0, 2), [202_752, true]);
  assertEquals(listed["org/bare"], [undefined, undefined, undefined]);
});

Deno.test("hub: the lane lists its own models, then the hub's, with one call for all", async () => {
  const hub = newHub();
  const lists = await Promise.all(Array.from({ length: 8 }, () => idsOf(hub)));
  for (const ids of lists) assertEquals(ids, ALL);
  assertEquals(hub.lists(), 1);
  assertEquals(hub.asked[0]?.url.href, `${ROUTER}/models`);
});

Deno.test("hub: the list tells the context that any live provider gives", async () => {
  const { data } = await (await newHub().app.get(LIST)).json();
  const { context_length, owned_by } = data.find(({ id }: { id: string }) => id === "zai-org/GLM-5.3");
  assertEquals([context_length, owned_by], [202_752, "zai-org"]);
});

Deno.test("hub: one model is told by its id, with slash and with policy; what the hub lacks is 404", async () => {
  const hub = newHub({ instead: undefined });
  for (const id of ["zai-org/GLM-5.3", "zai-org%2FGLM-5.3", "zai-org/GLM-5.3:cheapest"]) {
    const model = await (await hub.app.get(`${LIST}/${id}`)).json();
    assertEquals([model.id, model.context_length], [decodeURIComponent(id), 202_752]);
  }
  assertEquals((await hub.app.get(`${LIST}/org/unknown`)).status, 404);
});

Deno.test("hub: the list is asked for without a token, whatever the client sends", async () => {
  const hub = newHub();
  await hub.app.get(LIST, { authorization: "Bearer of-the-client", "x-api-key": "of-the-client", cookie: "a=b" });
  const { headers } = hub.asked[0]!;
  assertEquals([headers.get("authorization"), headers.get("x-api-key"), headers.get("cookie")], [null, null, null]);
});

Deno.test("hub: a catalog with a secret of its own sends it", async () => {
  const hub = fakeHub();
  const config = configSchema.parse({
    ...defaults,
    catalogs: { hub: { plugin: "hub", baseUrl: ROUTER, secret: { env: "LIST_TOKEN" } } },
  });
  for (const [LIST_TOKEN, expected] of [["list-1a2b", "Bearer list-1a2b"], ["", null]] as const) {
    const app = newApp({ config, env: { LIST_TOKEN }, fetch: hub.fetch });
    await app.get(LIST);
    assertEquals(hub.asked.at(-1)?.headers.get("authorization"), expected);
  }
});

Deno.test("hub: a list that changes is seen after ten minutes, and nobody waits for it", async () => {
  const models: JsonValue[] = [listed("org/old")];
  const hub = newHub({ models: () => Response.json({ object: "list", data: models }) });
  assertEquals(await idsOf(hub), [...OWN, "org/old"]);
  models[0] = listed("org/new");
  hub.clock.now += 600_000 - 1;
  assertEquals(await idsOf(hub), [...OWN, "org/old"]);
  assertEquals(hub.lists(), 1);
  hub.clock.now += 1;
  assertEquals(await idsOf(hub), [...OWN, "org/old"]);
  await until(async () => (await idsOf(hub)).includes("org/new"));
  assertEquals(hub.lists(), 2);
});

// Requests

Deno.test("hub: a request goes to the router under the name that the client wrote, policy and all", async () => {
  const hub = newHub();
  for (const model of ["zai-org/GLM-5.3", "zai-org/GLM-5.3:cheapest", "zai-org/GLM-5.3:novita"]) {
    const response = await hub.app.post(CHAT, chatBody({ model }));
    assertEquals(response.status, 200);
    assertEquals((await response.json()).choices[0].message.content, "Hello there");
    assertEquals(calls(hub).at(-1)?.model, model);
  }
  assertEquals(hub.lists(), 1);
});

Deno.test("hub: a stream arrives whole: what the model thought, its answer and the usage", async () => {
  const response = await newHub().app.post(CHAT, chatBody({ model: "org/bare", stream: true }));
  const text = await response.text();
  for (const part of ["A greeting.", '"Hello"', '" there"', '"finish_reason":"stop"', "data: [DONE]"]) {
    assertStringIncludes(text, part);
  }
});

Deno.test("hub: a policy that the router does not know is the router's to refuse", async () => {
  const response = await newHub().app.post(CHAT, chatBody({ model: "zai-org/GLM-5.3:nobody" }));
  assertEquals(response.status, 404);
  assertStringIncludes((await response.json()).error.message, "not supported by any provider");
});

Deno.test("hub: what the hub does not list is 404, and is not asked for", async () => {
  const hub = newHub({ instead: undefined });
  for (const model of ["org/unknown", "org/unknown:cheapest", "gpt-oss-120b", "zai-org/GLM-5.3:"]) {
    const response = await hub.app.post(CHAT, chatBody({ model }));
    assertEquals([response.status, (await response.json()).error.code], [404, "model_not_found"]);
  }
  assertEquals(calls(hub), []);
});

Deno.test("hub: fields that strict hosts refuse are left out, and said", async () => {
  const hub = newHub();
  const body = { model: "zai-org/GLM-5.3", store: true, user: "u", metadata: { a: "b" }, service_tier: "auto" };
  const response = await hub.app.post(CHAT, chatBody(body));
  assertEquals(response.status, 200);
  for (const field of ["store", "user", "metadata", "service_tier"]) {
    assert(!(field in calls(hub)[0]!));
    assertStringIncludes(response.headers.get("x-laneway-notes") ?? "", `dropped ${field}`);
  }
  const strict = await hub.app.post(CHAT, chatBody(body), { "x-laneway-strict": "true" });
  assertEquals(strict.status, 400);
});

Deno.test("hub: an answer is held to what the smallest context leaves, and that is said", async () => {
  const hub = newHub({ models: [listed("org/small", [provider("a", { context_length: 4_096 })])] });
  const response = await hub.app.post(CHAT, chatBody({ model: "org/small:a", max_tokens: 128_000 }));
  const sent = calls(hub)[0]!.max_tokens as number;
  assert(sent > 3_900 && sent < 4_096, String(sent));
  assertEquals(response.headers.get("x-laneway-notes"), `clamped max_tokens 128000>${sent}`);
});

Deno.test("hub: a picture for a model that reads text only is refused, and one for a model that sees is sent", async () => {
  const hub = newHub();
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  const ask = (model: string) => hub.app.post(CHAT, { model, messages: [{ role: "user", content: [image] }] });
  const refused = await ask("zai-org/GLM-5.3:novita");
  const { error } = await refused.json();
  assertEquals([refused.status, error.param], [400, "messages[0].content[0]"]);
  assertStringIncludes(error.message, 'the model "zai-org/GLM-5.3:novita" takes no images');
  // The hub does not say what the last one takes.
  for (const model of ["moonshotai/Kimi-K3", "org/bare"]) {
    assertEquals((await ask(model)).status, 200);
    assertEquals(calls(hub).at(-1)?.messages, [{ role: "user", content: [image] }]);
  }
});

for (
  const [name, answer, status] of [
    ["a page for a token that it does not take", REFUSALS.noToken, 502],
    ["a wrong token", REFUSALS.wrongToken, 502],
    ["spent credits", REFUSALS.noCredits, 402],
    ["too many requests", REFUSALS.tooMany, 429],
  ] as const
) {
  Deno.test(`hub: the router's way to say ${name} becomes ${status}`, async () => {
    const response = await newHub({ chat: answer }).app.post(CHAT, chatBody({ model: "org/bare" }));
    assertEquals(response.status, status);
    const { error } = await response.json();
    assert(!error.message.includes("<"), error.message);
  });
}

// Bad hubs

for (
  const [name, models] of [
    ["answers with a page", () => new Response("<html>Sign in</html>", { headers: { "content-type": "text/html" } })],
    ["answers 401", () => REFUSALS.noToken()],
    ["answers 429", () => REFUSALS.tooMany()],
    ["answers 500", () => new Response("", { status: 500 })],
    ["sends elsewhere", () => new Response(null, { status: 302, headers: { location: "https://elsewhere.test/" } })],
    ["answers with broken JSON", () => new Response('{"data":[')],
    ["lists nothing", () => Response.json({ object: "list", data: [] })],
    ["lists nothing that can be read", () => Response.json({ object: "list", data: [{ name: "a" }, 7, null] })],
    ["cannot be reached", () => Promise.reject(new TypeError("getaddrinfo ENOTFOUND"))],
  ] as const
) {
  Deno.test(`hub: where the hub ${name}, the lane lists what is its own and the router decides`, async () => {
    const hub = newHub({ models });
    const response = await hub.app.get(LIST);
    assertEquals((await response.json()).data.map(({ id }: { id: string }) => id), OWN);
    assertStringIncludes(response.headers.get("x-laneway-notes") ?? "", "omitted the catalog: ");
    assertEquals((await hub.app.post(CHAT, chatBody({ model: "org/any:fastest" }))).status, 200);
    assertEquals((await hub.app.get(`${LIST}/org/any`)).status, 200);
    assertEquals((await hub.app.post(CHAT, chatBody({ model: "laneway/sandbox" }))).status, 200);
    assertEquals(calls(hub).map(({ model }) => model), ["org/any:fastest"]);
    assertEquals(hub.lists(), 1);
  });
}

Deno.test("hub: a hub that was down is asked again half a minute later", async () => {
  let down = true;
  const hub = newHub({
    models: () => down ? new Response("", { status: 503 }) : Response.json({ data: [listed("org/m")] }),
  });
  assertEquals(await idsOf(hub), OWN);
  down = false;
  hub.clock.now += 29_999;
  assertEquals(await idsOf(hub), OWN);
  hub.clock.now += 1;
  assertEquals(await idsOf(hub), [...OWN, "org/m"]);

  down = true;
  hub.clock.now += 600_000;
  assertEquals(await idsOf(hub), [...OWN, "org/m"]);
  await until(() => hub.lists() === 3);
  assertEquals(await idsOf(hub), [...OWN, "org/m"]);
});

Deno.test("hub: with no network at all the first list is there within two seconds, and the next ones at once", async () => {
  const hub = newHub({ models: () => new Promise(() => {}) });
  await withFakeClock(async (clock) => {
    const lists = Promise.all([idsOf(hub), idsOf(hub)]);
    await clock.advance(2_000);
    assertEquals(await lists, [OWN, OWN]);
    // From here on no time passes: whoever waited would wait for good.
    const later = Promise.all([idsOf(hub), hub.app.post(CHAT, chatBody({ model: "org/any" }))]);
    await clock.advance(0);
    const [ids, { status }] = await later;
    assertEquals([ids, status, hub.lists()], [OWN, 200, 1]);
    hub.app.abort();
  });
});

Deno.test("hub: a client that leaves does not end the call that others wait for", async () => {
  const answer = Promise.withResolvers<Response>();
  const hub = newHub({ models: () => answer.promise });
  const left = new AbortController();
  const first = hub.app.fetch(new Request(`http://gateway${LIST}`, { signal: left.signal }));
  const second = idsOf(hub);
  await until(() => hub.lists() === 1);
  left.abort();
  answer.resolve(Response.json({ data: [listed("org/m")] }));
  assertEquals(await second, [...OWN, "org/m"]);
  await (await first).body?.cancel();
  assertEquals(hub.lists(), 1);
});

Deno.test("hub: a list of 20 MB is not read to its end, and the list before it stays", async () => {
  const entry = new TextEncoder().encode(`${JSON.stringify(listed("org/" + "m".repeat(200)))},`.repeat(64));
  let sent = 0;
  let ended = false;
  const endless = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull(controller) {
          sent += entry.length;
          if (sent > 20 * 1024 * 1024) return controller.close();
          controller.enqueue(entry);
        },
        cancel: () => void (ended = true),
      }),
      { headers: { "content-type": "application/json" } },
    );
  let large = false;
  const hub = newHub({ models: () => large ? endless() : Response.json({ data: [listed("org/m")] }) });
  assertEquals(await idsOf(hub), [...OWN, "org/m"]);
  large = true;
  hub.clock.now += 600_000;
  assertEquals(await idsOf(hub), [...OWN, "org/m"]);
  await until(() => ended);
  assert(sent < 10 * 1024 * 1024, String(sent));
  assertEquals(await idsOf(hub), [...OWN, "org/m"]);
  assertEquals(hub.lists(), 2);
});

// The names that agents ask for by themselves, on the curated lane

for (
  const [name, target] of [
    ["claude-opus-5-5", "moonshotai/Kimi-K3"],
    ["claude-opus-4-1-20250805", "moonshotai/Kimi-K3"],
    ["claude-fable-5", "moonshotai/Kimi-K3"],
    ["claude-sonnet-5", "zai-org/GLM-5.3"],
    ["claude-haiku-4-5-20251001", "deepseek-ai/DeepSeek-V4.1-Flash"],
    ["gemini-3.5-flash-lite", "deepseek-ai/DeepSeek-V4.1-Flash"],
    ["claude-oss-glm-5.3", "zai-org/GLM-5.3"],
  ] as const
) {
  Deno.test(`hub: on the curated lane "${name}" is answered by ${target}`, async () => {
    const hub = newHub({ models: () => Response.json({ data: [] }) });
    const body = { model: name, max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };
    const response = await hub.app.post("/oss/v1/messages", body, { "anthropic-version": "2023-06-01" });
    assertEquals(response.status, 200);
    await response.body?.cancel();
    assertEquals(calls(hub).map(({ model }) => model), [target]);
    // For the price alone: the lane's own names need no list.
    assertEquals(hub.lists(), 1);
  });
}

Deno.test("hub: the second target answers where the first one is down", async () => {
  const hub = newHub({
    models: () => Response.json({ data: [] }),
    chat: ({ body }) =>
      JSON.parse(body).model === "moonshotai/Kimi-K3"
        ? new Response("", { status: 503 })
        : Response.json({ choices: [{ message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }] }),
  });
  const response = await hub.app.post("/oss/v1/chat/completions", chatBody({ model: "claude-opus-5-5" }));
  assertEquals((await response.json()).choices[0].message.content, "Hi");
  assertEquals(calls(hub).map(({ model }) => model), ["moonshotai/Kimi-K3", "zai-org/GLM-5.3"]);
});

Deno.test("hub: an agent's discovery keeps ids whose names say who answers, and no pattern", async () => {
  const { app } = newHub();
  const { data } = await (await app.get("/oss/v1/models?limit=1000", { "anthropic-version": "2023-06-01" })).json();
  const names = new Map(data.map((model: Record<string, string>) => [model.id, model.display_name]));
  assertEquals(names.get("claude-oss-glm-5.3"), "GLM-5.3 (Z.ai)");
  assertEquals(names.get("claude-sandbox"), "Sandbox (built-in test model)");
  for (const id of names.keys()) assert(/^claude-[a-z0-9.-]+$/.test(id as string), id as string);
});

Deno.test("hub: the agent's sandbox answers with no key and no network", async () => {
  const response = await newApp({ config: configSchema.parse(defaults), env: {} })
    .post("/oss/v1/chat/completions", chatBody({ model: "claude-sandbox" }));
  assertEquals(response.status, 200);
});

Deno.test("hub: a guess that misses while the hub is silent is no proof that there is no such model", async () => {
  const hub = newHub();
  const response = await hub.app.post("/hf/v1/embeddings", { model: "org/new", input: "a" });
  assertEquals([response.status, (await response.json()).error.code], [503, "unavailable"]);
});

Deno.test("hub: a renamed model is found behind the hub's own redirect, and nowhere else", async () => {
  const redirect = (location: string) => ({ url }: HubAsked) =>
    url.pathname === "/api/models/old/name" ? new Response(null, { status: 307, headers: { location } }) : undefined;
  const ask = { model: "old/name", input: "a" };
  const moved = newHub({ instead: redirect(`/api/models/BAAI/bge-m3?expand[]=inferenceProviderMapping`) });
  assertEquals((await moved.app.post("/hf/v1/embeddings", ask)).status, 200);
  const lured = newHub({ instead: redirect("https://elsewhere.test/api/models/BAAI/bge-m3") });
  assertEquals((await lured.app.post("/hf/v1/embeddings", ask)).status, 503);
  assert(lured.asked.every(({ url }) => url.host !== "elsewhere.test"));
});
