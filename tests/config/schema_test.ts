import { assert, assertEquals } from "@std/assert";
import { configSchema } from "../../src/config/schema.ts";
import { schemaText } from "../../src/cli/write_schema.ts";

Deno.test("schema: what is left out gets its default", () => {
  const config = configSchema.parse({ upstreams: { sandbox: { driver: "sandbox" } }, lanes: { oss: {} } });
  assertEquals(config, {
    listen: { hostname: "127.0.0.1", port: 8000 },
    keys: [],
    upstreams: {
      sandbox: {
        driver: "sandbox",
        headers: {},
        refuses: [],
        relax: "auto",
        continuation: "auto",
        systemMessages: "first",
        cacheControl: "drop",
        dialect: "router",
        propagateTrace: false,
        reasoningField: "reasoning_content",
        resultsFrom: [],
        scores: "as-they-are",
        textForms: "auto",
        structuredOutput: "native",
        repairArguments: false,
        timeouts: { headMs: 120_000, firstEventMs: 300_000, idleMs: 120_000, wholeMs: 600_000, totalMs: 1_800_000 },
      },
    },
    catalogs: {},
    lanes: { oss: { models: {}, upstreams: {} } },
    hostedTools: { mcp: { servers: {}, allow: [], callMs: 60_000 }, rounds: 8, calls: 64, deadlineMs: 600_000 },
    observe: { metrics: true, priceLibrary: true, telemetry: true, content: false },
    replicas: 1,
    storedKeys: false,
    transport: "fetch",
    retry: { rounds: 3, failovers: 1, calls: 12, budgetMs: 5_000 },
    limits: {
      headerBytes: 32 * 1024,
      bodyBytes: 30 * 1024 * 1024,
      bodyMs: 60_000,
      uploadMs: 300_000,
      stallMs: 30_000,
      sendStallMs: 60_000,
      jsonDepth: 512,
      jsonValues: 200_000,
      jsonNumbers: 300_000,
      jsonNames: 20_000,
      messages: 40_000,
      parts: 40_000,
      tools: 4_096,
      imagePixels: 16_777_216,
      concurrentRequests: 2_000,
      answerBytes: 48 * 1024 * 1024,
      answerText: 8_388_608,
      streamBytes: 256 * 1024 * 1024,
      frameBytes: 32 * 1024 * 1024,
      socketBytes: 64 * 1024 * 1024,
      backgroundResponses: 100,
      backgroundMs: 3_600_000,
      backgroundEvents: 64 * 1024 * 1024,
    },
    stop: { noticeMs: 1_000, drainMs: 25_000 },
    store: { kind: "kv", retentionDays: 30 },
    files: { filesPerKey: 1_000 },
    sealing: {},
  });
});

Deno.test("schema: one time-out can be set and the others keep their defaults", () => {
  const config = configSchema.parse({ upstreams: { a: { driver: "chat", timeouts: { headMs: 5 } } } });
  assertEquals(config.upstreams.a?.timeouts, {
    headMs: 5,
    firstEventMs: 300_000,
    idleMs: 120_000,
    wholeMs: 600_000,
    totalMs: 1_800_000,
  });
});

Deno.test("schema: a base URL loses its trailing slashes", () => {
  for (
    const [written, read] of [
      ["http://127.0.0.1:8080/v1//", "http://127.0.0.1:8080/v1"],
      ["http://127.0.0.1:8080/v1/?path=a//", "http://127.0.0.1:8080/v1?path=a//"],
    ] as const
  ) {
    const config = configSchema.parse({ upstreams: { a: { driver: "chat", baseUrl: written } } });
    assertEquals(config.upstreams.a?.baseUrl, read);
  }
});

for (
  const [name, upstream] of [
    ["a base URL that is no URL", { baseUrl: "127.0.0.1:8080" }],
    ["a base URL of another scheme", { baseUrl: "file:///etc/passwd" }],
    ["a base URL with a password", { baseUrl: "http://me:secret@host/v1" }],
    ["a base URL with a fragment", { baseUrl: "http://host/v1?version=1#part" }],
    ["a header name with a space", { headers: { "x y": "1" } }],
    ["a header value with a line break", { headers: { x: "1\r\ny: 2" } }],
    ["a time-out that no timer can hold", { timeouts: { totalMs: 2 ** 31 } }],
    ["a time-out of nothing", { timeouts: { idleMs: 0 } }],
    ["results from a path", { resultsFrom: ["https://media.example/x"] }],
    ["results from anywhere", { resultsFrom: ["https://*"] }],
    ["results from another scheme", { resultsFrom: ["file://media.example"] }],
    ["a batch of nothing", { batch: 0 }],
    ["the name of a variable that cannot exist", { secret: { env: "MY KEY" } }],
  ] as const
) {
  Deno.test(`schema: refuses ${name}`, () => {
    assert(!configSchema.safeParse({ upstreams: { a: { driver: "chat", ...upstream } } }).success);
  });
}

for (
  const [name, model] of [
    ["a kind of input that nobody knows", { inputModalities: ["smell"] }],
    ["a model that takes nothing", { inputModalities: [] }],
  ] as const
) {
  Deno.test(`schema: refuses ${name}`, () => {
    const models = { m: { task: "chat", targets: [{ upstream: "a", model: "m" }], ...model } };
    assert(!configSchema.safeParse({ lanes: { oss: { models } } }).success);
  });
}

Deno.test("schema: a catalog needs a URL, which loses its trailing slashes", () => {
  assert(!configSchema.safeParse({ catalogs: { hub: { plugin: "hub" } } }).success);
  const config = configSchema.parse({ catalogs: { hub: { plugin: "hub", baseUrl: "https://hub.example/v1/" } } });
  assertEquals(config.catalogs.hub?.baseUrl, "https://hub.example/v1");
});

for (
  const store of [
    { kind: "memory", retentionDays: 0.5 },
    { path: "conversations.sqlite3", retentionDays: 3650 },
    { kind: "redis", url: { env: "REDIS_URL" }, ca: "ca.pem", retentionDays: 30 },
    { kind: "redis", url: { env: "REDIS_URL" }, cluster: true, servers: ["10.0.3.0/24:6379"], retentionDays: 30 },
    { kind: "redis", url: { env: "REDIS_URL" }, sentinel: { name: "mymaster" }, retentionDays: 30 },
  ] as const
) {
  Deno.test(`schema: takes the store ${JSON.stringify(store)}`, () => {
    assertEquals<unknown>(configSchema.parse({ store }).store, { kind: "kv", ...store });
  });
}

const REDIS = { kind: "redis", url: { env: "REDIS_URL" } };

for (
  const [name, store] of [
    ["of another kind", { kind: "sqlite" }],
    ["on a server without a URL", { kind: "redis" }],
    ["on a server whose URL is written down", { kind: "redis", url: "redis://127.0.0.1" }],
    ["on a server with a path", { kind: "redis", url: { env: "REDIS_URL" }, path: "store.sqlite3" }],
    ["on a cluster of sentinels", { ...REDIS, cluster: true, sentinel: { name: "a" } }],
    ["in a file with sentinels", { sentinel: { name: "a" } }],
    ["on a server of any port", { ...REDIS, cluster: true, servers: ["10.0.3.0/24"] }],
    ["in a file with a URL", { url: { env: "REDIS_URL" } }],
    ["in memory with certificates", { kind: "memory", ca: "ca.pem" }],
    ["with an empty path", { path: "" }],
    ["in memory with a path", { kind: "memory", path: "store.sqlite3" }],
    ["that keeps nothing", { retentionDays: 0 }],
    ["that keeps for ever", { retentionDays: Infinity }],
    ["that keeps for more than ten years", { retentionDays: 3651 }],
    ["with an unknown field", { retention: 30 }],
  ] as const
) {
  Deno.test(`schema: refuses a store ${name}`, () => assert(!configSchema.safeParse({ store }).success));
}

for (const name of ["v1", "OSS", "-a", "a b", "a/b", ""]) {
  Deno.test(`schema: refuses the lane name "${name}"`, () => {
    assert(!configSchema.safeParse({ lanes: { [name]: {} } }).success);
  });
}

Deno.test("schema: the JSON schema file is current", () => {
  const file = Deno.readTextFileSync(new URL("../../src/config/gateway.schema.json", import.meta.url));
  assertEquals(file, schemaText());
});

Deno.test("schema: every field is described in the JSON schema", () => {
  const bare: string[] = [];
  const visit = (node: Record<string, unknown>, path: string) => {
    for (const [key, field] of Object.entries((node.properties ?? {}) as Record<string, Record<string, unknown>>)) {
      if (typeof field.description !== "string") bare.push(`${path}.${key}`);
      visit(field, `${path}.${key}`);
    }
    for (const inner of [node.items, node.additionalProperties]) {
      if (typeof inner === "object" && inner !== null) visit(inner as Record<string, unknown>, `${path}[]`);
    }
  };
  visit(JSON.parse(schemaText()), "");
  assertEquals(bare, []);
});

Deno.test("schema: an issuer and its keys are reached by TLS, or on this machine", () => {
  const accepts = (url: string, field: "issuer" | "jwksUrl" = "issuer") => {
    const oidc = { issuer: "https://login.example.com", audience: ["laneway"], [field]: url };
    return configSchema.safeParse({ oidc }).success;
  };
  const safe = [
    "https://login.example.com/realms/acme/",
    "http://127.0.0.1:9000",
    "http://localhost",
    "http://[::1]:9",
  ];
  const unsafe = [
    "http://login.example.com",
    "http://127.0.0.1.example.com",
    "http://localhost.example.com",
    "https://user:word@login.example.com",
    "ftp://login.example.com",
    "login.example.com",
  ];
  assertEquals(safe.filter((url) => !accepts(url) || !accepts(url, "jwksUrl")), []);
  assertEquals(unsafe.filter((url) => accepts(url) || accepts(url, "jwksUrl")), []);
});

Deno.test("schema: only algorithms whose keys are public may be named, and a group has what a key may have", () => {
  const accepts = (oidc: object) =>
    configSchema.safeParse({ oidc: { issuer: "https://login.example.com", audience: ["a"], ...oidc } }).success;
  assertEquals(
    ["RS256", "ES256", "EdDSA", "HS256", "none", "RSA-OAEP"].filter((alg) => accepts({ algorithms: [alg] })),
    [
      "RS256",
      "ES256",
      "EdDSA",
    ],
  );
  const key = { lanes: ["oss"], models: ["m"], quota: { tokensPerDay: 1 }, operator: true };
  assert(accepts({ groups: [{ name: "staff", ...key }] }));
  assert(!accepts({ groups: [{ name: "staff", secret: { env: "A" } }] }));
  assert(!accepts({ audience: [] }));
});
