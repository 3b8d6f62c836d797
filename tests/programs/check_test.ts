/** The command `check`: Laneway meets every requirement, and each is one that a broken server fails. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { cases, checkedWires, scriptedCases } from "../../plugins/programs/conformance/mod.ts";
import { type CheckResult, junit, markdown } from "../../src/programs/check/report.ts";
import { check } from "../../src/programs/check/run.ts";
import { serveUpstream } from "../../src/programs/check/mod.ts";
import { type ConfigInput, newApp } from "../support/app.ts";
import { runLaunched, withFolder, withLaunched } from "../support/process.ts";

const WIRES = checkedWires.map(({ name }) => name);

type Change = (text: string, request: Request) => string;

interface Served {
  url: string;
  app: ReturnType<typeof newApp>;
}

/** A gateway on a port; `change` spoils what it answers. */
async function withGateway(config: ConfigInput, change: Change | undefined, use: (served: Served) => Promise<void>) {
  const app = newApp({ config, fetch, now: Date.now });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, onError: () => new Response(null) },
    async (request, info) => {
      const response = await app.fetch(request, info);
      return change ? new Response(change(await response.text(), request), response) : response;
    },
  );
  try {
    await use({ url: `http://127.0.0.1:${server.addr.port}/oss`, app });
  } finally {
    await server.shutdown();
    await app.close();
  }
}

const lane = (upstream: string, model: string) => ({
  oss: { models: { small: { task: "chat" as const, targets: [{ upstream, model }] } } },
});
const SANDBOX: ConfigInput = { upstreams: { sandbox: { driver: "sandbox" } }, lanes: lane("sandbox", "sandbox") };

const checking = (url: string, wires: readonly string[] = WIRES) => ({
  baseUrl: url,
  model: "small",
  wires,
  patienceMs: 20_000,
});

function failedOf(results: readonly CheckResult[]): string[] {
  return results.filter(({ state }) => state === "failed").map(({ wire, id, reasons }) => `${wire} ${id}: ${reasons}`);
}

Deno.test("check: the gateway meets every requirement on its three wires", () =>
  withGateway(SANDBOX, undefined, async ({ url }) => {
    const results = await check(checking(url));
    assertEquals(results.length, WIRES.length * cases.length);
    assertEquals(
      results.filter(({ state }) => state !== "passed").map(({ wire, id, reasons }) => [wire, id, reasons]),
      [],
    );
  }));

Deno.test("check: with the kit behind it, the gateway meets every requirement on its three wires", async () => {
  const upstream = await serveUpstream(0, "scripted");
  const config: ConfigInput = {
    upstreams: { kit: { driver: "chat", baseUrl: upstream.url } },
    lanes: lane("kit", "scripted"),
    retry: { rounds: 1 },
  };
  try {
    await withGateway(config, undefined, async ({ url }) => {
      const results = await check({ ...checking(url), upstream });
      assertEquals(results.length, WIRES.length * scriptedCases.length);
      assertEquals(
        results.filter(({ state }) => state !== "passed").map(({ wire, id, reasons }) => [wire, id, reasons]),
        [],
      );
    });
  } finally {
    await upstream.close();
  }
});

/** Faults of real servers, and the requirements that each of them fails. */
const FAULTS: { fault: string; wire: string; change: Change; fails: string[] }[] = [
  {
    fault: "a stream without its end",
    wire: "chat",
    change: (text) => text.replace("data: [DONE]\n\n", ""),
    fails: ["stream", "tool-call-streamed", "unicode", "together"],
  },
  {
    fault: "a stream without its end",
    wire: "messages",
    change: (text) => text.replace(/event: message_stop[^]*$/, ""),
    fails: ["stream", "tool-call-streamed", "unicode", "together"],
  },
  {
    fault: "a stream without its end",
    wire: "responses",
    change: (text) => text.replace(/event: response\.(completed|incomplete)[^]*$/, ""),
    fails: ["stream", "usage", "tool-call-streamed", "unicode", "together"],
  },
  {
    fault: "events without a number",
    wire: "responses",
    change: (text) => text.replaceAll(/"sequence_number":\d+,?/g, ""),
    fails: ["stream", "tool-call-streamed", "unicode", "together"],
  },
  {
    fault: "no usage",
    wire: "chat",
    change: (text) => text.replaceAll(/"(prompt|completion)_tokens":\d+/g, '"$1_tokens":0'),
    fails: ["usage"],
  },
  {
    fault: "calls without an id",
    wire: "chat",
    change: (text) => text.replaceAll(/"id":"call_[^"]*"/g, '"id":""'),
    fails: ["tool-call", "tool-call-streamed"],
  },
  {
    fault: "arguments that are no JSON",
    wire: "chat",
    change: (text) => text.replaceAll('"arguments":"{', '"arguments":"{,'),
    fails: ["tool-call", "tool-call-streamed"],
  },
  {
    fault: "calls that end the answer as text",
    wire: "messages",
    change: (text) => text.replaceAll('"stop_reason":"tool_use"', '"stop_reason":"end_turn"'),
    fails: ["tool-call", "tool-call-streamed"],
  },
  {
    fault: "an answer cut at its limit that says it is whole",
    wire: "messages",
    change: (text) => text.replaceAll('"stop_reason":"max_tokens"', '"stop_reason":"end_turn"'),
    fails: ["length"],
  },
  {
    fault: "blocks that are not ended",
    wire: "messages",
    change: (text) => text.replaceAll(/event: content_block_stop\ndata: .*\n\n/g, ""),
    fails: ["stream", "tool-call-streamed", "unicode", "together"],
  },
  {
    fault: "errors of another wire",
    wire: "messages",
    change: (text) => text.replace('{"type":"error",', "{"),
    fails: ["unknown-model", "broken-json", "missing-field", "wrong-type"],
  },
  {
    fault: "errors without a message",
    wire: "responses",
    change: (text) => text.replace(/"message":"[^"]*"/, '"message":""').replace("no-such-model-of-anybody", "x"),
    fails: ["unknown-model", "broken-json", "missing-field", "wrong-type"],
  },
];

for (const { fault, wire, change, fails } of FAULTS) {
  Deno.test(`check: ${fault} on ${wire} is found`, () =>
    withGateway(SANDBOX, change, async ({ url }) => {
      const failed = (await check(checking(url, [wire]))).filter(({ state }) => state === "failed");
      assertEquals(failed.map(({ id }) => id).filter((id) => !fails.includes(id) && id !== "tool-turn"), []);
      for (const id of fails) {
        assert(failed.some((one) => one.id === id), `${id} passes: ${failedOf(failed).join("\n")}`);
      }
    }));
}

Deno.test("check: a gateway that makes a cut stream whole, and merges calls, is found", async () => {
  const upstream = await serveUpstream(0, "scripted");
  const config: ConfigInput = {
    upstreams: { kit: { driver: "chat", baseUrl: upstream.url } },
    lanes: lane("kit", "scripted"),
    retry: { rounds: 1 },
  };
  // What is known of peers: an end for every stream, one index for all calls, no reasoning.
  const spoil: Change = (text) => {
    const merged = text.replaceAll('"index":1,"function"', '"index":0,"function"').replaceAll(
      /"reasoning(_content)?":"[^"]*",?/g,
      "",
    );
    if (!merged.includes('data: {"error"')) return merged;
    const end = { id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
    return merged.replace(/data: {"error"[^]*$/, `data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`);
  };
  try {
    await withGateway(config, spoil, async ({ url }) => {
      const failed = failedOf(await check({ ...checking(url, ["chat"]), upstream })).map((text) => text.split(":")[0]);
      for (const id of ["parallel-calls", "cut-stream", "reasoning-comes-back"]) {
        assert(failed.includes(`chat ${id}`), id);
      }
    });
  } finally {
    await upstream.close();
  }
});

Deno.test("check: what is no server of the wire fails, and the kit goes on", async () => {
  const bodies = [
    "",
    "<html>",
    "null",
    "[]",
    '{"choices": 5}',
    "data: {}\n\n",
    "data: \n\ndata: 5\n\n",
    "\u0000\ud800",
  ];
  for (const body of bodies) {
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => new Response(body));
    const results = await check(checking(`http://127.0.0.1:${server.addr.port}`));
    assertEquals(results.filter(({ state }) => state === "passed").map(({ id }) => id), []);
    await server.shutdown();
  }
  const results = await check(checking("http://127.0.0.1:9"));
  assertEquals(results.filter(({ state }) => state === "passed").map(({ id }) => id), []);
});

Deno.test("check: of a refusal the reason is told once, in the server's own words", async () => {
  // As a server was seen to answer whose model's template took no system messages.
  const refuse = () => Response.json({ error: { message: "can only concatenate str", type: "x" } }, { status: 400 });
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, refuse);
  const results = await check(checking(`http://127.0.0.1:${server.addr.port}`));
  await server.shutdown();
  for (const wire of WIRES) {
    for (const id of ["whole", "stream", "usage", "instructions"]) {
      const found = results.find((one) => one.wire === wire && one.id === id)!;
      assertEquals(found.reasons, ["The status is 400, not 200: can only concatenate str"], `${wire} ${id}`);
    }
  }
});

Deno.test("check: the reports hold whatever a server sends", () => {
  const reasons = ['<script>"&\u0000 |\n\ud800'];
  const result = { wire: "chat", id: "whole", requirement: "a | b", state: "failed" as const, reasons, seconds: 0.5 };
  const xml = junit("http://x/?a=1&b=2", [result]);
  assertStringIncludes(xml, "&lt;script>&quot;&amp; | \ufffd");
  assertStringIncludes(xml, 'name="http://x/?a=1&amp;b=2" tests="1" failures="1" skipped="0"');
  const text = markdown("http://x", "m", [result]);
  assertStringIncludes(text, "| ❌ | a \\| b | `whole` |");
  assert(!text.includes("<script>"));
});

Deno.test("check: the command runs with what it needs, writes its reports and ends with 1 where something fails", () =>
  withFolder(async (folder) => {
    const config = `${folder}/gateway.json`;
    await Deno.writeTextFile(config, JSON.stringify({ ...SANDBOX, store: { kind: "memory" } }));
    await withLaunched(["--config", config], { cwd: folder }, async ({ url }) => {
      const args = [
        "check",
        `${url}/oss/v1`,
        "--model",
        "small",
        "--wire",
        "chat",
        "--junit",
        "r.xml",
        "--markdown",
        "r.md",
      ];
      const { code, stdout, stderr } = await runLaunched(args, { cwd: folder });
      assertEquals(code, 0, stdout + stderr);
      assertStringIncludes(stdout, `${cases.length} passed, 0 failed, 0 skipped`);
      assertStringIncludes(await Deno.readTextFile(`${folder}/r.xml`), `tests="${cases.length}" failures="0"`);
      assertStringIncludes(await Deno.readTextFile(`${folder}/r.md`), `# Conformance of ${url}/oss`);
      const wrong = await runLaunched(["check", `${url}/oss`, "--model", "none", "--wire", "chat"], { cwd: folder });
      assertEquals([wrong.code, wrong.stdout], [1, ""]);
      assertMatch(wrong.stderr, /^The server refuses every request\. The status is 404, .*"none" in lane "oss".*\n$/);
      assertEquals((await runLaunched(["check", "--model", "x"], { cwd: folder })).code, 2);
      const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const host = `127.0.0.1:${taken.addr.port}`;
      taken.close();
      const nobody = await runLaunched(["check", `http://${host}`, "--model", "x"], { cwd: folder });
      assertEquals(nobody, { code: 1, stdout: "", stderr: `Nothing is listening at ${host}\n` });
    });
  }));

Deno.test("check: a key that the server repeats is in no result", async () => {
  const key = "key-of-the-server-4711";
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ headers }) =>
      Response.json({ error: { message: headers.get("authorization"), type: "denied" } }, { status: 403 }),
  );
  const results = await check({ ...checking(`http://127.0.0.1:${server.addr.port}`), key });
  await server.shutdown();
  assert(results.some(({ reasons }) => reasons.join().includes("***")));
  assert(!JSON.stringify(results).includes(key));
});

Deno.test("check: the key goes into the named header alone, and the query follows every path", async () => {
  const seen = new Set<string>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ headers, url }) => {
    const keyed = [...headers].filter(([, value]) => value.includes("key-4711")).map(([name]) => name);
    seen.add(`${keyed.join()} ${new URL(url).search}`);
    return Response.json({ error: { message: "no", type: "denied" } }, { status: 403 });
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const { stderr } = await runLaunched(
    ["check", `${url}/openai/v1?api-version=1`, "--model", "m", "--key-env", "KEY", "--key-header", "Api-Key"],
    { cwd: Deno.cwd(), env: { KEY: "key-4711" } },
  );
  await check({ ...checking(`${url}/openai`), query: "api-version=1", key: "key-4711", keyHeader: "api-key" });
  await server.shutdown();
  assertStringIncludes(stderr, "The server refuses every request");
  assertEquals([...seen].sort(), [" ?api-version=1", "api-key ?api-version=1"]);
});
