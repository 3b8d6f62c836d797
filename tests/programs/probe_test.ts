/** The command `probe`: what it finds out of servers of every kind, and that the entry it prints is one that serves. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { withoutComments } from "../../src/util/config_text.ts";
import { ProbeError } from "../../src/programs/probe/probe_call.ts";
import { examineServer } from "../../src/programs/probe/examine.ts";
import { report } from "../../src/programs/probe/mod.ts";
import { answerThrough, type Body, chatServer, error, examine, type Fake, valueOf, withServer } from "./probed.ts";
import { freePort } from "../support/redis_server.ts";
import { runLaunched, withFolder } from "../support/process.ts";

const CALL = (name: string) => ({ id: `call_${name}`, type: "function", function: { name, arguments: "{}" } });
const JSON_ANSWER = { content: '{"sum_of_both":5,"is_even":false}' };

const SERVERS: { name: string; fake: Fake; title: string; entry: Body; values: Record<string, string> }[] = [
  {
    name: "vLLM, which thinks and counts",
    fake: {
      models: [{ id: "m", owned_by: "vllm", max_model_len: 4096 }],
      paths: {
        "/version": () => Response.json({ version: "0.32.0" }),
        "/tokenize": () => Response.json({ count: 9, max_model_len: 4096, tokens: [1] }),
        "/v1/messages": () => Response.json({ type: "message", content: [] }),
        "/v1/responses": () => Response.json({ object: "response", output: [] }),
      },
      message(body) {
        const { enable_thinking } = (body.chat_template_kwargs ?? {}) as Body;
        if (body.tools) return { content: null, tool_calls: [CALL("get_time"), CALL("get_weather")] };
        if (body.response_format) return JSON_ANSWER;
        return { content: "42", ...enable_thinking !== false && { reasoning: "17 + 25." } };
      },
    },
    title: "vLLM 0.32.0",
    entry: { reasoningField: "reasoning", dialect: "template", systemMessages: "anywhere", counter: "tokenize" },
    values: {
      "messages wire": "served",
      "responses wire": "served",
      tools: "called, 2 in one answer",
      reasoning: "in reasoning; off by chat_template_kwargs",
      counting: "by /tokenize",
    },
  },
  {
    name: "SGLang without a tool parser, which ignores schemas",
    fake: {
      paths: { "/get_server_info": () => Response.json({ tp_size: 1, version: "0.5.9" }) },
      message: (body) =>
        body.tools ? { content: '<tool_call>{"name": "get_time", "arguments": {}}</tool_call>' } : { content: "five" },
      refuse: (body) =>
        (body.messages as Body[]).length === 4 ? error(400, "System message must be at the beginning") : undefined,
    },
    title: "SGLang 0.5.9",
    entry: { textForms: "parse", structuredOutput: "instruct", dialect: "template" },
    values: { tools: "calls are in the text", "system messages": "at the beginning only" },
  },
  {
    name: "Ollama",
    fake: {
      models: [{ id: "m", owned_by: "library" }],
      paths: { "/api/version": () => Response.json({ version: "0.14.2" }) },
      message: (body) => body.response_format ? JSON_ANSWER : { content: "pong" },
      refuse: (body) => body.tools ? error(400, "m does not support tools") : undefined,
    },
    title: "Ollama 0.14.2",
    entry: { refuses: ["tools", "tool_choice", "parallel_tool_calls"], systemMessages: "anywhere" },
    values: { reasoning: "the model did not think" },
  },
  {
    name: "LM Studio",
    fake: {
      models: [{ id: "m", owned_by: "organization_owner" }],
      paths: { "/api/v0/models": () => Response.json({ object: "list", data: [] }) },
      message: (body) =>
        body.response_format
          ? JSON_ANSWER
          : body.tools
          ? { tool_calls: [CALL("get_time")] }
          : { content: "<think>hm</think>pong" },
    },
    title: "LM Studio",
    entry: { textForms: "parse", systemMessages: "anywhere" },
    values: { tools: "called, one per answer in this test", reasoning: "in the text; no field switches it off" },
  },
  {
    name: "TGI, which refuses fields",
    fake: {
      paths: {
        "/info": () => Response.json({ model_id: "m", version: "3.3.6" }),
        "/chat_tokenize": () => Response.json({ tokenize_response: [{ id: 1 }], templated_text: "" }),
      },
      message: (body) => body.response_format ? JSON_ANSWER : { content: "pong" },
      refuse: (body) => ["metadata", "store"].some((name) => name in body) ? error(422, "unknown field") : undefined,
    },
    title: "TGI 3.3.6",
    entry: { counter: "chat_tokenize", refuses: ["metadata", "store"], systemMessages: "anywhere" },
    values: { fields: "refuses metadata, store" },
  },
  {
    name: "OpenRouter",
    fake: {
      models: [{ id: "m", pricing: { prompt: "0" }, top_provider: {} }],
      message: (body) =>
        body.response_format ? JSON_ANSWER : { content: "42", ...!("reasoning" in body) && { reasoning: "17 + 25." } },
    },
    title: "OpenRouter",
    entry: {
      reasoningField: "reasoning",
      dialect: "reasoning-object",
      cacheControl: "pass",
      systemMessages: "anywhere",
    },
    values: { reasoning: "in reasoning; off by reasoning" },
  },
];

for (const { name, fake, title, entry, values } of SERVERS) {
  Deno.test(`probe: ${name}: it is recognized, and its entry serves`, () =>
    withServer(chatServer(fake), async (url) => {
      const examined = await examine(url);
      assertEquals(examined.title, title);
      assertEquals(examined.entry, { driver: "chat", baseUrl: `${url}/v1`, ...entry });
      assertEquals(Object.keys(examined.reasons).sort(), Object.keys(examined.entry).sort());
      for (const [property, value] of Object.entries(values)) assertEquals(valueOf(examined, property), value);
      assertEquals(await answerThrough(examined.entry), 200);
    }));
}

Deno.test("probe: an address with /v1 and one without lead to the same", () =>
  withServer(chatServer({}), async (url) => {
    assertEquals((await examine(url)).baseUrl, `${url}/v1`);
    assertEquals((await examine(`${url}/v1/`)).baseUrl, `${url}/v1`);
  }));

Deno.test("probe: a server of ranks and vectors alone", () => {
  const paths = {
    "/v1/embeddings": () => Response.json({ data: [{ embedding: [1] }] }),
    "/v1/rerank": () =>
      Response.json({ results: [{ index: 0, relevance_score: 4.2 }, { index: 1, relevance_score: -7 }] }),
    "/v1/chat/completions": () => error(404, "no"),
  };
  return withServer(chatServer({ paths }), async (url) => {
    const examined = await examine(url);
    assertEquals(examined.entry, { driver: "chat", baseUrl: `${url}/v1`, scores: "sigmoid" });
  });
});

/** A server that refuses a field that the questions do not ask about, and patterns in schemas. */
const refusesOfAgents = chatServer({
  refuse(body) {
    if ("top_p" in body) return error(400, "Unrecognized request argument supplied: top_p");
    return JSON.stringify(body).includes('"pattern"') ? error(400, "Unknown keyword 'pattern'") : undefined;
  },
});

Deno.test("probe: what it refuses of an agent's request is in its entry, or in words", () =>
  withServer(refusesOfAgents, async (url) => {
    const examined = await examine(url);
    const value = "accepted without a part: top_p (left out), pattern in schemas (left out)";
    assertEquals([examined.entry.refuses, valueOf(examined, "agents' requests")], [["top_p"], value]);
    assertMatch(report(examined, "mine"), /^ {2}refuses +it refuses this of an agent's request$/m);
  }));

Deno.test("probe: an agent's request that is served as it is, or not at all, adds no setting", async () => {
  await withServer(chatServer({}), async (url) => {
    const examined = await examine(url);
    assertEquals([examined.entry.refuses, valueOf(examined, "agents' requests")], [undefined, "accepted"]);
  });
  const refuse = ({ messages }: Body) => (messages as Body[]).length === 5 ? error(400, "No") : undefined;
  await withServer(chatServer({ refuse }), async (url) => {
    const examined = await examine(url);
    assertEquals([examined.entry.refuses, valueOf(examined, "agents' requests")], [undefined, "refused with 400: No"]);
  });
});

Deno.test("probe: what cannot be found out is said in one line", async () => {
  const nothing = async (url: string, model?: string) => {
    try {
      return String(await examine(url, model));
    } catch (error) {
      return (error as Error).message;
    }
  };
  assertStringIncludes(await nothing("http://127.0.0.1:9"), "No server answers at http://127.0.0.1:9");
  const free = freePort();
  assertStringIncludes(
    await nothing(`http://127.0.0.1:${free}`),
    `No server answers at http://127.0.0.1:${free}: Nothing is listening at 127.0.0.1:${free}`,
  );
  await withServer(() => Promise.resolve(error(401, "no")), async (url) => {
    assertStringIncludes(await nothing(url), "name the variable that holds its secret");
  });
  await withServer(() => Promise.resolve(new Response("<html>", { status: 200 })), async (url) => {
    assertStringIncludes(await nothing(url), "lists no models and answers with a web page");
    assertStringIncludes(await nothing(url, "m"), "supports none of the wires");
  });
  await withServer(chatServer({ refuse: () => error(500, "out of memory") }), async (url) => {
    assertStringIncludes(await nothing(url), "chat 500: out of memory");
  });
});

Deno.test("probe: the report gives a reason for every setting", () =>
  withServer(chatServer(SERVERS[0]!.fake), async (url) => {
    const text = report(await examine(url), "mine");
    assertStringIncludes(text, `${url}/v1: vLLM 0.32.0, tested with m`);
    assertMatch(text, /^ {2}counter +it counts a request's tokens with the model's own tokenizer$/m);
    const [, entry] = /\n {2}"mine": (\{[^]*?\n {2}\})\n/.exec(text)!;
    assertEquals(JSON.parse(entry!).counter, "tokenize");
  }));

Deno.test("probe: the entry is written into the configuration, and nothing else in it is touched", () =>
  withServer(chatServer({}), (url) =>
    withFolder(async (folder) => {
      const path = `${folder}/mine.json`;
      await Deno.writeTextFile(
        path,
        '{\n  // mine\n  "extends": "default",\n  "listen": { "port": 9000 }, // as agreed\n}\n',
      );
      const args = ["--config", path, "probe", url, "--write", "mine", "--secret-env", "MY_SECRET"];
      const unset = await runLaunched(args, { cwd: folder });
      assertEquals([unset.code, unset.stderr.trim()], [1, "The variable MY_SECRET is not set here"]);
      const { code, stdout, stderr } = await runLaunched(args, { cwd: folder, env: { MY_SECRET: "secret-4711" } });
      assertEquals(code, 0, stderr);
      assert(!stdout.includes("secret-4711"));
      const written = await Deno.readTextFile(path);
      for (const comment of ["// mine\n", "// as agreed\n"]) assertStringIncludes(written, comment);
      assertEquals(JSON.parse(withoutComments(written)), {
        extends: "default",
        listen: { port: 9000 },
        upstreams: {
          mine: {
            driver: "chat",
            baseUrl: `${url}/v1`,
            secret: { env: "MY_SECRET" },
            structuredOutput: "instruct",
            systemMessages: "anywhere",
          },
        },
        lanes: { mine: { upstreams: { chat: "mine" } } },
      });
      assertStringIncludes(stderr, 'a lane "mine" that serves its models');
      const led = { upstreams: {}, lanes: { other: { models: {}, upstreams: { chat: "mine" } } } };
      await Deno.writeTextFile(path, JSON.stringify(led));
      await runLaunched(args, { cwd: folder, env: { MY_SECRET: "secret-4711" } });
      assertEquals(JSON.parse(await Deno.readTextFile(path)).lanes, led.lanes);
    })));

Deno.test("probe: a secret that the server repeats is not printed", () => {
  const secret = "secret-of-the-server-4711";
  const repeated = error(400, `Unknown field for ${secret}`);
  const refuse = ({ tools }: Body) => tools ? repeated.clone() : undefined;
  return withServer(chatServer({ refuse }), (url) =>
    withFolder(async (folder) => {
      const options = { cwd: folder, env: { MY_SECRET: secret } };
      for (const more of [[], ["--json"]]) {
        const { code, stdout, stderr } = await runLaunched(
          ["probe", url, "--secret-env", "MY_SECRET", ...more],
          options,
        );
        assertEquals(code, 0, stderr);
        assertStringIncludes(stdout, "Unknown field for ***");
        assert(!stdout.includes(secret));
      }
    }));
});

const SECRET = "secret-of-the-server-4711";

for (
  const [name, wants, paths, secret] of [
    ["a chat server that expects api-key", "api-key", {}, { env: "MY_SECRET", header: "api-key" }],
    [
      "a messages server that expects x-api-key",
      "x-api-key",
      {
        "/v1/messages": () => Response.json({ type: "message", content: [] }),
        "/v1/chat/completions": () => error(404, "no"),
      },
      { env: "MY_SECRET" },
    ],
    [
      "a messages server that expects a bearer token",
      "authorization",
      {
        "/v1/messages": () => Response.json({ type: "message", content: [] }),
        "/v1/chat/completions": () => error(404, "no"),
      },
      { env: "MY_SECRET", header: "authorization" },
    ],
  ] as const
) {
  Deno.test(`probe: ${name}, and a query, is written so that it is called that way`, () => {
    const serve = chatServer({ paths });
    const isRight = ({ headers, url }: Request) =>
      headers.get(wants)?.endsWith(SECRET) && new URL(url).searchParams.get("api-version") === "1";
    return withServer(
      async (request) => isRight(request) ? await serve(request) : error(401, "no access"),
      async (url) => {
        const { entry } = await examineServer({
          url: `${url}/v1/?api-version=1`,
          secret: { env: "MY_SECRET", value: SECRET },
          patienceMs: 10_000,
        });
        assertEquals([entry.baseUrl, entry.secret], [`${url}/v1?api-version=1`, secret]);
        assertEquals(entry.driver, "/v1/messages" in paths ? "messages" : "chat");
      },
    );
  });
}

Deno.test("probe: with a named header, no other is tried", () => {
  const seen: string[] = [];
  return withServer(({ headers }) => {
    seen.push([...headers].filter(([, value]) => value.includes(SECRET)).map(([name]) => name).join());
    return Promise.resolve(error(401, "no access"));
  }, async (url) => {
    const secret = { env: "MY_SECRET", value: SECRET, header: "x-own" };
    await assertRejects(() => examineServer({ url, secret, patienceMs: 10_000 }), ProbeError, "it refuses the secret");
    assertEquals(seen, ["x-own"]);
  });
});
