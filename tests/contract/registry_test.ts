import { assertEquals, assertThrows } from "@std/assert";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import { createRegistry } from "../../src/contract/registry.ts";
import { GatewayError } from "../../src/errors.ts";

function protocol(name: string, pathname: string, more: Partial<Protocol<"getModel">> = {}): AnyProtocol {
  return {
    name,
    wire: "chat",
    operation: "getModel",
    method: "GET",
    pattern: new URLPattern({ pathname }),
    body: "none",
    parse: ({ params }) => ({ model: params.id ?? "" }),
    serialize: () => new Response(),
    serializeError: () => new Response(),
    ...more,
  };
}

const VERSIONED = ({ headers }: { headers: Headers }) => headers.has("x-version");
const PROTOCOLS = [
  protocol("chat", "/:lane/v1/chat", { method: "POST" }),
  protocol("versioned-models", "/:lane/v1/models", { accepts: VERSIONED }),
  protocol("models", "/:lane/v1/models"),
  protocol("model", "/:lane/v1/models/:id(.+)"),
  protocol("delete", "/:lane/v1/models/:id(.+)", { method: "DELETE" }),
];

const registry = createRegistry(PROTOCOLS);

function match(method: string, path: string, headers: HeadersInit = {}) {
  const found = registry.match(new Request(`http://gateway${path}`, { method, headers }));
  if (!found) return undefined;
  return "allow" in found
    ? { name: found.protocol.name, allow: found.allow }
    : { name: found.protocol.name, params: { ...found.params } };
}

const MATCHES: [method: string, path: string, name: string, params: Record<string, string>][] = [
  ["POST", "/oss/v1/chat", "chat", { lane: "oss" }],
  ["POST", "/oss/v1/chat?beta=true", "chat", { lane: "oss" }],
  ["POST", "//oss//v1///chat", "chat", { lane: "oss" }],
  ["POST", "/oss/v1/chat/", "chat", { lane: "oss" }],
  ["GET", "/oss/v1/models", "models", { lane: "oss" }],
  ["HEAD", "/oss/v1/models", "models", { lane: "oss" }],
  ["GET", "/hf/v1/models/org/name:fastest", "model", { lane: "hf", id: "org/name:fastest" }],
  ["GET", "/hf/v1/models/org%2Fname%3Afastest", "model", { lane: "hf", id: "org/name:fastest" }],
  ["GET", "/hf/v1/models/a%20b%C3%BC", "model", { lane: "hf", id: "a bü" }],
  ["DELETE", "/hf/v1/models/m", "delete", { lane: "hf", id: "m" }],
];

for (const [method, path, name, params] of MATCHES) {
  Deno.test(`registry: ${method} ${path} is for "${name}"`, () => {
    assertEquals(match(method, path), { name, params });
  });
}

Deno.test("registry: of two protocols on one path, the first that accepts the headers gets the request", () => {
  assertEquals(match("GET", "/oss/v1/models", { "x-version": "1" })?.name, "versioned-models");
  assertEquals(match("GET", "/oss/v1/models")?.name, "models");
});

Deno.test("registry: a path that is known already tells its requests apart as the first time, and gives each its own groups", () => {
  const request = () => new Request("http://gateway/o%20s/v1/chat", { method: "POST" });
  const { params } = registry.match(request())!;
  params.lane = "changed";
  assertEquals(registry.match(request())!.params, { lane: "o s" });
  for (let time = 0; time < 3; time++) {
    assertEquals(match("POST", "/o%20s/v1/chat"), { name: "chat", params: { lane: "o s" } });
    assertEquals(match("GET", "/o%20s/v1/chat"), { name: "chat", allow: ["POST"] });
    assertEquals(match("GET", "/oss/v1/models")?.name, "models");
    assertEquals(match("GET", "/oss/v1/models", { "x-version": "1" })?.name, "versioned-models");
  }
});

Deno.test("registry: another method on a path that is served is told from a path that is not", () => {
  assertEquals(match("GET", "/oss/v1/chat"), { name: "chat", allow: ["POST"] });
  assertEquals(match("POST", "/oss/v1/models"), { name: "models", allow: ["GET", "HEAD"] });
  assertEquals(match("PUT", "/oss/v1/models/m"), { name: "model", allow: ["GET", "HEAD", "DELETE"] });
  for (const path of ["/", "/oss", "/oss/v1", "/oss/v2/models", "/v1/models", "/oss/v1/models/../../x"]) {
    assertEquals(match("GET", path), undefined, path);
  }
});

for (const path of ["/oss/v1/models/%", "/oss/v1/models/%zz", "/%ff/v1/models"]) {
  Deno.test(`registry: ${path} holds a percent-encoding that is broken`, () => {
    assertEquals(assertThrows(() => match("GET", path), GatewayError).code, "invalid_request");
  });
}

Deno.test("registry: of requests that none matches, the first speaks that knows the client, else the first of all", () => {
  const speaksFor = (headers: Headers) => headers.get("x-client") === "editor";
  const { fallback } = createRegistry([...PROTOCOLS, protocol("editor", "/:lane/v1/editor", { speaksFor })]);
  assertEquals(fallback(new Headers({ "x-client": "editor" })).name, "editor");
  assertEquals(fallback(new Headers()).name, "chat");
});

const REFUSALS: Record<string, { protocols: AnyProtocol[]; message: string }> = {
  "no protocol at all": { protocols: [], message: "no protocol is registered" },
  "two of one name": {
    protocols: [protocol("a", "/:lane/a"), protocol("a", "/:lane/b")],
    message: '"a" has the same name a',
  },
  "two that nothing tells apart": {
    protocols: [protocol("a", "/:lane/a"), protocol("b", "/:lane/a")],
    message: '"a" has the same GET /:lane/a',
  },
};

for (const [name, { protocols, message }] of Object.entries(REFUSALS)) {
  Deno.test(`registry: ${name} is refused at the start`, () => {
    assertThrows(() => createRegistry(protocols), Error, message);
  });
}
