import { assert, assertEquals } from "@std/assert";
import { type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";
import { until } from "../support/wait.ts";
import { filesOf } from "./tiny_tokenizer.ts";

const CONFIG = {
  upstreams: { server: { driver: "chat", baseUrl: "http://server.test/v1", tokenizers: "hub" } },
  catalogs: {
    hub: {
      plugin: "hub",
      baseUrl: "https://hub.test",
      secret: { env: "UPSTREAM_SECRET" },
      filesFrom: ["https://*.cdn.test"],
    },
  },
  lanes: {
    oss: {
      models: {
        model: { task: "chat", targets: [{ upstream: "server", model: "org/model:fastest" }] },
        local: { task: "chat", targets: [{ upstream: "server", model: "qwen3:30b" }] },
      },
    },
  },
} satisfies ConfigInput;

const HELLO = { model: "model", messages: [{ role: "user", content: "hello" }] };
const HELLO_TOKENS = 3 + 1 + "user\n".length + "\n".length + "assistant\n".length;

/** The hub: the vocabulary is behind a redirect to a host for files, the settings behind one to another path. */
function hub({ url }: Asked): Response {
  const files = filesOf();
  const moved = (location: string) => new Response(null, { status: 307, headers: { location } });
  switch (url.href) {
    case "https://hub.test/org/model/resolve/main/tokenizer.json":
      return moved("https://eu.cdn.test/vocabulary?signature=abc");
    case "https://eu.cdn.test/vocabulary?signature=abc":
      return new Response(files.vocabulary);
    case "https://hub.test/org/model/resolve/main/tokenizer_config.json":
      return moved("/api/resolve-cache/tokenizer_config.json");
    case "https://hub.test/api/resolve-cache/tokenizer_config.json":
      return new Response(files.settings);
    case "https://hub.test/org/model/resolve/main/chat_template.jinja":
      return new Response(files.template);
    default:
      return new Response("Not found", { status: 404 });
  }
}

async function count(app: TestApp, body: object = HELLO) {
  const response = await app.post("/oss/v1/messages/count_tokens", body);
  assertEquals(response.status, 200);
  return { tokens: (await response.json()).input_tokens, by: response.headers.get("x-laneway-tokens") };
}

/** Asks until the model is loaded, as agents do. */
async function countLoaded(app: TestApp, body: object = HELLO) {
  let counted = await count(app, body);
  await until(async () => (counted = await count(app, body)).by === "tokenizer");
  return counted;
}

async function withApp(answer: (asked: Asked) => Response, test: (app: TestApp, asked: Asked[]) => Promise<void>) {
  const { fetch, asked } = fakeUpstream(answer);
  const app = newApp({ config: CONFIG, fetch });
  try {
    await test(app, asked);
  } finally {
    await app.close();
  }
}

Deno.test("the model's own tokenizer counts once it is there, and a header says so", () =>
  withApp(hub, async (app, asked) => {
    assertEquals((await countLoaded(app)).tokens, HELLO_TOKENS);
    assertEquals(asked.filter(({ url }) => url.hostname === "server.test"), []);
    const tools = [{ name: "f", input_schema: { type: "object", properties: {} } }];
    assert((await countLoaded(app, { ...HELLO, tools })).tokens > HELLO_TOKENS + 20);
    const turns = [
      ...HELLO.messages,
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "f", input: { city: "Oslo" } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "warm" }] },
    ];
    const { tokens } = await countLoaded(app, { ...HELLO, messages: turns });
    assertEquals(
      tokens - HELLO_TOKENS,
      4 + "assistant\nf:city=Oslo\ntool\nwarm\n".length,
    );
  }));

Deno.test("a picture costs what pictures usually cost, and its bytes are no text", () =>
  withApp(hub, async (app) => {
    await countLoaded(app);
    const source = { type: "base64", media_type: "image/png", data: "A".repeat(40_000) };
    const content = [{ type: "image", source }, { type: "text", text: "hello" }];
    assertEquals((await count(app, { ...HELLO, messages: [{ role: "user", content }] })).tokens, HELLO_TOKENS + 1_000);
  }));

Deno.test("the hub's secret goes to the hub alone", () =>
  withApp(hub, async (app, asked) => {
    await countLoaded(app);
    const authorized = asked.map(({ url, headers }): [string, boolean] => [url.hostname, headers.has("authorization")]);
    assertEquals([...new Map(authorized)].sort(), [["eu.cdn.test", false], ["hub.test", true]]);
  }));

Deno.test("files are fetched from nowhere but where the configuration says", () =>
  withApp(
    ({ url }) => new Response(null, { status: 302, headers: { location: `https://elsewhere.test${url.pathname}` } }),
    async (app, asked) => {
      const { tokens, by } = await count(app);
      assert(tokens > 0 && by === "estimated");
      assertEquals(asked.filter(({ url }) => url.hostname !== "hub.test"), []);
    },
  ));

for (const status of [401, 403, 404, 429, 500]) {
  Deno.test(`a hub that answers ${status} costs nobody a count, and is not asked over and over`, () =>
    withApp(() => new Response("no", { status }), async (app, asked) => {
      for (let turn = 0; turn < 5; turn++) assertEquals((await count(app)).by, "estimated");
      assertEquals(asked.length, 3);
    }));
}

Deno.test("a name that some server gave is asked of no hub", () =>
  withApp(hub, async (app, asked) => {
    assertEquals((await count(app, { ...HELLO, model: "local" })).by, "estimated");
    assertEquals(asked, []);
  }));

Deno.test("a request that is answered downloads nothing", () =>
  withApp(() => new Response("no", { status: 500 }), async (app, asked) => {
    await app.post("/oss/v1/messages", { ...HELLO, max_tokens: 5 });
    assertEquals([...new Set(asked.map(({ url }) => url.hostname))], ["server.test"]);
  }));
