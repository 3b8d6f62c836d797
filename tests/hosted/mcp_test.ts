import { assertEquals, assertRejects } from "@std/assert";
import { createMcpHandler, McpServer } from "mcp-server";
import { z } from "zod";
import { maskerFor } from "../../src/context/secrets.ts";
import { GatewayError } from "../../src/errors.ts";
import { RemoteServer } from "../../src/hosted/mcp.ts";
import { fetchTransport } from "../../src/platform/fetch_transport.ts";
import type { Callee } from "../../src/upstream/send.ts";

type Serve = (request: Request) => Response | Promise<Response>;

/** A client of a server that answers in this process, and what it was sent. */
function clientOf(serve: Serve, now = () => 0) {
  const sent: { method: string; headers: Headers; id?: unknown }[] = [];
  const transport = fetchTransport(async (url, init) => {
    const request = new Request(url, init);
    const { method, id } = request.method === "DELETE" ? request : await request.clone().json();
    sent.push({ method, headers: request.headers, id });
    return await serve(request);
  });
  const service: Callee = {
    name: "docs",
    baseUrl: "http://docs.test",
    headers: {},
    secret: "token",
    resultsFrom: [],
    transport,
  };
  return { server: new RemoteServer({ service, path: "mcp", maskerFor, now }), sent };
}

/** The vendor's own server: an adder, and a tool that fails. */
function handlerOf(responseMode: "auto" | "sse" | "json", legacy: "stateless" | "reject" = "reject"): Serve {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "docs", version: "1.0.0" });
    server.registerTool(
      "add",
      {
        description: "Adds",
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        annotations: { readOnlyHint: true },
      },
      ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }),
    );
    server.registerTool(
      "fail",
      { inputSchema: z.object({}) },
      () => ({ content: [{ type: "text", text: "no" }], isError: true }),
    );
    return server;
  }, { responseMode, legacy });
  return (request) => handler.fetch(request);
}

const signal = new AbortController().signal;

for (const mode of ["json", "sse"] as const) {
  Deno.test(`mcp: the newer protocol needs no beginning (${mode})`, async () => {
    const { server, sent } = clientOf(handlerOf(mode));
    const tools = await server.list(signal);
    assertEquals(tools.map(({ name, description, annotations }) => [name, description, annotations?.readOnlyHint]), [
      ["add", "Adds", true],
      ["fail", undefined, undefined],
    ]);
    assertEquals(await server.call("add", '{"a":1,"b":2}', signal), {
      kind: "content",
      content: [{ type: "text", text: "3" }],
    });
    assertEquals(await server.call("fail", "{}", signal), {
      kind: "content",
      content: [{ type: "text", text: "no" }],
      isError: true,
    });
    assertEquals(sent.map(({ method, headers }) => [method, headers.get("mcp-method"), headers.get("mcp-name")]), [
      ["tools/list", "tools/list", null],
      ["tools/call", "tools/call", "add"],
      ["tools/call", "tools/call", "fail"],
    ]);
    assertEquals(new Set(sent.map(({ headers }) => headers.get("authorization"))), new Set(["Bearer token"]));
  });
}

/** A server of the older protocol, with sessions that `forget` ends. */
function olderServer(options: { inStream?: boolean; asks?: boolean } = {}) {
  let session = 0;
  let isOpen = false;
  const replies: unknown[] = [];
  const serve: Serve = async (request) => {
    const { method, id, params, result, error } = await request.json();
    if (request.headers.has("mcp-method") && !isOpen) return new Response("Bad Request: no session", { status: 400 });
    if (method === undefined) return replies.push(result ?? error), new Response(null, { status: 202 });
    if (method === "initialize") {
      isOpen = true;
      const body = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "old", version: "1" } };
      return Response.json({ jsonrpc: "2.0", id, result: body }, { headers: { "mcp-session-id": `s${++session}` } });
    }
    if (request.headers.get("mcp-session-id") !== `s${session}`) return new Response("no session", { status: 404 });
    if (id === undefined) return new Response(null, { status: 202 });
    const answer = {
      jsonrpc: "2.0",
      id,
      result: method === "tools/list"
        ? listFrom(params.cursor)
        : { content: [{ type: "text", text: `${params.name} ran` }] },
    };
    if (!options.inStream) return Response.json(answer);
    const before = options.asks
      ? [{ jsonrpc: "2.0", id: 99, method: "sampling/createMessage", params: {} }, {
        jsonrpc: "2.0",
        id: 98,
        method: "ping",
      }]
      : [];
    const frames = [{ jsonrpc: "2.0", method: "notifications/progress", params: {} }, ...before, answer];
    const text = frames.map((one) => `event: message\ndata: ${JSON.stringify(one)}\n\n`).join("");
    return new Response(text, { headers: { "content-type": "text/event-stream" } });
  };
  return { serve, forget: () => session++, replies, began: () => session };
}

function listFrom(cursor: string | undefined) {
  const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
  return cursor === undefined ? { tools: [tool("one")], nextCursor: "more" } : { tools: [tool("two")] };
}

for (const inStream of [false, true]) {
  Deno.test(`mcp: a server of the older protocol gets its beginning and its session (${inStream ? "stream" : "json"})`, async () => {
    const old = olderServer({ inStream });
    const { server, sent } = clientOf(old.serve);
    assertEquals((await server.list(signal)).map(({ name }) => name), ["one", "two"], "all pages of the list");
    assertEquals(await server.call("one", "{}", signal), {
      kind: "content",
      content: [{ type: "text", text: "one ran" }],
    });
    assertEquals(sent.map(({ method }) => method).slice(0, 4), [
      "tools/list",
      "initialize",
      "notifications/initialized",
      "tools/list",
    ]);
    const last = sent.at(-1)!.headers;
    assertEquals([last.get("mcp-protocol-version"), last.get("mcp-session-id")], ["2025-06-18", "s1"]);
    old.forget();
    assertEquals(
      (await server.call("two", "{}", signal)).kind,
      "content",
      "a session that the server forgot begins anew",
    );
  });
}

Deno.test("mcp: calls side by side begin one session together", async () => {
  const old = olderServer();
  const { server } = clientOf(old.serve);
  await Promise.all([1, 2, 3].map(() => server.call("one", "{}", signal)));
  assertEquals(old.began(), 1);
});

Deno.test("mcp: a server that was down at its first call is met again as if for the first time", async () => {
  for (const status of [404, 503]) {
    const old = olderServer();
    let isDown = true;
    const { server } = clientOf((request) => isDown ? new Response("down", { status }) : old.serve(request));
    await assertRejects(() => server.list(signal), GatewayError);
    isDown = false;
    assertEquals((await server.list(signal)).length, 2);
  }
});

Deno.test("mcp: a session that the server forgot begins anew, also where that is said with 400", async () => {
  const old = olderServer();
  const { server } = clientOf(async (request) => {
    const response = await old.serve(request);
    return response.status === 404 ? new Response("no valid session", { status: 400 }) : response;
  });
  await server.list(signal);
  old.forget();
  assertEquals((await server.call("one", "{}", signal)).kind, "content");
});

Deno.test("mcp: a session ends at its server once nobody needs it, and a later call begins another", async () => {
  const old = olderServer();
  const ended: (string | null)[] = [];
  const { server } = clientOf((request) => {
    if (request.method !== "DELETE") return old.serve(request);
    ended.push(request.headers.get("mcp-session-id"));
    return new Response(null, { status: 405 });
  });
  await server.end();
  await server.call("one", "{}", signal);
  await server.end();
  await server.end();
  assertEquals(ended, ["s1"]);
  assertEquals((await server.call("one", "{}", signal)).kind, "content");
  assertEquals(old.began(), 2);
});

Deno.test("mcp: a caller that leaves while a session begins takes no other caller along", async () => {
  const old = olderServer();
  const leaving = new AbortController();
  const began = Promise.withResolvers<void>();
  let isFirst = true;
  const { server } = clientOf(async (request) => {
    const { method } = await request.clone().json();
    if (method !== "initialize" || !isFirst) return await old.serve(request);
    isFirst = false;
    began.resolve();
    return await new Promise<Response>((_, reject) =>
      request.signal.addEventListener("abort", () => reject(request.signal.reason))
    );
  });
  const left = server.call("one", "{}", leaving.signal);
  await began.promise;
  const stays = server.call("two", "{}", signal);
  leaving.abort();
  await assertRejects(() => left);
  assertEquals((await stays).kind, "content");
});

Deno.test("mcp: what a server asks in the middle of its answer is refused, but for whether its client lives", async () => {
  const old = olderServer({ inStream: true, asks: true });
  const { server } = clientOf(old.serve);
  assertEquals((await server.call("one", "{}", signal)).kind, "content");
  assertEquals(old.replies, [{ code: -32601, message: "Method not found" }, {}]);
});

Deno.test("mcp: the vendor's server serves clients of the older protocol, too", async () => {
  const { server } = clientOf(handlerOf("auto", "stateless"));
  assertEquals((await server.list(signal)).length, 2);
});

Deno.test("mcp: a list of tools is asked for again once it is old", async () => {
  let now = 0;
  const { server, sent } = clientOf(olderServer().serve, () => now);
  const lists = () => sent.filter(({ method }) => method === "tools/list").length;
  await server.list(signal);
  const first = lists();
  await server.list(signal);
  assertEquals(lists(), first);
  now = 60 * 60_000 + 1;
  await server.list(signal);
  assertEquals(lists(), first + 2, "both of its pages");
});

const JSON_TYPE = { headers: { "content-type": "application/json" } };
const broken: [name: string, serve: Serve, message: string][] = [
  ["refuses the token", () => new Response("no", { status: 401 }), "status 401"],
  ["redirects", () => new Response(null, { status: 307, headers: { location: "http://other.test/" } }), "status 307"],
  ["fails", () => new Response("no", { status: 500 }), "status 500"],
  ["answers with no message", () => new Response("[1]", JSON_TYPE), "not a message"],
  [
    "reports an error",
    () => Response.json({ jsonrpc: "2.0", id: 1, error: { code: -32602, message: "bad token" } }),
    "error -32602",
  ],
  [
    "asks for a person",
    () => Response.json({ jsonrpc: "2.0", id: 1, result: { resultType: "input_required" } }),
    "only a person",
  ],
  [
    "ends its stream before the answer",
    () => new Response(": hello\n\n", { headers: { "content-type": "text/event-stream" } }),
    "ended before",
  ],
];

for (const [name, serve, message] of broken) {
  Deno.test(`mcp: a server that ${name} has failed`, async () => {
    const { server, sent } = clientOf(serve);
    const error = await assertRejects(() => server.call("add", "{}", signal), GatewayError, message);
    assertEquals(error.message.includes("token"), false, "what the server says is for no log");
    assertEquals(sent.filter(({ headers }) => !headers.get("authorization")).length, 0);
  });
}

Deno.test("mcp: arguments that are no object are not sent", async () => {
  const { server, sent } = clientOf(handlerOf("json"));
  for (const input of ["[]", "{", "7", '"a"']) {
    assertEquals(await server.call("add", input, signal), { kind: "error", code: "invalid_input" });
  }
  assertEquals(sent, []);
});

Deno.test("mcp: a result is cut to what a model can read, and pictures stay whole", async () => {
  const content = [
    { type: "text", text: "a".repeat(99_999) },
    { type: "image", data: "AAAA", mimeType: "image/png" },
    { type: "text", text: "bcd" },
    { type: "resource", resource: { uri: "file:///x", text: "x" } },
  ];
  const { server } = clientOf(async (request) =>
    Response.json({ jsonrpc: "2.0", id: (await request.json()).id, result: { content } })
  );
  const result = await server.call("add", "{}", signal);
  const parts = result.kind === "content" ? result.content : [];
  assertEquals(parts.map((part) => part.type === "text" ? part.text.length : part.source), [
    99_999,
    { type: "base64", data: "AAAA" },
    3,
    2,
  ]);
});

Deno.test("mcp: of a list that is too long, the tools stay that fit", async () => {
  const words = (name: string, length: number) => ({ name, description: "a".repeat(length), inputSchema: {} });
  const tools = [words("one", 300_000), words("two", 300_000), words("three", 10)];
  const { server } = clientOf(async (request) => {
    const { id } = await request.json();
    return Response.json({ jsonrpc: "2.0", id, result: { tools } });
  });
  assertEquals((await server.list(signal)).map(({ name }) => name), ["one", "three"]);
});
