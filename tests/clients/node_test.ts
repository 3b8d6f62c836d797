/** The gateway on Node, as a process of its own: the vendors' SDKs, clients by hand, and what Node does by itself. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import Anthropic from "anthropic-sdk";
import OpenAI from "openai";
import { chunk, jsonAnswer, LAST_CHUNK, postHead, STREAM_HEAD, TcpClient, TcpUpstream } from "../sockets/tcp.ts";
import { CHAT, chatBody, type ConfigInput, ENV } from "../support/app.ts";
import { ANSWER, ENDING, frame, word } from "../support/chat.ts";
import { delay, until, within } from "../support/wait.ts";
import { RawWebSocket } from "../sockets/raw_websocket.ts";
import { FRAMES_TESTS, runFramesTest } from "../sockets/websocket_frames.ts";
import { install, NODE } from "./install.ts";
import { type NodeGateway, type NodeOptions, withNodeGateway, withProgram } from "./node_gateway.ts";

const installed = await install(NODE, "node");

interface Setting extends NodeGateway {
  upstream: TcpUpstream;
  connect(): Promise<TcpClient>;
}

interface Conditions extends NodeOptions {
  config?: Partial<ConfigInput>;
  timeouts?: Record<string, number>;
}

/** Each test has a gateway of its own, before an upstream whose answers the test writes. */
async function withSetting(
  step: Deno.TestContext,
  folder: string,
  name: string,
  use: (setting: Setting) => Promise<void>,
  { config, timeouts = {}, ...options }: Conditions = {},
): Promise<void> {
  if ("reason" in installed) return;
  await step.step(name, async () => {
    const upstream = new TcpUpstream();
    const clients: TcpClient[] = [];
    const whole: ConfigInput = {
      upstreams: {
        tcp: { driver: "chat", baseUrl: upstream.baseUrl, secret: { env: "UPSTREAM_SECRET" }, timeouts },
        sandbox: { driver: "sandbox" },
      },
      lanes: {
        oss: {
          models: {
            model: { task: "chat", targets: [{ upstream: "tcp", model: "org/model" }] },
            sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
            embedder: { task: "embedding", targets: [{ upstream: "sandbox", model: "sandbox-embedding" }] },
          },
        },
      },
      ...config,
    };
    try {
      await withNodeGateway(installed.program, folder, whole, async (gateway) => {
        const connect = async () => {
          const client = await TcpClient.connect(Number(new URL(gateway.url).port));
          clients.push(client);
          return client;
        };
        await within(use({ ...gateway, upstream, connect }));
      }, options);
    } finally {
      for (const client of clients) client.close();
      await upstream.stop();
    }
  });
}

const HELLO = [{ role: "user" as const, content: "Hello" }];
const KEYS: ConfigInput["keys"] = [{ name: "team", secret: { env: "TEAM_KEY" } }];

/** What Node would do by itself after half a second, in place of five minutes. */
const IMPATIENT = `data:text/javascript,${
  encodeURIComponent(`
    void Response;
    const name = Symbol.for("undici.globalDispatcher.1");
    const Agent = globalThis[name].constructor;
    globalThis[name] = new Agent({ headersTimeout: 500, bodyTimeout: 500 });
  `)
}`;

/** What a plugin may do wrong, at a signal. */
const FAULTY = `data:text/javascript,${
  encodeURIComponent(`
    process.on("SIGUSR2", () => {
      Promise.reject(new RangeError("my words"));
      setTimeout(() => { throw new TypeError("my words") });
    });
  `)
}`;

Deno.test({
  name: `node: the gateway on it${"reason" in installed ? ` (skipped: ${installed.reason})` : ""}`,
  ignore: "reason" in installed,
  async fn(t) {
    await withProgram(async (folder) => {
      const test = (name: string, use: (setting: Setting) => Promise<void>, conditions?: Conditions) =>
        withSetting(t, folder, name, use, conditions);
      await testClients(test);
      await testSockets(test);
      await testUpstreams(test);
      await testProcess(test);
      await testWebSockets(test);
      if ("reason" in installed) return;
      await t.step("commands run to their ends", () => within(testCommands(installed.program, folder)));
      await t.step("what is stored outlives the process", () => within(testStore(installed.program, folder)));
    });
  },
});

type Test = (name: string, use: (setting: Setting) => Promise<void>, conditions?: Conditions) => Promise<void>;

async function testClients(test: Test): Promise<void> {
  await test("the OpenAI SDK, chat: whole, streamed, a tool call, errors", async ({ url, upstream }) => {
    const client = new OpenAI({ baseURL: `${url}/oss/v1`, apiKey: ENV.TEAM_KEY, maxRetries: 0 });
    const body = { model: "sandbox", messages: HELLO };
    const answer = await client.chat.completions.create(body);
    const stream = await client.chat.completions.create({ ...body, stream: true });
    let text = "";
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
    assertEquals(text, answer.choices[0]!.message.content);
    assert(text.length > 50);
    const called = client.chat.completions.create({ model: "model", messages: HELLO, tools: [TOOL] });
    const asked = await upstream.next();
    assertEquals(asked.headers.get("authorization"), `Bearer ${ENV.UPSTREAM_SECRET}`);
    await asked.write(jsonAnswer(CALL));
    assertEquals((await called).choices[0]!.message.tool_calls?.[0]?.type, "function");
    await assertRejects(() => client.chat.completions.create({ ...body, model: "nothing" }), OpenAI.NotFoundError);
    await assertRejects(
      () => new OpenAI({ baseURL: `${url}/oss/v1`, apiKey: "wrong" }).models.list(),
      OpenAI.AuthenticationError,
    );
  }, { config: { keys: KEYS } });

  await test("its pages are compressed, negotiated, and not sent again to whoever has them", async ({ connect, url }) => {
    const client = await connect();
    await client.send(`GET /docs HTTP/1.1\r\nhost: gateway\r\naccept-encoding: br\r\n\r\n`);
    const head = await client.readUntil("\r\n\r\n");
    assertStringIncludes(head.toLowerCase(), "\r\ncontent-encoding: br\r\n");
    const response = await fetch(`${url}/openapi.json`, { headers: { "accept-encoding": "br" } });
    assertEquals((await response.json()).openapi.slice(0, 3), "3.1");
    const again = await fetch(`${url}/openapi.json`, { headers: { "if-none-match": response.headers.get("etag")! } });
    assertEquals([again.status, await again.text()], [304, ""]);
    const page = await fetch(url, { headers: { accept: "text/html" } });
    assertStringIncludes(await page.text(), "<!doctype html>");
    const script = await (await fetch(`${url}/console/lib/preact_signals.js`)).text();
    assertStringIncludes(script, `from"../lib/preact.js"`);
    const facts = await fetch(url, { headers: { accept: "application/json, text/html;q=0.5" } });
    assertEquals((await facts.json()).name, "laneway");
  });

  await test("the OpenAI SDK, responses: whole, streamed, continued, embeddings", async ({ url }) => {
    const client = new OpenAI({ baseURL: `${url}/oss/v1`, apiKey: "none", maxRetries: 0 });
    const answer = await client.responses.create({ model: "sandbox", input: "Hello" });
    const stream = client.responses.stream({ model: "sandbox", input: "Hello" });
    assertEquals((await stream.finalResponse()).output_text, answer.output_text);
    const next = await client.responses.create({ model: "sandbox", input: "More", previous_response_id: answer.id });
    assertStringIncludes(next.output_text, "3 messages");
    const { data } = await client.embeddings.create({ model: "embedder", input: ["one", "two"] });
    assertEquals([data.length, data[0]!.embedding.length > 10], [2, true]);
  });

  await test("the Anthropic SDK: whole, streamed, a tool call that comes in pieces, errors", async ({ url, upstream }) => {
    const client = new Anthropic({ baseURL: `${url}/oss`, apiKey: "none", maxRetries: 0 });
    const body = { model: "sandbox", max_tokens: 500, messages: HELLO };
    const answer = await client.messages.create(body);
    const stream = client.messages.stream(body);
    assertEquals((await stream.finalMessage()).content, answer.content);
    assertMatch(answer._request_id ?? "", /^req_/);
    const tools = [{ name: "get_weather", input_schema: { type: "object" as const, properties: {} } }];
    const called = client.messages.stream({ ...body, model: "model", tools }).finalMessage();
    const asked = await upstream.next();
    await asked.write(STREAM_HEAD);
    const [call] = CALL.choices[0]!.message.tool_calls;
    const pieces = [...call!.function.arguments];
    await asked.write(chunk(delta({ ...call, index: 0, function: { name: "get_weather", arguments: "" } })));
    for (const piece of pieces) await asked.write(chunk(delta({ index: 0, function: { arguments: piece } })));
    await asked.write(chunk(frame({ delta: {}, finish_reason: "tool_calls" }) + "data: [DONE]\n\n") + LAST_CHUNK);
    const [block] = (await called).content;
    assertEquals(block?.type === "tool_use" && block.input, { city: "Oslo" });
    await assertRejects(() => client.messages.create({ ...body, model: "nothing" }), Anthropic.NotFoundError);
  });
}

const TOOL: OpenAI.ChatCompletionTool = {
  type: "function",
  function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
};
const CALL = {
  ...ANSWER,
  choices: [{
    index: 0,
    message: {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city":"Oslo"}' } }],
    },
    finish_reason: "tool_calls",
  }],
};

function delta(call: object): string {
  return frame({ delta: { role: "assistant", tool_calls: [call] } });
}

async function testSockets(test: Test): Promise<void> {
  for (const stream of [false, true]) {
    await test(`a client that leaves stops the upstream, ${stream ? "streamed" : "whole"}`, async (setting) => {
      const { connect, upstream, logs } = setting;
      const client = await connect();
      await client.post(CHAT, chatBody({ stream }));
      const asked = await upstream.next();
      if (stream) {
        await asked.write(STREAM_HEAD + chunk(word("one")));
        await client.readUntil('"content":"one"');
      }
      client.close();
      await asked.left;
      await until(() => logs.length === 1);
      assertEquals(logs[0]!.status, 499);
    });
  }

  await test("a client that reads slowly slows the upstream down, and loses nothing", async ({ connect, upstream }) => {
    const letters = 64 * 1024;
    const piece = chunk(word("Z".repeat(letters)));
    const pieces = Math.ceil(32 * 2 ** 20 / piece.length);
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    const asked = await upstream.next();
    await asked.write(STREAM_HEAD);
    let sent = 0;
    const all = (async () => {
      for (; sent < pieces; sent++) await asked.write(piece);
      await asked.write(chunk(ENDING) + LAST_CHUNK);
    })();
    all.catch(() => {}); // awaited below
    for (let before = -1; before <= 0 || sent > before;) {
      before = sent;
      await delay(500);
    }
    assert(sent < pieces * 3 / 4, `${sent} of ${pieces} pieces were taken for a client that reads nothing`);
    assertEquals(await client.count("Z", "[DONE]"), pieces * letters);
    await all;
  }, { config: { limits: { answerText: 2 ** 30 } } });

  await test("30 MB come through, and more than the limit is refused before it is read", async (setting) => {
    const { url, upstream, connect } = setting;
    const text = "x".repeat(30_000_000);
    const answered = fetch(url + CHAT, {
      method: "POST",
      body: JSON.stringify(chatBody({ messages: [{ role: "user", content: text }] })),
    });
    const asked = await upstream.next();
    assertEquals(JSON.parse(asked.body).messages[0].content.length, text.length);
    await asked.write(jsonAnswer(ANSWER));
    assertEquals((await (await answered).json()).choices[0].message.content, "whole");
    const client = await connect();
    await client.send(postHead(CHAT, 40_000_000) + '{"model":');
    assertStringIncludes(await client.readToEnd(), '"The body is larger than the limit');
  });

  await test("a Host header that is none is refused, and none at all is served", async ({ connect, logs }) => {
    for (const host of ["localhost/evil", "user@localhost", "local host", "localhost:65536", "a,b", "", "[::1"]) {
      const client = await connect();
      await client.send(`GET /oss/v1/models HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
      const answer = await client.readToEnd();
      assertMatch(answer, /^HTTP\/1\.1 400 /, host);
      assertStringIncludes(answer, '\\"Host\\"');
    }
    assertEquals(JSON.stringify(logs).includes("user@"), false);
    const served = ["GET /healthz HTTP/1.0\r\n", "GET http://localhost/oss/v1/models HTTP/1.1\r\nhost: localhost\r\n"];
    for (const head of served) {
      const client = await connect();
      await client.send(`${head}connection: close\r\n\r\n`);
      assertMatch(await client.readToEnd(), /^HTTP\/1\.1 200 /, head);
    }
    const stranger = await connect();
    await stranger.send("GET /oss/v1/models HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
    assertMatch(await stranger.readToEnd(), /^HTTP\/1\.1 401 /);
  });
}

async function testUpstreams(test: Test): Promise<void> {
  await test("the time-outs of Node's own fetch end nothing", async ({ connect, upstream }) => {
    const whole = await connect();
    await whole.post(CHAT, chatBody());
    const first = await upstream.next();
    const streamed = await connect();
    await streamed.post(CHAT, chatBody({ stream: true }));
    const second = await upstream.next();
    await second.write(STREAM_HEAD + chunk(word("one")));
    await streamed.readUntil('"one"');
    await delay(3_000);
    await first.write(jsonAnswer(ANSWER));
    await second.write(chunk(word("two") + ENDING) + LAST_CHUNK);
    await whole.readUntil('"whole"');
    await streamed.readUntil("[DONE]");
    assertStringIncludes(streamed.text, '"two"');
  }, { options: ["--import", IMPATIENT] });

  await test("the configured time-outs do", async ({ connect, upstream }) => {
    const whole = await connect();
    await whole.post(CHAT, chatBody());
    await whole.readUntil("upstream_timeout");
    assertMatch(whole.text, /^HTTP\/1\.1 504 /);
    await (await upstream.next()).left;
    const streamed = await connect();
    await streamed.post(CHAT, chatBody({ stream: true }));
    const asked = await upstream.next();
    await asked.write(STREAM_HEAD + chunk(word("one")));
    await streamed.readUntil("upstream_timeout");
    await asked.left;
  }, { timeouts: { wholeMs: 500, idleMs: 500 }, config: { retry: { budgetMs: 0 } } });

  await test("a kept connection that breaks under a request is no reason to send it twice", async (setting) => {
    const { connect, upstream, logs } = setting;
    const client = await connect();
    const ask = async () => {
      await client.post(CHAT, chatBody());
      return await upstream.next();
    };
    let asked = await ask();
    // Node uses a connection again, though not always the last one.
    for (const used = new Set<number>(); !used.has(asked.connection); asked = await ask()) {
      used.add(asked.connection);
      await asked.write(jsonAnswer(ANSWER));
      await client.readUntil('"whole"', used.size);
    }
    const before = upstream.asked.length;
    asked.cut();
    await client.readUntil("HTTP/1.1 502");
    await until(() => logs.length === before);
    assertEquals(upstream.asked.length, before);
  });

  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = closed.addr;
  closed.close();
  await test("an upstream that refuses connections is known to have done nothing", async ({ url, logs }) => {
    const response = await fetch(url + CHAT, { method: "POST", body: JSON.stringify(chatBody()) });
    assertEquals(response.status, 502);
    await response.body?.cancel();
    await until(() => logs.length === 1);
    assertStringIncludes(JSON.stringify(logs[0]), "ECONNREFUSED");
  }, {
    config: {
      upstreams: { tcp: { driver: "chat", baseUrl: `http://127.0.0.1:${port}/v1` }, sandbox: { driver: "sandbox" } },
    },
  });
}

async function testWebSockets(test: Test): Promise<void> {
  for (const one of FRAMES_TESTS) {
    await test(`websocket: ${one.name}`, async ({ url, logs, upstream }) => {
      await runFramesTest(one, Number(new URL(url).port), { logs, upstream });
    }, { config: { limits: one.limits } });
  }

  await test("websocket: where there is none, it is refused, and so is a broken handshake", async ({ connect }) => {
    const lines = ["host: 127.0.0.1", "connection: Upgrade", "upgrade: websocket", "sec-websocket-version: 13"];
    const [unserved, broken] = [await connect(), await connect()];
    await unserved.send(["GET /oss/v1/models HTTP/1.1", ...lines, "\r\n"].join("\r\n"));
    assertMatch(await unserved.readUntil("use HTTP"), /^HTTP\/1.1 426 /);
    await broken.send(["GET /oss/v1/responses HTTP/1.1", ...lines, "sec-websocket-key: short", "\r\n"].join("\r\n"));
    assertMatch(await broken.readUntil("\r\n\r\n"), /^HTTP\/1.1 400 /);
  });

  await test("an upgrade to HTTP/2 is not taken up: the request is answered", async ({ connect }) => {
    const client = await connect();
    await client.send(
      "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n\r\n",
    );
    assertMatch(await client.readUntil("ok"), /^HTTP\/1.1 200 /);
  });

  await test("websocket: SIGTERM lets a running answer end", async ({ url, upstream, kill, ended }) => {
    const client = await RawWebSocket.open(Number(new URL(url).port));
    await client.send({ type: "response.create", model: "model", input: "Hello", store: false });
    const asked = await upstream.next();
    await asked.write(STREAM_HEAD + chunk(word("one")));
    kill("SIGTERM");
    await asked.write(chunk(word("two") + ENDING) + LAST_CHUNK);
    assertEquals((await client.turn()).at(-1)!.type, "response.completed");
    await client.readToEnd();
    client.close();
    assertEquals(await ended, 0);
  });
}

async function testCommands(program: string, cwd: string): Promise<void> {
  const run = async (...args: string[]) => {
    const env = { HOME: cwd, PATH: "/usr/bin:/bin" };
    const options = {
      args: ["src/node.ts", ...args],
      cwd,
      clearEnv: true,
      env,
      stdin: "null",
    } satisfies Deno.CommandOptions;
    const { code, stdout } = await new Deno.Command(program, options).output();
    return [code, new TextDecoder().decode(stdout)] as const;
  };
  const [code, report] = await run("doctor", "--lane", "oss", "--model", "sandbox");
  assertEquals(code, 0, report);
  assertMatch(report, /ok +model "sandbox" of lane "oss"/);
  assertMatch((await run("keys", "create", "ada"))[1], /^laneway_/);
  assertMatch((await run("keys", "list"))[1], /^ada /);
  assertMatch((await run("permissions"))[1], /--allow-net=/);
}

async function testStore(program: string, folder: string): Promise<void> {
  const config: ConfigInput = { extends: "default", store: { path: `${folder}/kept/store.sqlite3` } };
  const headers = { "content-type": "application/json" };
  const body = (fields: object) => JSON.stringify({ model: "sandbox", input: "Hello", ...fields });
  let id = "";
  await withNodeGateway(program, folder, config, async ({ url, kill, ended }) => {
    const answer = await fetch(`${url}/oss/v1/responses`, { method: "POST", headers, body: body({}) });
    id = (await answer.json()).id;
    kill("SIGKILL");
    await ended;
  });
  await withNodeGateway(program, folder, config, async ({ url }) => {
    assertEquals((await (await fetch(`${url}/oss/v1/responses/${id}`)).json()).status, "completed");
    const next = body({ previous_response_id: id });
    const answer = await fetch(`${url}/oss/v1/responses`, { method: "POST", headers, body: next });
    assertEquals((await answer.json()).previous_response_id, id);
  });
}

async function testProcess(test: Test): Promise<void> {
  await test("SIGTERM: what runs comes to its end, then the process does", async (setting) => {
    const { connect, upstream, kill, ended, said, url } = setting;
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    const asked = await upstream.next();
    await asked.write(STREAM_HEAD + chunk(word("one")));
    await client.readUntil('"one"');
    kill("SIGTERM");
    await until(() => said().includes("SIGTERM: finishing"));
    await until(async () => {
      try {
        await (await fetch(`${url}/healthz`)).body?.cancel();
        return false;
      } catch {
        return true;
      }
    });
    await asked.write(chunk(word("two") + ENDING) + LAST_CHUNK);
    await client.readUntil("[DONE]");
    assertEquals(await ended, 0, said());
  });

  await test("a fault that nothing catches ends neither the process nor what runs in it", async (setting) => {
    const { connect, upstream, kill, said } = setting;
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    const asked = await upstream.next();
    await asked.write(STREAM_HEAD + chunk(word("one")));
    await client.readUntil('"one"');
    kill("SIGUSR2");
    await until(() => ["RangeError", "TypeError"].every((name) => said().includes(`nothing caught: ${name} at `)));
    assertEquals(said().includes("my words"), false, said());
    await asked.write(chunk(word("two") + ENDING) + LAST_CHUNK);
    await client.readUntil("[DONE]");
  }, { options: ["--import", FAULTY], direct: true });

  await test("a changed configuration is taken up", async ({ url, config, said }) => {
    const text = await Deno.readTextFile(config);
    await Deno.writeTextFile(config, text.replace('"sandbox":{"task"', '"renamed":{"task"'));
    await until(() => said().includes("Serving with the new configuration"));
    const { data } = await (await fetch(`${url}/oss/v1/models`)).json();
    assert(data.some(({ id }: { id: string }) => id === "renamed"));
  });
}

Deno.test("node: a program that has nothing else to do ends only once its log is printed", async () => {
  if ("reason" in installed) return;
  const module = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
  const script = `
    import { standardStreams } from ${module("observe/standard.ts")};
    import { node } from ${module("platform/node.ts")};
    standardStreams(node).log({ time: "", id: "req_1", method: "POST", path: "/", status: 200, durationMs: 1 });
  `;
  const args = ["--input-type=module", "--eval", script];
  const { stdout } = await new Deno.Command(installed.program, { args, stderr: "inherit" }).output();
  assertEquals(JSON.parse(new TextDecoder().decode(stdout)).id, "req_1");
});
