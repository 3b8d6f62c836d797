/** Requests as programs: whatever is in them, the programs send the same. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { curlOf } from "../../src/console/curl.js";
import { programOf } from "../../src/console/request_code.js";
import { newApp } from "../support/app.ts";

type Headers = [string, string][];
const KEY = "the-key";
const { data: libraries } = await (await newApp().get("/console/api/libraries")).json();

function requestOf(url: string, body: unknown, headers: Headers = [["authorization", "Bearer ***"]]) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const bytes = new TextEncoder().encode(text).length;
  return { method: "POST", url, headers, body: { text, bytes, kept: bytes } };
}
const OPTIONS = { variable: "LANEWAY_KEY", isOwnKey: true, libraries };

const HOSTILE = [
  "",
  'it\'s "$HOME" `id` $(id) ${id} \\ \\n % {x}',
  "'''\"\"\"*/ //  # --><script>",
  "\u2028\u2029\u0000\u007f\r\n\t\u202e\u200b\ufeff",
  "BODY\nBODY_\nEOF",
  "😀\u{e0041}é",
  "__proto__",
  "constructor",
  "None",
  "class",
  "a b",
];
/** Characters by which a program could look other than it is. */
const HIDDEN = /[\u202a-\u202e\u200b\u2028\u2029\ufeff]/;
const texts = fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: "binary", maxLength: 20 }));
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    texts,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value === 0 ? 0 : value),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.array(fc.tuple(texts, tie("json")), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
}));
// Libraries look into these.
const messages = fc.array(fc.record({ role: texts, content: json, own: json }), { maxLength: 3 });
const tools = fc.array(fc.record({ type: texts, name: texts, parameters: json }), { maxLength: 3 });
const bodies = fc.record({ model: texts, messages, input: json, tools, stream: fc.boolean(), own: json })
  .chain((known) =>
    fc.array(fc.tuple(texts, json), { maxLength: 3 }).map((more) => ({ ...Object.fromEntries(more), ...known }))
  );
const PATHS = ["v1/chat/completions", "v1/messages?beta=true", "v1/responses", "v1/embeddings", "v2/rerank"];
const CASES = fc.sample(fc.tuple(fc.constantFrom(...PATHS), bodies), { numRuns: 150, seed: 38 }).map((
  [path, body],
) => ({
  url: `http://gateway.test/oss/${path}`,
  // What a reader of JSON makes of it.
  body: JSON.parse(JSON.stringify(body)),
}));

/** Runs programs with libraries that only write down what they are given, and are as strict about its fields. */
const RUNNER = `
import json, os, sys, types

sent = []

class Answer:
    status_code, text, output_text, content, choices = 200, "", "", [], []
    def __iter__(self): return iter([])
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def iter_lines(self): return []

class Choice:
    class message: content = ""
Answer.choices = [Choice]

def method(path, fields):
    def create(*, extra_body=None, extra_headers=None, extra_query=None, **known):
        assert set(known) <= set(fields), set(known) - set(fields)
        sent.append({"body": {**known, **(extra_body or {})}, "path": path, "headers": extra_headers or {}, "query": extra_query or {}})
        return Answer()
    return create

class Place: pass

def client(calls):
    class Client:
        def __init__(self, base_url, api_key, timeout=None):
            self.base, self.key = base_url, api_key
            for call, path, fields in calls:
                at = self
                *places, name = call.split(".")[1:]
                for place in places:
                    if not hasattr(at, place): setattr(at, place, Place())
                    at = getattr(at, place)
                setattr(at, name, method(base_url + path, fields))
    return Client

programs, libraries = json.load(sys.stdin)
calls = {}
for one in libraries:
    _, module, _, name = one["python"]["import"].split()
    calls.setdefault((module, name), []).append((one["python"]["call"], one["path"], one["fields"]))
for (module, name), own in calls.items():
    sys.modules[module] = types.SimpleNamespace(**{name: client(own)})

def request(method, url, headers=None, json=None, content=None, timeout=None):
    sent.append({"body": json, "content": content, "path": url, "headers": headers, "query": {}})
    return Answer()

sys.modules["httpx"] = types.SimpleNamespace(request=request, stream=request)
for program in programs:
    exec(compile(program, "program", "exec"), {})
sys.stderr.write(json.dumps(sent))
`;

interface Sent {
  body: unknown;
  content?: string;
  path: string;
  headers: Record<string, string>;
  query: Record<string, string>;
}

async function runPython(programs: readonly string[]): Promise<{ sent: Sent[]; text: string }> {
  const child = new Deno.Command("python3", {
    args: ["-c", RUNNER],
    env: { LANEWAY_KEY: KEY },
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify([programs, libraries])));
  await writer.close();
  const { stderr, success } = await child.output();
  const text = new TextDecoder().decode(stderr);
  assert(success, text);
  return { sent: JSON.parse(text), text };
}

const has = async (program: string) => {
  try {
    return (await new Deno.Command(program, { args: ["-c", ""] }).output()).success;
  } catch {
    return false;
  }
};
const hasPython = await has("python3");
const withoutPython = hasPython ? "" : " (skipped: no python3 on this machine)";

Deno.test({
  name: `as code: programs in Python send the same JSON${withoutPython}`,
  ignore: !hasPython,
  async fn() {
    const programs = CASES.map(({ url, body }) => programOf("python", requestOf(url, body), OPTIONS));
    for (const program of programs) assert(!HIDDEN.test(program), "A character that nobody sees is in a program");
    const { sent } = await runPython(programs);
    for (const [index, { url, body }] of CASES.entries()) {
      const { body: own, path, query } = sent[index]!;
      assertEquals(own, body, programs[index]);
      assertEquals(path, url.split("?")[0]);
      assertEquals(query, url.includes("?") ? { beta: "true" } : {});
    }
  },
});

Deno.test({
  name:
    `as code: Python keeps numbers that a browser would round, and what is nested too deep for its literals${withoutPython}`,
  ignore: !hasPython,
  async fn() {
    const deep = `${"[".repeat(300)}${"]".repeat(300)}`;
    const text = `{"model":"m","seed":12345678901234567890,"messages":[9007199254740993],"deep":${deep}}`;
    const { text: sent } = await runPython([
      programOf("python", requestOf("http://g/v1/chat/completions", text), OPTIONS),
    ]);
    for (const part of ["12345678901234567890", "[9007199254740993]", deep]) assertStringIncludes(sent, part);
  },
});

/** Runs a program in TypeScript before a server that writes down what it gets. */
async function runTypeScript(program: string): Promise<{ url: string; text: string; headers: globalThis.Headers }> {
  const source = program.replace('"@anthropic-ai/sdk"', '"anthropic-sdk"').replace("console.log(", "void (");
  const sent = Promise.withResolvers<{ url: string; text: string; headers: globalThis.Headers }>();
  const real = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const text = await request.text();
    sent.resolve({ url: request.url, text, headers: request.headers });
    const isStream = JSON.parse(text).stream === true;
    const answer = isStream ? "" : JSON.stringify({ choices: [], content: [], output: [] });
    return new Response(answer, { headers: { "content-type": isStream ? "text/event-stream" : "application/json" } });
  };
  try {
    await import(`data:application/typescript;charset=utf-8,${encodeURIComponent(source)}`);
    return await sent.promise;
  } finally {
    globalThis.fetch = real;
  }
}

Deno.test({
  name: "as code: programs in TypeScript send the same JSON, by the vendors' libraries where there are any",
  // The libraries keep what they opened.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    Deno.env.set("LANEWAY_KEY", KEY);
    for (const { url, body } of CASES.slice(0, 60)) {
      const program = programOf("typescript", requestOf(url, body), OPTIONS);
      assert(!HIDDEN.test(program), "A character that nobody sees is in a program");
      const { url: sentTo, text, headers } = await runTypeScript(program);
      assertEquals(JSON.parse(text), body, program);
      assertEquals(sentTo, url);
      assertEquals(headers.get("x-api-key") ?? headers.get("authorization")?.replace("Bearer ", ""), KEY);
    }
    const text = '{"model":"m","seed":12345678901234567890,"messages":[]}';
    const { text: sent } = await runTypeScript(
      programOf("typescript", requestOf("http://g/v1/chat/completions", text), OPTIONS),
    );
    assertStringIncludes(sent, '"seed":12345678901234567890');
  },
});

Deno.test("as code: lines for a shell send the same bytes", async () => {
  const long = { text: "é'".repeat(60_000) + "BODY" };
  const cases = [...CASES, { url: `http://gateway.test/o'ss/$(id)?a=*`, body: long }];
  const lines = cases.map(({ url, body }) =>
    curlOf(requestOf(url, body, [["x-own", HOSTILE[1]!], ["authorization", "Bearer ***"]]), "LANEWAY_KEY")
  );
  const script =
    `curl() { printf '%s\\0' "$@"; case "$*" in *"--data-binary @-") cat; printf '\\0' ;; esac; printf '\\0'; }\n${
      lines.join("\n")
    }\n`;
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, script);
  const { stdout, stderr } = await new Deno.Command("sh", { args: [file], env: { LANEWAY_KEY: KEY } }).output();
  await Deno.remove(file);
  assertEquals(new TextDecoder().decode(stderr), "");
  const sent = new TextDecoder().decode(stdout).split("\0\0").slice(0, -1).map((one) => one.split("\0"));
  assertEquals(sent.length, cases.length);
  for (const [index, { url, body }] of cases.entries()) {
    const words = sent[index]!;
    assertEquals(words.slice(0, 7), [
      "-X",
      "POST",
      url,
      "-H",
      `x-own: ${HOSTILE[1]}`,
      "-H",
      `authorization: Bearer ${KEY}`,
    ]);
    assertEquals(words.at(-1)!.replace(/\n$/, ""), JSON.stringify(body));
  }
});

Deno.test("as code: headers that change the answer go along, secrets and those of a client do not", () => {
  const headers: Headers = [
    ["user-agent", "agent/1.0"],
    ["content-type", "application/json"],
    ["x-api-key", "***"],
    ["x-laneway-explain", "it's"],
    ["anthropic-version", "2023-06-01"],
    ["anthropic-beta", "some"],
  ];
  const request = requestOf(
    "http://gateway.test/oss/v1/messages",
    { model: "m", messages: [], max_tokens: 1 },
    headers,
  );
  for (const language of ["python", "typescript"] as const) {
    const program = programOf(language, request, OPTIONS);
    for (const part of ["it's", "anthropic-beta", "LANEWAY_KEY"]) assertStringIncludes(program, part);
    for (const part of ["agent/1.0", "2023-06-01", "***"]) assert(!program.includes(part), part);
  }
});

Deno.test("as code: an upstream that takes its key elsewhere is called without a library", () => {
  const options = { variable: "UPSTREAM_KEY", isOwnKey: false, libraries };
  const url = "http://upstream.test/v1/chat/completions";
  const body = { model: "m", messages: [] };
  const own = programOf("python", requestOf(url, body, [["api-key", "***"]]), options);
  assertStringIncludes(own, "httpx.request");
  assertStringIncludes(own, `"api-key": os.environ["UPSTREAM_KEY"]`);
  assertStringIncludes(programOf("python", requestOf(url, body), options), 'OpenAI(base_url="http://upstream.test/v1"');
  const inAddress = programOf("typescript", requestOf(`${url}?key=***`, body), options);
  assertStringIncludes(inAddress, `"http://upstream.test/v1/chat/completions?key=" + process.env.UPSTREAM_KEY`);
});

Deno.test("as code: a body that is not whole is left out, and a comment says so", () => {
  const request = requestOf("http://gateway.test/oss/v1/chat/completions", { model: "m", messages: [] });
  request.body.kept = 5;
  for (const language of ["python", "typescript"] as const) {
    const program = programOf(language, request, OPTIONS);
    assertStringIncludes(program, "The body is left out");
    assert(!program.includes("messages"));
  }
});
