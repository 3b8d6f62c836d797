/** What is whose stays so: headers, secrets, places and words, on the way to an upstream and back. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type Task, TASKS } from "../../src/canonical/models.ts";
import { formatLogLine } from "../../src/observe/log.ts";
import { CHAT, chatBody, CONFIG as SMALL, type ConfigInput, ENV, newApp } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, frame, word } from "../support/chat.ts";
import { ENDPOINTS, payloadOf, serveAll } from "../support/endpoints.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";

/** `CONFIG`, with a model of each task, a configured header and a key. */
const CONFIG: ConfigInput = {
  ...SMALL,
  keys: [{ name: "team", secret: { env: "TEAM_KEY" } }],
  upstreams: {
    ...SMALL.upstreams,
    fake: {
      ...SMALL.upstreams.fake,
      headers: { "x-house-key": "Token house-header-secret", "x-plain": "plain-words" },
    },
  },
  lanes: {
    oss: {
      models: {
        ...SMALL.lanes.oss.models,
        ...Object.fromEntries(
          TASKS.filter((task) => task !== "chat").map((
            task,
          ) => [task, { task, targets: [{ upstream: "fake", model: "org/model" }] }]),
        ),
      },
    },
  },
};

const KEY = { authorization: `Bearer ${ENV.TEAM_KEY}` };
/** The model of each task: that of `CONFIG` for chat, the others by the task's name. */
const modelFor = (task: Task) => task === "chat" ? "model" : task;

async function send(name: string, answer: (asked: Asked) => Response, headers: Record<string, string> = {}) {
  const upstream = fakeUpstream(answer);
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const request = ENDPOINTS[name]!(modelFor);
  const init = { method: "POST", headers: { ...KEY, ...headers }, body: payloadOf(request) };
  const response = await app.fetch(new Request(`http://gateway${request.path}`, init));
  return { app, upstream, response, text: await response.text() };
}

/** What is a client's own, or of its connection, or of what stands between it and the gateway. */
const CLIENTS = [
  ...["x-api-key", "api-key", "apikey", "x-goog-api-key", "xi-api-key", "x-auth-token", "x-amz-security-token"],
  ...["x-csrf-token", "x-access-token", "x-functions-key", "ocp-apim-subscription-key", "hf-token", "x-hf-token"],
  ...[
    "proxy-authorization",
    "cookie",
    "cookie2",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "forwarded",
  ],
  ...["x-real-ip", "via", "cf-connecting-ip", "true-client-ip", "x-client-cert", "x-ssl-client-cert", "x-remote-user"],
  ...[
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade-insecure-requests",
    "proxy-connection",
  ],
  ...["openai-organization", "openai-project", "anthropic-beta", "x-stainless-os", "user-agent", "accept-language"],
  ...["referer", "origin", "x-request-id", "traceparent", "baggage", "x-portkey-api-key", "helicone-auth"],
  ...["content-md5", "expect", "range", "if-none-match", "x-http-method-override", "x-original-url"],
];

for (const name of Object.keys(ENDPOINTS)) {
  Deno.test(`${name}: of a client's headers none reaches the upstream`, async () => {
    const theirs = Object.fromEntries(CLIENTS.map((header) => [header, "of-the-client"]));
    const { upstream, response } = await send(name, serveAll, { ...theirs, "x-api-key": ENV.TEAM_KEY! });
    assertEquals(response.status, 200);
    const { headers } = upstream.asked[0]!;
    const ours = ["accept", "authorization", "content-type", "user-agent", "x-house-key", "x-plain"];
    assertEquals([...headers.keys()].filter((header) => !ours.includes(header)), []);
    const sent = JSON.stringify([...headers]);
    assert(!sent.includes("of-the-client") && !sent.includes(ENV.TEAM_KEY!), sent);
  });

  Deno.test(`${name}: of an upstream's headers none reaches the client`, async () => {
    const theirs = [
      ...["set-cookie", "authorization", "x-api-key", "www-authenticate", "server", "via", "x-powered-by", "location"],
      ...["x-ratelimit-limit-requests", "anthropic-ratelimit-tokens-remaining", "ratelimit", "x-amzn-requestid"],
      ...["x-request-id", "request-id", "cf-ray", "openai-organization", "x-inference-host", "alt-svc", "link"],
      ...[
        "access-control-allow-origin",
        "content-security-policy",
        "refresh",
        "x-laneway-target",
        "content-disposition",
      ],
    ];
    const { response } = await send(name, (asked) => {
      const answer = serveAll(asked);
      for (const header of theirs) answer.headers.set(header, "of-the-upstream");
      return answer;
    });
    const ours =
      /^(content-type|cache-control|request-id|x-request-id|x-accel-buffering|x-content-type-options|x-laneway-.*)$/;
    assertEquals([...response.headers.keys()].filter((header) => !ours.test(header)), []);
    assert(!JSON.stringify([...response.headers]).includes("of-the-upstream"));
    assertEquals(response.headers.get("x-content-type-options"), "nosniff");
  });

  Deno.test(`${name}: an upstream that tells what it was sent tells the client no secret`, async () => {
    const secrets = [ENV.UPSTREAM_SECRET!, "house-header-secret", ENV.TEAM_KEY!];
    for (const status of [400, 404, 422, 429, 500, 503]) {
      for (const secret of secrets) {
        for (const padding of [0, 470, 480, 490]) {
          const message = `${"a".repeat(padding)}Your key ${secret} is not good: ${"b".repeat(500)}`;
          const shapes = [{ error: { message, param: `headers.${secret}` } }, { detail: [{ msg: message }] }, message];
          for (const shape of shapes) {
            const { app, response, text } = await send(name, () => Response.json(shape, { status }));
            // The head of a streamed completion does not wait for another try.
            assert(response.status >= 400 || name === "completions, streamed" && text.includes('"error"'));
            assert(!text.includes(secret.slice(0, 10)), text);
            const headers = JSON.stringify([...response.headers]);
            assert(!headers.includes(secret.slice(0, 10)) && !headers.includes("upstream.test"), headers);
            for (const line of app.logs.map(formatLogLine)) assert(!line.includes(secret), line);
          }
        }
      }
    }
  });
}

Deno.test("an upstream's words inside a stream tell no secret either, and plain words stay", async () => {
  for (const frames of [[], [word("one")]]) {
    const error = { message: `The key ${ENV.UPSTREAM_SECRET} has plain-words`, code: 500 };
    const failed = `data: ${JSON.stringify({ error })}\n\n`;
    const { text } = await send("chat, streamed", () => answerStream([...frames, failed]));
    assertStringIncludes(text, "The key *** has plain-words");
    assert(!text.includes(ENV.UPSTREAM_SECRET!));
  }
});

Deno.test("no secret of the configuration is told, whoever comes to know it", async () => {
  const env = { ...ENV, SEALING_KEY: "sealing-key-".repeat(3), CATALOG_TOKEN: "catalog-token-1a2b" };
  const config: ConfigInput = {
    ...CONFIG,
    catalogs: { hub: { plugin: "hub", baseUrl: "http://hub.test", secret: { env: "CATALOG_TOKEN" } } },
    sealing: { key: { env: "SEALING_KEY" } },
  };
  const message = `I know ${env.SEALING_KEY} and ${env.CATALOG_TOKEN}`;
  const upstream = fakeUpstream(() => Response.json({ error: { message } }, { status: 400 }));
  const response = await newApp({ config, env, fetch: upstream.fetch }).post(CHAT, chatBody(), KEY);
  assertEquals((await response.json()).error.message, "I know *** and ***");
});

Deno.test("of a secret that begins as another one does nothing is left", async () => {
  const env = { ...ENV, TEAM_KEY: `${ENV.UPSTREAM_SECRET}-and-more` };
  const upstream = fakeUpstream(() => Response.json({ error: { message: `No ${env.TEAM_KEY}` } }, { status: 400 }));
  const app = newApp({ config: CONFIG, env, fetch: upstream.fetch });
  const response = await app.post(CHAT, chatBody(), { authorization: `Bearer ${env.TEAM_KEY}` });
  assertEquals((await response.json()).error.message, "No ***");
});

Deno.test("a secret that is an everyday word is left where it stands", async () => {
  const upstream = fakeUpstream(() => Response.json({ error: { message: "ollama cannot" } }, { status: 400 }));
  const app = newApp({ env: { UPSTREAM_SECRET: "ollama" }, fetch: upstream.fetch });
  assertEquals((await (await app.post(CHAT, chatBody())).json()).error.message, "ollama cannot");
});

// Places

const PRIVATE = "http://169.254.169.254/latest/meta-data";

Deno.test("URLs in a request are the upstream's to fetch, never the gateway's", async () => {
  const requests: [string, object][] = [
    [CHAT, {
      model: "model",
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: `${PRIVATE}/a.png` } }] }],
    }],
    ["/oss/v1/messages", {
      model: "model",
      max_tokens: 9,
      messages: [{
        role: "user",
        content: [
          { type: "image", source: { type: "url", url: `${PRIVATE}/a.png` } },
          { type: "document", source: { type: "url", url: "file:///etc/passwd" } },
        ],
      }],
      mcp_servers: [{ type: "url", url: PRIVATE, name: "a" }],
    }],
    ["/oss/v1/responses", {
      model: "model",
      input: [{
        role: "user",
        content: [{ type: "input_image", image_url: PRIVATE }, { type: "input_file", file_url: PRIVATE }],
      }],
      // Alone, it would be told as failed, and no upstream asked.
      tools: [{ type: "function", name: "f" }, { type: "mcp", server_label: "a", server_url: PRIVATE }],
    }],
  ];
  for (const [path, body] of requests) {
    const upstream = fakeUpstream(() => answerWhole());
    const app = newApp({ config: CONFIG, fetch: upstream.fetch });
    const response = await app.post(path, body, KEY);
    await response.body?.cancel();
    assertEquals(upstream.asked.map(({ url }) => url.origin), ["http://upstream.test"], path);
  }
});

// Words

Deno.test("what is called as every object's own changes no object", async () => {
  const evil = '{"polluted":"yes","constructor":{"prototype":{"polluted":"yes"}}}';
  const object = `{"__proto__":${evil},"constructor":{"prototype":${evil}},"toString":1,"hasOwnProperty":1}`;
  const tools = `[{"type":"function","name":"__proto__","input_schema":${object},"parameters":${object},` +
    `"function":{"name":"__proto__","parameters":${object}}}]`;
  const bodies: [string, string][] = [
    [CHAT, `"messages":[{"role":"user","content":"a","__proto__":${evil}}]`],
    ["/oss/v1/messages", `"max_tokens":9,"messages":[{"role":"user","content":"a","__proto__":${evil}}]`],
    ["/oss/v1/responses", `"input":[{"role":"user","content":"a","__proto__":${evil}}]`],
  ];
  const answers = [
    () => answerWhole(),
    () =>
      new Response(
        `{"__proto__":${evil},"object":"chat.completion","choices":[{"index":0,"__proto__":${evil},"message":` +
          `{"role":"assistant","content":"one","__proto__":${evil},"tool_calls":[{"id":"__proto__","type":"function",` +
          `"function":{"name":"__proto__","arguments":${JSON.stringify(object)}}}]},"finish_reason":"tool_calls"}]}`,
        { headers: { "content-type": "application/json" } },
      ),
    () => answerStream([frame({ delta: JSON.parse(object) }), word("one"), ENDING]),
  ];
  for (const [path, rest] of bodies) {
    for (const [at, answer] of answers.entries()) {
      const app = newApp({ config: CONFIG, fetch: fakeUpstream(answer).fetch });
      const metadata = `"metadata":${object},"tools":${tools},"__proto__":${evil},"stream":${at === 2}`;
      const response = await app.post(path, `{"model":"model",${metadata},${rest}}`, KEY);
      await response.text();
      assert(response.status !== 500, `${path} ${at}: ${JSON.stringify(app.logs[0])}`);
      assertEquals([({} as { polluted?: string }).polluted, Object.keys(Object.prototype)], [undefined, []]);
    }
  }
  for (const model of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    const app = newApp({ config: CONFIG });
    assertEquals((await app.post(CHAT, chatBody({ model }), KEY)).status, 404);
    assertEquals((await app.get(`/${model}/v1/models`, KEY)).status, 404);
    assertEquals((await app.get(`/oss/v1/models/${model}`, KEY)).status, 404);
    assertEquals((await app.get(`/${model}`, KEY)).status, 404);
  }
});

Deno.test("nothing that a client names writes lines or steers a terminal in the log", async () => {
  const nasty = 'm"}\r\n{"status":200}\x1b[2J\x1b]0;title\x07\u009b31m\u2028\u202egnp\u200b\x7f';
  const app = newApp({ config: CONFIG, fetch: fakeUpstream(() => answerWhole()).fetch });
  await (await app.post(CHAT, chatBody({ model: nasty }), KEY)).text();
  await (await app.post(CHAT, chatBody({ [nasty]: 1, tools: [{ type: nasty }] }), KEY)).text();
  await (await app.get(`/oss/v1/${encodeURIComponent(nasty)}`, { ...KEY, "user-agent": "\x1b[31m" })).text();
  assert(app.logs.length === 3);
  for (const entry of app.logs) {
    const line = formatLogLine(entry);
    assert(/^[\x20-\x7e]*$/.test(line), JSON.stringify(line));
    assertEquals(JSON.parse(line).id, entry.id);
  }
  assertEquals(JSON.parse(formatLogLine(app.logs[0]!)).model, nasty);
});

Deno.test("markup that a client or an upstream sends is text to a browser", async () => {
  const markup = "<script>alert(1)</script>";
  const app = newApp({ config: CONFIG, fetch: fakeUpstream(() => new Response(markup, { status: 500 })).fetch });
  const answers = [
    await app.get(`/${encodeURIComponent(markup)}`, KEY),
    await app.get(`/oss/v1/models/${encodeURIComponent(markup)}`, KEY),
    await app.post(CHAT, chatBody({ model: markup }), KEY),
    await app.post(CHAT, chatBody(), KEY),
    await app.post("/oss/v1/messages", markup, KEY),
    await app.get("/oss/v1/models", { authorization: `Bearer ${markup}` }),
  ];
  for (const response of answers) {
    assert(response.status >= 400);
    assertEquals(response.headers.get("x-content-type-options"), "nosniff");
    assertStringIncludes(response.headers.get("content-type")!, "application/json");
    await response.body?.cancel();
  }
  // What calls itself sound and is a page goes out as no page.
  for (const type of ["text/html", "image/svg+xml", "application/xhtml+xml", "audio/mpeg, text/html"]) {
    const page = () => new Response(markup, { headers: { "content-type": type } });
    const { response } = await send("speech", page);
    assert(
      !/html|svg|xml/.test(response.headers.get("content-type")!),
      `${type}: ${response.headers.get("content-type")}`,
    );
  }
});
