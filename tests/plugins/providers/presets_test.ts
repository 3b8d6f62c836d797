/** Each preset against a service that refuses what the real one refuses. */
import { assert, assertEquals } from "@std/assert";
import { drivers, providers } from "../../../plugins/mod.ts";
import { parseConfig } from "../../../src/app.ts";
import { CHAT, type ConfigInput, newApp, type TestApp } from "../../support/app.ts";
import { serve, SERVICES } from "./services.ts";

const KEY = "a-key-of-the-user-123";
const MODELS = Object.entries(SERVICES).flatMap(([name, endpoints]) =>
  Object.entries(endpoints).map(([driver, endpoint]) => ({ name, driver, endpoint }))
);

/** The entry that a user writes: the provider, another driver than its first, and a base URL of one's own. */
function entryFor(name: string, driver: string): Record<string, unknown> {
  const { drivers } = providers[name]!;
  return {
    provider: name,
    ...Object.keys(drivers)[0] !== driver && { driver },
    ...drivers[driver]?.baseUrl === undefined && { baseUrl: SERVICES[name]![driver]!.base },
  };
}

function appFor(entry: Record<string, unknown>, name: string, fetch: typeof globalThis.fetch): TestApp {
  const config = {
    upstreams: { paid: entry },
    lanes: {
      oss: {
        models: { model: { task: "chat", targets: [{ upstream: "paid", model: providers[name]!.model }] } },
        upstreams: { chat: "paid" },
      },
    },
  } as unknown as ConfigInput;
  const variable = providers[name]!.secret?.env ?? "NONE";
  return newApp({ config, env: { [variable]: KEY }, fetch, readSecret: () => `${KEY}\n` });
}

const QUESTION = { model: "model", max_tokens: 50, messages: [{ role: "user", content: "Hello" }] };

async function ask(app: TestApp, more: object = {}): Promise<{ status: number; text: string }> {
  const response = await app.post(CHAT, { ...QUESTION, ...more });
  const { choices, error } = await response.json();
  return { status: response.status, text: choices?.[0].message.content ?? error.message };
}

Deno.test("presets: every provider and driver has a service that tests it", () => {
  const named = Object.entries(providers).map(([name, { drivers }]) => [name, Object.keys(drivers).sort()]);
  const tested = Object.entries(SERVICES).map(([name, endpoints]) => [name, Object.keys(endpoints).sort()]);
  assertEquals(Object.fromEntries(named), Object.fromEntries(tested));
});

for (const { name, driver, endpoint } of MODELS) {
  const { fetch, calls } = serve(name, driver, KEY);
  Deno.test(`presets: ${name} is called by ${driver} as it expects, at the first attempt`, async () => {
    calls.length = 0;
    assertEquals(await ask(appFor(entryFor(name, driver), name, fetch)), { status: 200, text: `Served by ${name}` });
    assertEquals(calls.map(({ url }) => url.slice(0, endpoint.base.length)), [endpoint.base]);
  });

  if (endpoint.lists === "never") continue;
  Deno.test(`presets: ${name} lists its own models by ${driver}`, async () => {
    const response = await appFor(entryFor(name, driver), name, fetch).get("/oss/v1/models");
    const { data } = await response.json();
    assert(data.some(({ id }: { id: string }) => id === "its-own-model"), JSON.stringify(data));
  });
}

for (const { name, driver, endpoint: { credential } } of MODELS.filter(({ endpoint }) => endpoint.credential)) {
  Deno.test(`services: ${name} refuses ${driver} with the credential elsewhere, or at another path`, async () => {
    const { fetch } = serve(name, driver, KEY);
    const entry = entryFor(name, driver);
    const header = credential === "bearer" ? "x-api-key" : "authorization";
    const refused = await ask(appFor({ ...entry, secret: { header } }, name, fetch));
    assert(refused.status >= 400, refused.text);
    const other = `${SERVICES[name]![driver]!.base}/other`;
    const lost = await ask(appFor({ ...entry, baseUrl: other }, name, fetch));
    assert(lost.status >= 400, lost.text);
  });
}

Deno.test("presets: a token limit goes to the service in the field that its reasoning models take", async () => {
  const { fetch, calls } = serve("openai", "chat", KEY);
  await ask(appFor({ provider: "openai" }, "openai", fetch));
  assertEquals(calls.map(({ body }) => [body.max_tokens, body.max_completion_tokens]), [[undefined, 50]]);
});

for (
  const [name, more] of [
    ["cerebras", { frequency_penalty: 1 }],
    ["xai", { stop: ["END"] }],
  ] as const
) {
  Deno.test(`presets: what ${name} refuses is learnt, and the answer arrives`, async () => {
    const { fetch, calls } = serve(name, "chat", KEY);
    const app = appFor({ provider: name }, name, fetch);
    assertEquals(await ask(app, more), { status: 200, text: `Served by ${name}` });
    const first = calls.length;
    assert(first > 1, "Nothing was refused");
    assertEquals(await ask(app, more), { status: 200, text: `Served by ${name}` });
    assertEquals(calls.length, first + 1);
  });
}

const CALLED = [
  { role: "user", content: "Hello" },
  {
    role: "assistant",
    content: "",
    tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: "{}" } }],
  },
  { role: "tool", tool_call_id: "call_1", content: "Nothing" },
];

Deno.test("presets: ids of calls have the form that the service takes", async () => {
  const { fetch, calls } = serve("mistral", "chat", KEY);
  const answer = await ask(appFor({ provider: "mistral" }, "mistral", fetch), { messages: CALLED });
  assertEquals(answer, { status: 200, text: "Served by mistral" });
  assertEquals(calls.length, 1);
});

Deno.test("presets: earlier reasoning goes into the field that the service reads", async () => {
  const { fetch, calls } = serve("groq", "chat", KEY);
  const messages = [
    { role: "user", content: "Hello" },
    { role: "assistant", content: "Hi", reasoning_content: "Be polite" },
    { role: "user", content: "Again" },
  ];
  assertEquals(await ask(appFor({ provider: "groq" }, "groq", fetch), { messages }), {
    status: 200,
    text: "Served by groq",
  });
  assertEquals(calls.length, 1);
});

Deno.test("presets: each is a configuration without a problem, for each of its drivers", () => {
  for (const { name, driver } of MODELS) {
    const config = {
      listen: { port: 4000 },
      upstreams: { paid: entryFor(name, driver) },
      lanes: { oss: { upstreams: { chat: "paid" } } },
    };
    const { upstreams: { paid } } = parseConfig(config, { env: () => "a-secret" });
    assertEquals([paid!.provider, paid!.driver], [name, driver]);
    assert(drivers.some((one) => one.name === driver));
  }
});
