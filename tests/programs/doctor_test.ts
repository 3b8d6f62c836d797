/** The doctor names what was broken, twenty times and more, and finds nothing where nothing is. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { examine } from "../../src/programs/doctor/mod.ts";
import { type Finding, report } from "../../src/programs/doctor/finding.ts";
import type { Platform } from "../../src/platform/platform.ts";
import { deno } from "../../src/platform/deno.ts";
import { runLaunched, withFolder } from "../support/process.ts";

const SECRET = "upstream-secret-1f2e3d";
const HEALTHY = {
  listen: { port: 0 },
  store: { kind: "memory" },
  upstreams: { local: { driver: "chat", baseUrl: "http://server.test/v1", secret: { env: "LOCAL_TOKEN" } } },
  lanes: { oss: { models: { glm: { task: "chat", targets: [{ upstream: "local", model: "org/glm" }] } } } },
};

type Answer = (url: URL, body: Record<string, unknown>, headers: Headers) => Response | Promise<Response>;

const message = (fields: object, finish = "stop") =>
  Response.json({
    id: "1",
    model: "org/glm",
    choices: [{ index: 0, message: { role: "assistant", ...fields }, finish_reason: finish }],
    usage: { prompt_tokens: 5, completion_tokens: 1 },
  });
const failing = (status: number, text: string, more: object = {}) =>
  Response.json({ error: { message: text, ...more } }, { status });
const CALL = { id: "call_1", type: "function", function: { name: "get_time", arguments: "{}" } };
const sse = (text: string) => new Response(text, { headers: { "content-type": "text/event-stream" } });

/** A server that does all that is asked. */
const healthy: Answer = ({ pathname }, body) => {
  if (pathname.endsWith("/models")) return Response.json({ object: "list", data: [{ id: "org/glm" }] });
  if (body.stream) {
    const chunk = {
      id: "1",
      model: "org/glm",
      choices: [{ index: 0, delta: { content: "p" }, finish_reason: "stop" }],
    };
    return sse(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
  }
  if (body.tools) return message({ content: null, tool_calls: [CALL] }, "tool_calls");
  if (body.response_format) return message({ content: '{"sum":5}' });
  return message({ content: "pong", reasoning_content: "Easy." });
};

/** All but the given kind of request is answered well. */
const but = (kind: "models" | "stream" | "tools" | "response_format" | "all", answer: Answer): Answer => {
  return (url, body, headers) => {
    const isList = url.pathname.endsWith("/models");
    const isMeant = kind === "models" ? isList : !isList && (kind === "all" || Boolean(body[kind]));
    return (isMeant ? answer : healthy)(url, body, headers);
  };
};

interface Sabotage {
  config?: object | string;
  env?: Record<string, string>;
  answer?: Answer;
  platform?: Partial<Platform>;
  free?: number;
  only?: { lane?: string; model?: string };
}

async function findingsOf(
  { config = HEALTHY, env = { LOCAL_TOKEN: SECRET }, answer = healthy, platform, free, only = {} }: Sabotage,
) {
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    if (!url.hostname.endsWith(".test")) return await globalThis.fetch(request);
    const text = await request.text();
    return await answer(url, text === "" ? {} : JSON.parse(text), request.headers);
  };
  return await examine({
    platform: {
      ...deno,
      os: "linux",
      env: (name) => env[name],
      fetch: fetch as typeof globalThis.fetch,
      readText() {
        if (typeof config === "string") return config;
        return JSON.stringify(config);
      },
      isGranted: () => true,
      ...platform,
    },
    plugins: {},
    path: undefined,
    listen: {},
    descriptors: { free: () => Promise.resolve(free), areScarce: () => false, areWasted: () => false },
    now: Date.now,
    patienceMs: 2_000,
    only,
  });
}

const problemsIn = (findings: Finding[]) => findings.filter(({ level }) => level !== "ok" && level !== "skipped");

Deno.test("doctor: finds nothing where all is well, and says what the model can do", async () => {
  const findings = await findingsOf({});
  assertEquals(problemsIn(findings), []);
  assertEquals(
    findings.at(-1)!.message,
    "It answers, streams, accepts system messages, calls tools, shows its reasoning, follows a JSON schema",
  );
});

Deno.test("doctor: where the launcher will start a reader of documents, none is missed", async () => {
  assertEquals(problemsIn(await findingsOf({ config: { ...HEALTHY, documents: {} } })), []);
});

Deno.test("doctor: says how old the prices are that come with the gateway, where they may be used", async () => {
  const priced = async (config: object) => (await findingsOf({ config })).filter(({ check }) => check === "prices");
  const [found] = await priced(HEALTHY);
  assertMatch(found!.message, /^Those that nothing else states are from \d{4}-\d\d-\d\d, \d+ days ago \(genai-prices /);
  assertEquals(await priced({ ...HEALTHY, observe: { priceLibrary: false } }), []);
});

/** A server that refuses these fields, and patterns in schemas, and says which. */
const without = (...fields: string[]): Answer => (url, body, headers) => {
  const field = fields.find((name) => name in body);
  if (field !== undefined) return failing(400, `Unrecognized request argument supplied: ${field}`);
  if (JSON.stringify(body).includes('"pattern"')) return failing(400, "Unknown keyword 'pattern'");
  return healthy(url, body, headers);
};

Deno.test("doctor: what a model refuses of an agent's request is told as the settings that say the same, or in words", async () => {
  const findings = await findingsOf({ answer: without("parallel_tool_calls", "top_p") });
  assertEquals(problemsIn(findings), [{
    level: "note",
    check: "parts-refused",
    subject: 'model "glm" of lane "oss"',
    message: "It refuses parts of requests: parallel_tool_calls (left out), top_p (left out), " +
      "pattern in schemas (left out)",
    cure: "The gateway asks again without it. To say so in advance of all models of the upstream: " +
      '"upstreams": {"local":{"refuses":["parallel_tool_calls","top_p"]}}. ' +
      "There is no setting for: pattern in schemas (left out)",
    settings: { upstreams: { local: { refuses: ["parallel_tool_calls", "top_p"] } } },
  }]);
});

Deno.test("doctor: with the settings that it names, it finds nothing", async () => {
  const { local } = HEALTHY.upstreams;
  const config = { ...HEALTHY, upstreams: { local: { ...local, refuses: ["parallel_tool_calls"], relax: "off" } } };
  const answer: Answer = (url, body, headers) =>
    "parallel_tool_calls" in body ? without("parallel_tool_calls")(url, body, headers) : healthy(url, body, headers);
  assertEquals(problemsIn(await findingsOf({ config, answer })), []);
});

Deno.test("doctor: a schema that a server refuses, and a field beside it, are settings as well", async () => {
  const answer: Answer = (url, body, headers) => {
    if ("reasoning_effort" in body) return failing(400, "Unsupported parameter: 'reasoning_effort'");
    if (!("response_format" in body)) {
      return String(JSON.stringify(body.messages)).includes("2 + 3")
        ? message({ content: '{"sum":5}' })
        : healthy(url, body, headers);
    }
    return failing(400, "response_format json_schema is not supported by this model");
  };
  const [found] = problemsIn(await findingsOf({ answer }));
  assertStringIncludes(found!.cure!, '{"local":{"refuses":["reasoning_effort"],"structuredOutput":"instruct"}}');
});

Deno.test("doctor: where the gateway may not ask again, what a model refuses is a warning", async () => {
  const { local } = HEALTHY.upstreams;
  const config = { ...HEALTHY, upstreams: { local: { ...local, relax: "off" } } };
  const [found] = problemsIn(await findingsOf({ config, answer: without() }));
  assertEquals([found!.level, found!.check], ["warning", "parts-refused"]);
  assertStringIncludes(found!.cure!, 'Remove "relax": "off"');
});

Deno.test("doctor: a field that a server refuses without naming it is found by a few more requests", async () => {
  let requests = 0;
  const answer: Answer = (url, body, headers) => {
    requests++;
    return "top_p" in body ? failing(400, "Bad request") : healthy(url, body, headers);
  };
  const [found] = problemsIn(await findingsOf({ answer }));
  assertStringIncludes(found!.cure!, '{"local":{"refuses":["top_p"]}}');
  assert(requests < 25, `${requests} requests`);
});

const upstream = (fields: object) => ({
  ...HEALTHY,
  upstreams: { local: { ...HEALTHY.upstreams.local, ...fields } },
});
const withConsoleClient = (authMethod: string) => ({
  ...HEALTHY,
  oidc: {
    issuer: "https://login.test",
    audience: ["laneway"],
    console: { clientId: "console", secret: { env: "OIDC_SECRET" }, authMethod, url: "https://gateway.test/console" },
  },
});
/** The port of a server whose certificate nobody trusts. */
const read = (name: string) => Deno.readTextFileSync(new URL(`../platform/tls/${name}`, import.meta.url));
const missing = () => {
  throw Object.assign(new Error("gone"), { code: "ENOENT" });
};

/** What is broken, and what the doctor must call it; the words are those that lead a person to the fault. */
const SABOTAGES: [name: string, sabotage: Sabotage, check: string, words: RegExp][] = [
  [
    "the file is gone",
    { env: { LANEWAY_CONFIG: "gone.json" }, platform: { readText: missing } },
    "configuration-missing",
    /No such file/,
  ],
  [
    "the issuer of tokens calls itself by another name",
    {
      config: { ...HEALTHY, oidc: { issuer: "https://login.test/", audience: ["laneway"] } },
      answer: (url, ...call) =>
        url.hostname === "login.test" ? Response.json({ issuer: "https://login.test" }) : healthy(url, ...call),
    },
    "issuer-unusable",
    /belongs to another issuer/,
  ],
  [
    "the variable of the console's client at the provider is not set",
    { config: withConsoleClient("client_secret_post") },
    "oidc-secret-unusable",
    /"oidc.console" is not set/,
  ],
  [
    "the console's client at the provider has a password where a private key is expected",
    { config: withConsoleClient("private_key_jwt"), env: { OIDC_SECRET: "a password", LOCAL_TOKEN: SECRET } },
    "oidc-secret-unusable",
    /no private key as JWK or PEM/,
  ],
  ["the file is no JSON", { config: '{\n  "lanes": {,}\n}' }, "configuration-syntax", /line 2, column 13/],
  ["a setting is misspelt", { config: { ...HEALTHY, upstream: {} } }, "setting-unknown", /upstreams/],
  [
    "a lane names no upstream",
    { config: { ...HEALTHY, lanes: { oss: { upstreams: { chat: "locl" } } } } },
    "reference-broken",
    /did you mean "local"/,
  ],
  [
    "a key's variable is not set",
    { config: { ...HEALTHY, keys: [{ name: "me", secret: { env: "MY_KEY" } }] } },
    "variable-missing",
    /MY_KEY/,
  ],
  [
    "it listens for all without keys",
    { config: { ...HEALTHY, listen: { hostname: "0.0.0.0" } } },
    "open-to-others",
    /without keys/,
  ],
  [
    "the sealing key is short",
    { config: { ...HEALTHY, sealing: { key: { env: "SEAL" } } }, env: { SEAL: "short", LOCAL_TOKEN: SECRET } },
    "sealing-key-short",
    /SEAL/,
  ],
  ["the secret is not set", { env: {} }, "secret-missing", /LOCAL_TOKEN/],
  ["the secret has a line end", { env: { LOCAL_TOKEN: `${SECRET}\n` } }, "secret-malformed", /LOCAL_TOKEN/],
  ["the secret has quotation marks", { env: { LOCAL_TOKEN: `"${SECRET}"` } }, "secret-malformed", /quotation marks/],
  [
    "the secret is refused",
    { answer: but("models", () => failing(401, `bad key ${SECRET}`)) },
    "secret-refused",
    /refuses the secret/,
  ],
  [
    "only models refuse the secret",
    { answer: but("all", () => failing(401, `bad key ${SECRET}`)) },
    "secret-refused",
    /refuses the secret/,
  ],
  [
    "a secret is wanted and none is set",
    { config: upstream({ secret: undefined }), answer: () => failing(401, "no key") },
    "secret-needed",
    /requires a secret/,
  ],
  [
    "the host is misspelt",
    { config: upstream({ baseUrl: "http://laneway-no-such-host.invalid/v1" }) },
    "host-unknown",
    /invalid/,
  ],
  [
    "nothing listens",
    { config: upstream({ baseUrl: "http://127.0.0.1:1999/v1" }) },
    "connection-refused",
    /127\.0\.0\.1:1999/,
  ],
  [
    "the server is silent",
    { answer: but("models", () => Promise.reject(new DOMException("late", "TimeoutError"))) },
    "silent",
    /in time/,
  ],
  [
    "a sign-in page answers",
    { answer: but("models", () => new Response("<html>Sign in", { headers: { "content-type": "text/html" } })) },
    "not-an-api",
    /web page/,
  ],
  [
    "the base URL lacks /v1",
    {
      config: upstream({ baseUrl: "http://server.test" }),
      answer: (url, ...rest) => url.pathname.startsWith("/v1/") ? healthy(url, ...rest) : failing(404, "none"),
    },
    "base-url-path",
    /http:\/\/server\.test\/v1"/,
  ],
  [
    "the base URL ends in an endpoint",
    { config: upstream({ baseUrl: "http://server.test/v1/chat/completions" }), answer: () => failing(404, "none") },
    "base-url-path",
    /http:\/\/server\.test\/v1"/,
  ],
  [
    "the server redirects",
    {
      answer: but(
        "models",
        () => new Response(null, { status: 308, headers: { location: "https://new.test/v1/models" } }),
      ),
    },
    "redirected",
    /https:\/\/new\.test/,
  ],
  ["the server has no model", { answer: but("models", () => Response.json({ data: [] })) }, "no-models", /no model/],
  ["the server fails at its list", { answer: but("models", () => failing(500, "no cache")) }, "list-failing", /500/],
  ["a proxy finds no server", { answer: () => new Response("Bad gateway", { status: 502 }) }, "server-failing", /502/],
  ["the account is empty", { answer: but("all", () => failing(402, "pay")) }, "billing", /requires payment/],
  [
    "the clock is wrong",
    {
      answer: but(
        "models",
        () => Response.json({ data: [{ id: "m" }] }, { headers: { date: "Tue, 01 Jan 2030 00:00:00 GMT" } }),
      ),
    },
    "clock-skew",
    /seconds apart/,
  ],
  [
    "the model's name is wrong",
    { answer: but("all", () => failing(404, "The model `org/glm` does not exist", { code: "model_not_found" })) },
    "model-missing",
    /org\/glm/,
  ],
  ["the model crashes", { answer: but("all", () => failing(500, "CUDA error")) }, "model-failing", /It fails/],
  [
    "the stream breaks off",
    { answer: but("stream", () => sse('data: {"id":"1","choices":[{"index":0,"delta":{"content":"p"}}]}\n\n')) },
    "stream-broken",
    /stream/,
  ],
  [
    "tools are refused",
    { answer: but("tools", () => failing(400, '"auto" tool choice requires an option')) },
    "tools-refused",
    /requires an option/,
  ],
  [
    "the model's template has no place for system messages",
    {
      answer: but(
        "all",
        (url, body, headers) =>
          (body.messages as { role: string }[]).some(({ role }) => role === "system")
            ? failing(400, "System role not supported")
            : healthy(url, body, headers),
      ),
    },
    "instructions-refused",
    /System role not supported/,
  ],
  [
    "the connection is lost at a request with a system message",
    {
      answer: but("all", (url, body, headers) => {
        if ((body.messages as { role: string }[]).some(({ role }) => role === "system")) throw new TypeError("reset");
        return healthy(url, body, headers);
      }),
    },
    "connection-lost",
    /was lost before an answer/,
  ],
  [
    "tools are ignored",
    { answer: but("tools", () => message({ content: "It is noon." })) },
    "tools-unused",
    /not call a tool/,
  ],
  [
    "tool calls are text",
    { answer: but("tools", () => message({ content: 'I look.\n<tool_call>{"name":"get_time"}</tool_call>' })) },
    "tools-as-text",
    /textForms/,
  ],
  [
    "reasoning is text",
    {
      answer: but(
        "all",
        (url, body, headers) =>
          body.reasoning_effort ? message({ content: "<think>Hm</think>5" }) : healthy(url, body, headers),
      ),
    },
    "reasoning-as-text",
    /textForms/,
  ],
  [
    "the schema is ignored",
    { answer: but("response_format", () => message({ content: "Five." })) },
    "structure-ignored",
    /instruct/,
  ],
  [
    "a permission is missing",
    { platform: { isGranted: (one) => one.name !== "net" } },
    "permission-missing",
    /server\.test/,
  ],
  ["few files can be opened", { free: 100 }, "descriptors-few", /ulimit/],
  [
    "documents are wanted of the compiled program",
    { config: { ...HEALTHY, documents: {} }, platform: { executable: "/usr/bin/laneway" } },
    "documents-unread",
    /text.*no fetcher runs.*hostedTools\.webFetch/,
  ],
  [
    "documents are wanted on Deno Deploy",
    { config: { ...HEALTHY, documents: {} }, env: { LOCAL_TOKEN: SECRET, DENO_DEPLOY: "1" } },
    "documents-unread",
    /no fetcher runs/,
  ],
  [
    "code is to run on Deno Deploy",
    { config: { ...HEALTHY, hostedTools: { codeExecution: {} } }, env: { LOCAL_TOKEN: SECRET, DENO_DEPLOY: "1" } },
    "code-not-run",
    /no interpreter runs.*launcher/,
  ],
  ["the store has no home", { config: { ...HEALTHY, store: {} } }, "store-in-memory", /store/],
  [
    "the store cannot be written",
    { config: { ...HEALTHY, store: { path: "/proc/laneway/store.sqlite3" } } },
    "store-unusable",
    /\/proc\/laneway/,
  ],
];

Deno.test("doctor: a list of models that never ends holds nothing up", async () => {
  const piece = new TextEncoder().encode("x".repeat(65_536));
  const endless = () => new Response(new ReadableStream({ pull: (controller) => controller.enqueue(piece) }));
  const findings = await findingsOf({ answer: but("models", endless) });
  assertEquals(problemsIn(findings), []);
  assertEquals(
    findings.find(({ check }) => check === "upstream")?.message,
    "It is reachable and lists no models (status 200)",
  );
});

Deno.test("doctor: what a server says steers no terminal", async () => {
  const findings = await findingsOf({
    answer: but("tools", () => failing(400, "no\u001b[2J tools\r\nNo problems found")),
  });
  assertStringIncludes(report(findings), "It fails with tools: no [2J tools No problems found\n");
});

for (const [name, sabotage, check, words] of SABOTAGES) {
  Deno.test(`doctor: ${name}: ${check}`, async () => {
    const findings = problemsIn(await findingsOf(sabotage));
    const found = findings.find((finding) => finding.check === check);
    if (!found) throw new Error(`${check} is not among ${JSON.stringify(findings)}`);
    assertMatch(`${found.subject}: ${found.message} ${found.cure}`, words);
    assert(found.cure, "there is a cure");
    assert(!JSON.stringify(findings).includes(SECRET), "no secret is shown");
  });
}

Deno.test("doctor: a server that fails at the list of its models is asked for them all the same", async () => {
  const findings = await findingsOf({ answer: but("models", () => failing(500, "no cache")) });
  assertEquals(problemsIn(findings).map(({ level, check }) => [level, check]), [["warning", "list-failing"]]);
  assertStringIncludes(findings.at(-1)!.message, "It answers, streams");
});

Deno.test("doctor: a certificate that nobody vouches for, and a server without TLS", async () => {
  const quiet = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const tls = Deno.serve({ ...quiet, key: read("server.key"), cert: read("server.pem") }, () => new Response());
  const plain = Deno.serve(quiet, () => new Response());
  try {
    const bad = await findingsOf({ config: upstream({ baseUrl: `https://localhost:${tls.addr.port}/v1` }) });
    assert(bad.some(({ check }) => check === "tls-untrusted"), JSON.stringify(bad));
    const none = await findingsOf({ config: upstream({ baseUrl: `https://127.0.0.1:${plain.addr.port}/v1` }) });
    assert(none.some(({ check }) => check === "tls-missing"), JSON.stringify(none));
    const odd = await findingsOf({ config: upstream({ baseUrl: `http://127.0.0.1:${tls.addr.port}/v1` }) });
    assert(odd.some(({ check }) => check === "not-http"), JSON.stringify(odd));
  } finally {
    await Promise.all([tls.shutdown(), plain.shutdown()]);
  }
});

Deno.test("doctor: another program has the port; a gateway has it", async () => {
  for (const [body, expected] of [[{ hello: 1 }, ["error", "port-taken"]], [{ lanes: ["oss"] }, ["ok", "port"]]]) {
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => Response.json(body));
    try {
      const findings = await findingsOf({ config: { ...HEALTHY, listen: { port: server.addr.port } } });
      const found = findings.find(({ subject }) => subject.startsWith("port "))!;
      assertEquals([found.level, found.check], expected);
    } finally {
      await server.shutdown();
    }
  }
});

Deno.test("doctor: as a program it exits with 1 and prints JSON where a used upstream lacks its secret, else with 0", async () => {
  await withFolder(async (cwd) => {
    await Deno.writeTextFile(`${cwd}/gateway.json`, JSON.stringify(HEALTHY));
    const bad = await runLaunched(["doctor", "--json", "--quick"], { cwd });
    const { errors, findings } = JSON.parse(bad.stdout);
    assertEquals([bad.code, errors > 0], [1, true], bad.stderr);
    assertStringIncludes(JSON.stringify(findings), "secret-missing");
    const sandbox = { upstreams: { own: { driver: "sandbox" } }, lanes: { oss: { upstreams: { chat: "own" } } } };
    await Deno.writeTextFile(`${cwd}/gateway.json`, JSON.stringify({ ...HEALTHY, ...sandbox }));
    const good = await runLaunched(["doctor"], { cwd });
    assertEquals(
      [good.code, good.stdout.trim().split("\n").at(-1)],
      [0, "No problems found"],
      good.stdout + good.stderr,
    );
    const wrong = await runLaunched(["doctor", "--fast"], { cwd });
    assertEquals(wrong.code, 2);
  });
});

/** What the doctor says of a client that was connected to that address, and whose settings read so now. */
async function clientFindings(to: string, now: string | undefined): Promise<Finding[]> {
  const home = await Deno.makeTempDir();
  try {
    const path = `${home}/.claude/settings.json`;
    const folder = `${home}/.local/share/laneway/connect`;
    await Deno.mkdir(folder, { recursive: true });
    await Deno.mkdir(`${home}/.claude`);
    const settings = [{ at: ["env", "ANTHROPIC_BASE_URL"], value: to }];
    const file = { path, format: "json", settings, after: `{"env":{"ANTHROPIC_BASE_URL":"${to}"}}`, folders: [] };
    const receipt = { version: 1, client: "claude-code", to, files: [file] };
    await Deno.writeTextFile(`${folder}/claude-code.json`, JSON.stringify(receipt));
    if (now !== undefined) await Deno.writeTextFile(path, now);
    const config = { ...HEALTHY, listen: { port: 8123 } };
    const findings = await findingsOf({ config, env: { LOCAL_TOKEN: SECRET, HOME: home } });
    return findings.filter(({ subject }) => subject.startsWith("client "));
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

Deno.test("doctor: clients that were connected still call this gateway, or are named", async () => {
  const own = "http://127.0.0.1:8123/oss";
  const settings = (url: string) => JSON.stringify({ env: { ANTHROPIC_BASE_URL: url }, theme: "dark" });
  const cases: [to: string, now: string | undefined, check: string, words: RegExp][] = [
    [own, settings(own), "client", /It calls http:\/\/127\.0\.0\.1:8123\/oss/],
    ["https://gateway.test/team", settings("https://gateway.test/team"), "client", /gateway\.test/],
    ["http://127.0.0.1:9999/oss", settings("http://127.0.0.1:9999/oss"), "client-elsewhere", /listens on port 8123/],
    ["http://localhost:8123/gone", settings("http://localhost:8123/gone"), "client-elsewhere", /no lane "gone"/],
    [own, settings("https://elsewhere.test"), "client-changed", /have changed since/],
    [own, undefined, "client-changed", /have changed since/],
    [own, "{", "client-unreadable", /settings\.json/],
  ];
  for (const [to, now, check, words] of cases) {
    const [finding, ...others] = await clientFindings(to, now);
    assertEquals([finding?.check, others], [check, []]);
    assertMatch(finding!.message, words);
  }
});

Deno.test("doctor: asks a server for its models as the gateway does, with the secret in its header and the query", async () => {
  for (
    const [fields, header, search] of [
      [{ driver: "messages" }, "x-api-key", ""],
      [
        { secret: { env: "LOCAL_TOKEN", header: "api-key" }, baseUrl: "http://server.test/openai?api-version=1" },
        "api-key",
        "?api-version=1",
      ],
    ] as const
  ) {
    const listed: [Headers, string][] = [];
    const answer = but("models", (url, body, headers) => {
      listed.push([headers, url.search]);
      return healthy(url, body, headers);
    });
    await findingsOf({ config: upstream(fields), answer });
    const [[headers, query] = []] = listed;
    assertEquals([headers?.get(header), headers?.get("authorization"), query], [SECRET, null, search]);
    assertEquals(headers?.get("anthropic-version"), "2023-06-01");
  }
  const refused = await findingsOf({
    config: upstream({ driver: "messages" }),
    answer: () => failing(401, "no"),
  });
  assertMatch(problemsIn(refused)[0]!.cure!, /another header than x-api-key, set "header"/);
});

/** The README's configuration of a local server. */
const LOCAL = {
  extends: "default",
  listen: { port: 0 },
  store: { kind: "memory" },
  upstreams: { ollama: { driver: "chat", baseUrl: "http://server.test/v1", reasoningField: "reasoning" } },
  lanes: {
    oss: { models: { qwen: { task: "chat", targets: [{ upstream: "ollama", model: "org/glm" }] } } },
    local: { upstreams: { chat: "ollama" } },
  },
};

Deno.test("doctor: what the built-in configuration has and nobody has set up is a note, and is not called", async () => {
  const findings = await findingsOf({ config: LOCAL, env: {} });
  assertEquals(problemsIn(findings).map(({ level, subject, check }) => [level, subject, check]), [
    ["note", 'upstream "router"', "secret-missing"],
    ["note", 'upstream "hub"', "secret-missing"],
  ]);
  assertMatch(problemsIn(findings)[0]!.cure!, /export HF_TOKEN=/);
  assert(findings.some(({ level, subject }) => level === "ok" && subject === 'model "qwen" of lane "oss"'));
  assertMatch(report(findings), /\nNo problems found\n?$/);
});

Deno.test("doctor: a missing secret is an error where the file has the upstream, or where the models are asked for", async () => {
  const own = { ...LOCAL, upstreams: { ...LOCAL.upstreams, router: { refuses: [] } } };
  const levelOf = async (sabotage: Sabotage) =>
    problemsIn(await findingsOf(sabotage)).find(({ subject, check }) =>
      subject === 'upstream "router"' && check === "secret-missing"
    )?.level;
  assertEquals(await levelOf({ config: own, env: {} }), "error");
  assertEquals(await levelOf({ config: LOCAL, env: {}, only: { model: "glm-5.3" } }), "error");
  assertEquals(await levelOf({ config: LOCAL, env: {}, only: { lane: "hf" } }), "error");
  assertEquals(await levelOf({ config: LOCAL, env: {} }), "note");
});

/** An upstream of a provider, whose service answers at the paths below its host. */
function withProvider(
  name: string,
  statuses: Record<string, number>,
  env: Record<string, string>,
  more: object = {},
): Promise<Finding[]> {
  const config = {
    ...HEALTHY,
    upstreams: { paid: { provider: name, ...more } },
    lanes: { oss: { upstreams: { chat: "paid" } } },
  };
  const fetch = (input: string | URL | Request, init?: RequestInit) => {
    const { url } = new Request(input, init);
    const [, status = 404] = Object.entries(statuses).find(([path]) => url.endsWith(path)) ?? [];
    asked.push(url);
    return Promise.resolve(Response.json({ data: [{ id: "m" }] }, { status }));
  };
  asked.length = 0;
  return findingsOf({ config, env, platform: { fetch: fetch as typeof globalThis.fetch } });
}

const asked: string[] = [];
const aboutPaid = (findings: Finding[]) => findings.filter(({ subject }) => subject === 'upstream "paid"');

Deno.test("doctor: a provider's key is checked by the list of its models, and the cure names its page", async () => {
  const [finding] = aboutPaid(await withProvider("groq", { "/models": 401 }, { GROQ_API_KEY: "a-wrong-key" }));
  assertEquals([finding!.level, finding!.check], ["error", "secret-refused"]);
  assertStringIncludes(finding!.cure!, "https://console.groq.com/keys");
  assertEquals(asked, ["https://api.groq.com/openai/v1/models"]);
});

Deno.test("doctor: where the list of models needs no key, the key is checked by its own path, or not said to be valid", async () => {
  const key = { OPENROUTER_API_KEY: "a-wrong-key", NOVITA_API_KEY: "a-wrong-key" };
  const refused = aboutPaid(await withProvider("openrouter", { "/models": 200, "/key": 401 }, key));
  assertEquals(refused.map(({ check }) => check), ["secret-refused"]);
  const fine = aboutPaid(await withProvider("openrouter", { "/models": 200, "/key": 200 }, key));
  assertEquals(fine.map(({ message }) => message), ["It is reachable and lists 1 model"]);
  const open = aboutPaid(await withProvider("novita", { "/models": 200 }, key));
  assertEquals(open.map(({ message }) => message), [
    "It is reachable and lists 1 model; its list needs no key, so this says nothing about yours",
  ]);
});

Deno.test("doctor: a provider without a list of models is not sent to another path of its host", async () => {
  const key = { DEEPSEEK_API_KEY: "a-key-of-the-user" };
  const found = aboutPaid(await withProvider("deepseek", { ".com/v1/models": 200 }, key, { driver: "messages" }));
  assertEquals(found.map(({ message }) => message), ["It is reachable and lists no models (status 404)"]);
});

Deno.test("doctor: a file that holds no secret is named", async () => {
  const upstreams = { local: { ...HEALTHY.upstreams.local, secret: { file: "/run/token" } } };
  const readText = (path: string) => path === "/run/token" ? "\n" : JSON.stringify({ ...HEALTHY, upstreams });
  const found = (await findingsOf({ platform: { readText } })).find(({ check }) => check === "secret-missing");
  assertEquals(found?.message, "/run/token holds no secret, so requests to it get 503");
});
