import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { type ConfigInput, newApp } from "../support/app.ts";
import { answerStream, ENDING, word } from "../support/chat.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";

const TOOL = {
  name: "get_weather",
  description: "Get the weather",
  input_schema: { type: "object", properties: { location: { type: "string" } } },
};
const COUNTED = {
  model: "model",
  system: "sys",
  messages: [{ role: "user", content: "hello world" }],
  tools: [TOOL],
  metadata: { user_id: "u" },
};

type Upstream = NonNullable<ConfigInput["upstreams"]>[string];

function configOf(upstream: Partial<Upstream>): ConfigInput {
  const target = { upstream: "server", model: "org/model" };
  return {
    upstreams: { server: { driver: "chat", baseUrl: "http://server.test/v1", ...upstream } },
    lanes: { oss: { models: { model: { task: "chat", targets: [target] } } } },
  };
}

function appFor(upstream: Partial<Upstream>, answer: (asked: Asked) => Response | Promise<Response>) {
  const { fetch, asked } = fakeUpstream(answer);
  return { app: newApp({ config: configOf(upstream), fetch }), asked };
}

async function count(app: ReturnType<typeof newApp>, more: object = {}, headers: HeadersInit = {}) {
  const response = await app.post("/oss/v1/messages/count_tokens", { ...COUNTED, ...more }, headers);
  assertEquals(response.status, 200);
  const { input_tokens } = await response.json();
  return { tokens: input_tokens, by: response.headers.get("x-laneway-tokens"), headers: response.headers };
}

/** What each kind of server is asked, and what it was seen or documented to say. */
const SERVERS: { upstream: Partial<Upstream>; path: string; fields: string[]; answer: JsonObject }[] = [
  {
    upstream: { counter: "input_tokens" },
    path: "/v1/chat/completions/input_tokens",
    fields: ["model", "messages", "tools", "metadata"],
    answer: { object: "response.input_tokens", input_tokens: 569 },
  },
  {
    upstream: { counter: "tokenize" },
    path: "/tokenize",
    fields: ["model", "messages", "tools", "add_generation_prompt"],
    answer: { count: 569, max_model_len: 4_096, tokens: [] },
  },
  {
    upstream: { counter: "chat_tokenize" },
    path: "/chat_tokenize",
    fields: ["model", "messages", "tools", "metadata"],
    answer: { tokenize_response: Array.from({ length: 569 }, (_, id) => ({ id, text: "x" })), templated_text: "" },
  },
  {
    upstream: { driver: "messages", counter: "count_tokens" },
    path: "/v1/messages/count_tokens",
    fields: ["model", "system", "messages", "tools", "tool_choice"],
    answer: { input_tokens: 569 },
  },
  {
    upstream: { driver: "responses", counter: "input_tokens" },
    path: "/v1/responses/input_tokens",
    fields: ["model", "instructions", "input", "tools", "tool_choice"],
    answer: { object: "response.input_tokens", input_tokens: 569 },
  },
];

for (const { upstream, path, fields, answer } of SERVERS) {
  const name = `${upstream.driver ?? "chat"} ${upstream.counter}`;
  Deno.test(`the upstream's own counter is asked, and a header says so · ${name}`, async () => {
    const { app, asked } = appFor(upstream, () => Response.json(answer));
    const { tokens, by, headers } = await count(app);
    assertEquals([tokens, by], [569, "upstream"]);
    assertEquals(asked.map(({ url }) => url.href), [`http://server.test${path}`]);
    const body = JSON.parse(asked[0]!.body);
    assertEquals(Object.keys(body).filter((field) => !fields.includes(field)), []);
    assertEquals(body.model, "org/model");
    assert(asked[0]!.body.includes("get_weather") && asked[0]!.body.includes("hello world"));
    // How a count is asked for is none of the client's.
    assertEquals(headers.get("x-laneway-notes"), null);
  });
}

for (
  const [what, answer] of Object.entries<() => Response | Promise<Response>>({
    "is not there": () => new Response("Not found", { status: 404 }),
    "cannot be reached": () => Promise.reject(new TypeError("refused")),
    "says 0": () => Response.json({ input_tokens: 0 }),
    "says a text": () => Response.json({ input_tokens: "many" }),
    "says no JSON": () => new Response("<html>"),
    "breaks off": () => new Response(ReadableStream.from([new TextEncoder().encode('{"input_')])),
  })
) {
  Deno.test(`a counter that ${what} costs nobody a count, and is left in peace for a while`, async () => {
    const { app, asked } = appFor({ counter: "input_tokens" }, answer);
    for (const text of ["one", "two", "three"]) {
      const { tokens, by } = await count(app, { system: text });
      assert(tokens > 10 && by === "estimated");
    }
    assert(asked.length <= 2, String(asked.length));
  });
}

Deno.test("a kept connection that the server had closed is no failure of its counter", async () => {
  const { fetch } = fakeUpstream(
    () => Promise.reject(new TypeError("connection closed")),
    () => Response.json({ input_tokens: 7 }),
  );
  const app = newApp({ config: configOf({ counter: "input_tokens" }), fetch });
  assertEquals((await count(app)).tokens, 7);
});

Deno.test("what cannot be told to the upstream is counted all the same, also of a strict client", async () => {
  const { app } = appFor({ counter: "input_tokens" }, () => Response.json({ input_tokens: 7 }));
  const more = { tools: [{ type: "web_search_20250305", name: "web_search" }], top_k: 3 };
  const { tokens } = await count(app, more, { "x-laneway-strict": "true" });
  assertEquals(tokens, 7);
  const forced = { ...more, tool_choice: { type: "tool", name: "web_search" } };
  assertEquals((await count(app, forced)).by, "calibrated");
  assertEquals((await count(app)).by, "upstream");
});

Deno.test("two dozen counts at once ask the upstream once for each text", async () => {
  const { app, asked } = appFor(
    { counter: "input_tokens" },
    ({ body }) => Response.json({ input_tokens: body.length }),
  );
  const counts = await Promise.all(
    Array.from({ length: 24 }, (_, n) => count(app, { system: `text ${n % 6}` })),
  );
  assertEquals(counts.filter(({ by }) => by === "upstream").length, 24);
  assertEquals(asked.length, 6);
});

Deno.test("who counts and then asks is told the same count again", async () => {
  const { app } = appFor(
    { counter: "input_tokens" },
    ({ url }) =>
      url.pathname.endsWith("input_tokens")
        ? Response.json({ input_tokens: 4_321 })
        : answerStream([word("whole"), ENDING]),
  );
  await count(app);
  const response = await app.post("/oss/v1/messages", { ...COUNTED, max_tokens: 9, stream: true });
  assertEquals(response.headers.get("x-laneway-tokens"), "upstream");
  assert((await response.text()).includes('"input_tokens":4321'));
});

Deno.test("what the upstream counted calibrates what message_start tells; a request that is answered asks no counter", async () => {
  const { app, asked } = appFor(
    { counter: "input_tokens" },
    ({ url }) =>
      url.pathname.endsWith("input_tokens")
        ? Response.json({ input_tokens: 30_000 })
        : answerStream([word("whole"), ENDING]),
  );
  const long = { system: "What is said again and again. ".repeat(3_000), max_tokens: 10 };
  await count(app, long);
  // A further turn.
  long.system += "And more.";
  const response = await app.post("/oss/v1/messages", { ...COUNTED, ...long, stream: true });
  assertEquals(response.headers.get("x-laneway-tokens"), "calibrated");
  const [, tokens] = /"input_tokens":(\d+)/.exec(await response.text())!;
  assert(Number(tokens) >= 30_000 && Number(tokens) < 31_500, tokens);
  assertEquals(asked.map(({ url }) => url.pathname), ["/v1/chat/completions/input_tokens", "/v1/chat/completions"]);
});

Deno.test("without the key nobody is asked", async () => {
  const { app, asked } = appFor({}, () => Response.json({ input_tokens: 1 }));
  assertEquals((await count(app)).by, "estimated");
  assertEquals(asked, []);
});
