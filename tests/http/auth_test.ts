import { assert, assertEquals, assertGreater, assertStringIncludes, assertThrows } from "@std/assert";
import { GatewayError, toGatewayError } from "../../src/errors.ts";
import { type Authenticate, createAuth } from "../../src/http/auth.ts";

const PEER: Deno.NetAddr = { transport: "tcp", hostname: "203.0.113.7", port: 50_000 };
const LOOPBACK: Deno.NetAddr = { transport: "tcp", hostname: "127.0.0.1", port: 50_000 };

const authenticate = createAuth([
  { name: "team", secret: "sk-team-1", lanes: ["oss"] },
  { name: "ops", secret: "sk-ops-22" },
]);

function request(headers: Record<string, string>): Request {
  return new Request("http://gateway/oss/v1/models", { headers });
}

function refusal(auth: Authenticate, headers: Record<string, string>, peer: Deno.Addr = PEER): string {
  const error = assertThrows(() => auth(request(headers), peer), GatewayError);
  assertEquals(error.code, "authentication");
  return error.message;
}

// With keys

Deno.test("a key is accepted as Bearer and as x-api-key, and tells who calls", () => {
  const team = { name: "team", owner: "key:team", lanes: ["oss"] };
  assertEquals(authenticate(request({ authorization: "Bearer sk-team-1" }), PEER), team);
  assertEquals(authenticate(request({ "x-api-key": "sk-team-1" }), PEER), team);
  assertEquals(authenticate(request({ "x-api-key": "sk-ops-22" }), PEER), { name: "ops", owner: "key:ops" });
});

Deno.test("the scheme may be in any case and blanks may surround the key", () => {
  for (const header of ["bearer sk-ops-22", "BEARER\tsk-ops-22", "  Bearer   sk-ops-22  "]) {
    assertEquals(authenticate(request({ authorization: header }), PEER).name, "ops");
  }
  assertEquals(authenticate(request({ "x-api-key": "  sk-ops-22 " }), PEER).name, "ops");
});

Deno.test("of two keys x-api-key wins", () => {
  const both = { authorization: "Bearer sk-team-1", "x-api-key": "sk-ops-22" };
  assertEquals(authenticate(request(both), PEER).name, "ops");
  assertEquals(refusal(authenticate, { ...both, "x-api-key": "wrong" }), "Invalid API key");
  assertEquals(authenticate(request({ ...both, "x-api-key": "" }), PEER).name, "team");
});

Deno.test("a request without a key is told how to send one", () => {
  const without = [
    "",
    "Bearer",
    "Bearer  ",
    "Bearersk-ops-22",
    "Forbearer sk-ops-22",
    "sk-ops-22",
    "Basic c2stb3BzLTIy",
  ];
  for (const headers of [{ "x-api-key": "" }, ...without.map((authorization) => ({ authorization }))]) {
    const message = refusal(authenticate, headers);
    assertEquals(message, 'No API key: send it as "Authorization: Bearer <key>" or "x-api-key: <key>"');
  }
});

Deno.test("a wrong key is refused and not repeated", () => {
  const wrong = ["sk-team-", "sk-team-11", "SK-TEAM-1", "sk-team-1 sk-ops-22", "sk-team-1,sk-ops-22", "' OR 1=1 --"];
  for (const key of [...wrong, "\u00fc\u00ff\u00a3", "x".repeat(60_000), `x${" ".repeat(60_000)}x`]) {
    for (const [header, value] of [["x-api-key", key], ["authorization", `Bearer ${key}`]] as const) {
      const error = assertThrows(() => authenticate(request({ [header]: value }), PEER), GatewayError);
      assertEquals(error.message, "Invalid API key");
      assert(!Deno.inspect(error).includes(key));
    }
  }
});

Deno.test("a huge header is refused at once", () => {
  const start = performance.now();
  for (const blank of [" ", "\t", "Bearer "]) {
    refusal(authenticate, { authorization: `Bearer ${blank.repeat(60_000)}x` });
  }
  assertGreater(1000, performance.now() - start);
});

Deno.test("where keys are configured, host and origin do not matter, nor does a local peer help", () => {
  const foreign = { host: "gateway.example", origin: "https://page.example" };
  assertEquals(authenticate(request({ ...foreign, "x-api-key": "sk-ops-22" }), PEER).name, "ops");
  assertStringIncludes(refusal(authenticate, {}, LOOPBACK), "No API key");
  assertThrows(() => authenticate(request({}), undefined), GatewayError, "No API key");
});

// Without keys

const open = createAuth([]);
const LOCAL = { name: "local", owner: "local" };

Deno.test("without keys a call within the process is admitted", () => {
  assertEquals(open(request({ origin: "https://page.example" }), undefined), LOCAL);
});

Deno.test("without keys this machine is admitted, over any of its addresses", () => {
  for (const hostname of ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"]) {
    assertEquals(open(request({ host: "localhost:8000" }), { ...LOOPBACK, hostname }), LOCAL);
  }
  assertEquals(open(request({ host: "localhost" }), { transport: "unix", path: "/run/gateway.sock" }).name, "local");
});

Deno.test("without keys another machine is told that a key must be configured", () => {
  const others = ["10.0.0.1", "0.0.0.0", "::", "::ffff:10.0.0.1", "fe80::1", "128.0.0.1", "1127.0.0.1", "::2"];
  for (const hostname of others) {
    const message = refusal(open, { host: "localhost" }, { ...LOOPBACK, hostname });
    assertStringIncludes(message, "No keys are configured");
    assertStringIncludes(message, '"keys" in gateway.json');
  }
  assertStringIncludes(refusal(open, { "x-api-key": "sk-any" }), "No keys are configured");
});

const LOCAL_HOSTS = ["localhost", "LOCALHOST", "app.localhost", "127.0.0.1", "127.1.2.3", "[::1]"];
const FOREIGN_HOSTS = [
  "gateway.example",
  "localhost.page.example",
  "app.localhost.page.example",
  "notlocalhost",
  "127.0.0.1.page.example",
  "128.0.0.1",
  "192.168.0.2",
  "0.0.0.0",
  "[::2]",
  "localhost@page.example",
];

Deno.test("without keys a local host name is admitted, with any port", () => {
  for (const host of LOCAL_HOSTS.flatMap((name) => [name, `${name}:80`, `${name}:8000`])) {
    assertEquals(open(request({ host }), LOOPBACK).name, "local", host);
  }
});

Deno.test("without keys a foreign host name is refused: a page can point its own name at this machine", () => {
  for (const host of [...FOREIGN_HOSTS.flatMap((name) => [name, `${name}:8000`]), "", "a b", "[", ":8000"]) {
    const message = refusal(open, { host }, LOOPBACK);
    assertStringIncludes(message, '"localhost" or "127.0.0.1"', host);
    assertStringIncludes(message, '"keys" in gateway.json');
  }
});

Deno.test("without keys and without a host header the URL's host counts", () => {
  assertEquals(open(new Request("http://localhost:8000/"), LOOPBACK).name, "local");
  assertThrows(() => open(new Request("http://page.example/"), LOOPBACK), GatewayError);
});

Deno.test("without keys a local origin is admitted", () => {
  for (const origin of LOCAL_HOSTS.flatMap((name) => [`http://${name}:5173`, `https://${name}`])) {
    assertEquals(open(request({ host: "127.0.0.1:8000", origin }), LOOPBACK).name, "local", origin);
  }
});

Deno.test("without keys a foreign origin is refused", () => {
  const others = [
    "null",
    "",
    "https://page.example",
    "file://",
    "chrome-extension://abc",
    "ws://localhost",
    "localhost",
  ];
  for (const origin of [...FOREIGN_HOSTS.map((name) => `http://${name}`), ...others]) {
    const message = refusal(open, { host: "localhost", origin }, LOOPBACK);
    assertStringIncludes(message, "no web page of another host may call", origin);
    assertStringIncludes(message, '"keys" in gateway.json');
  }
});

// Over a real socket

async function answerTo(auth: Authenticate, head: string): Promise<string> {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request, info) => {
    try {
      return new Response(`hello ${auth(request, info.remoteAddr).name}.`);
    } catch (thrown) {
      const error = toGatewayError(thrown);
      return new Response(`${error.message}.`, { status: error.status });
    }
  });
  const client = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
  const bytes = new TextEncoder().encode(head);
  for (let sent = 0; sent < bytes.length;) sent += await client.write(bytes.subarray(sent));
  const buffer = new Uint8Array(4096);
  let answer = "";
  while (!answer.endsWith(".")) {
    const length = await client.read(buffer);
    if (length === null) break;
    answer += new TextDecoder().decode(buffer.subarray(0, length));
  }
  client.close();
  await server.shutdown();
  return answer;
}

Deno.test("over a socket: 30 MB without a key are refused before they are sent", async () => {
  const answer = await answerTo(authenticate, "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 30000000\r\n\r\n");
  assertStringIncludes(answer, "HTTP/1.1 401");
  assertStringIncludes(answer, "No API key");
});

Deno.test("over a socket: a key is accepted, and one with bytes that are no text is just wrong", async () => {
  const head = "GET / HTTP/1.1\r\nhost: gateway.example\r\nx-api-key: ";
  assertStringIncludes(await answerTo(authenticate, `${head}sk-ops-22\r\n\r\n`), "hello ops.");
  assertStringIncludes(await answerTo(authenticate, `${head}sk-\u4e16\r\n\r\n`), "Invalid API key.");
});

Deno.test("over a socket: without keys a local host is admitted and a foreign one is not", async () => {
  assertStringIncludes(await answerTo(open, "GET / HTTP/1.1\r\nhost: localhost:1\r\n\r\n"), "hello local.");
  assertStringIncludes(await answerTo(open, "GET / HTTP/1.0\r\n\r\n"), "hello local.");
  assertStringIncludes(await answerTo(open, "GET / HTTP/1.1\r\nhost: page.example\r\n\r\n"), " 401 ");
});
