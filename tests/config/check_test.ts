import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { check } from "../../src/config/check.ts";
import { upstreamsWithoutSecret } from "../../src/config/secrets.ts";
import { configSchema } from "../../src/config/schema.ts";
import { anyConfig, catalogs, drivers, environment, toLine } from "./surroundings.ts";

const upstreams = { local: { driver: "chat", baseUrl: "http://127.0.0.1:8080/v1" }, sandbox: { driver: "sandbox" } };
const lanes = { oss: {} };
const HUB = { hub: { plugin: "hub", baseUrl: "http://127.0.0.1/v1" } };
const target = { upstream: "local", model: "m" };

function problems(config: unknown, variables: Record<string, string> = {}): string[] {
  return check(config, { drivers, catalogs, env: environment(variables) }).map(toLine);
}

Deno.test("check: who is known by a token may call from other machines", () => {
  const oidc = { issuer: "https://login.test", audience: ["laneway"], groups: [{ name: "*", lanes: ["oss"] }] };
  assertEquals(problems({ listen: { hostname: "0.0.0.0" }, oidc, lanes }), []);
});

Deno.test("check: has nothing to say of a configuration that is right", () => {
  assertEquals(
    problems({
      listen: { hostname: "0.0.0.0" },
      keys: [{ name: "team", secret: { env: "TEAM_KEY" }, lanes: ["oss"] }],
      upstreams,
      lanes: {
        oss: { models: { m: { task: "chat", targets: [target, { upstream: "sandbox", model: "sandbox" }] } } },
        open: { upstreams: { chat: "local", embedding: "local" }, catalog: "models" },
      },
      catalogs: { models: { plugin: "hub", baseUrl: "http://127.0.0.1/v1" } },
    }, { TEAM_KEY: "secret" }),
    [],
  );
});

for (
  const [name, config, problem] of [
    [
      "a group's lane that is not there",
      { oidc: { groups: [{ name: "staff", lanes: ["oss", "os"] }] }, upstreams, lanes },
      'oidc.groups[0].lanes[1]: Cannot find lane "os"; did you mean "oss"?',
    ],
    [
      "a group's team that is not there",
      { oidc: { groups: [{ name: "staff", team: "rd" }] }, teams: { sales: {} }, upstreams, lanes },
      'oidc.groups[0].team: Cannot find team "rd"; known: "sales"',
    ],
    [
      "two groups of one name",
      { oidc: { groups: [{ name: "staff" }, { name: "staff" }] }, upstreams, lanes },
      'oidc.groups[1].name: Two groups have the name "staff"',
    ],
    [
      "a key that is called as callers with tokens are",
      { oidc: {}, keys: [{ name: "oidc:anna", secret: { env: "SET" } }], upstreams, lanes },
      'keys[0].name: A key\'s name cannot begin with "oidc:", because callers with tokens are called so',
    ],
    [
      "tokenizers of a catalog that is not there",
      { upstreams: { local: { ...upstreams.local, tokenizers: "hbu" } }, lanes, catalogs: HUB },
      'upstreams.local.tokenizers: Cannot find catalog "hbu"; did you mean "hub"?',
    ],
    [
      "a fetcher elsewhere without a secret",
      { hostedTools: { webFetch: { url: "http://10.0.0.7:8100" } }, upstreams, lanes },
      "hostedTools.webFetch.secret: Missing: a fetcher with a url needs a secret",
    ],
    [
      "a fetcher elsewhere whose secret is not there",
      { hostedTools: { webFetch: { url: "http://10.0.0.7:8100", secret: { env: "TOKEN" } } }, upstreams, lanes },
      'hostedTools.webFetch.secret.env: Environment variable "TOKEN" is not set: export TOKEN=...',
    ],
    [
      "a rule of a server's tool for a key that is not there",
      {
        keys: [{ name: "ops", secret: { env: "SET" } }],
        hostedTools: {
          mcp: { servers: { docs: { url: "http://docs.test/mcp", tools: { write: { keys: ["opps", "x*"] } } } } },
        },
        upstreams,
        lanes,
      },
      'hostedTools.mcp.servers.docs.tools.write.keys[0]: Cannot find key "opps"; did you mean "ops"?',
    ],
    [
      "a secret for a fetcher that the launcher starts",
      { hostedTools: { webFetch: { secret: { env: "TOKEN" } } }, upstreams, lanes },
      "hostedTools.webFetch.secret: Only a fetcher with a url has a secret in the configuration",
    ],
    [
      "tokenizers of a catalog that has no files",
      {
        upstreams: { local: { ...upstreams.local, tokenizers: "list" } },
        lanes,
        catalogs: { list: { plugin: "router", baseUrl: "http://127.0.0.1/v1" } },
      },
      'upstreams.local.tokenizers: Catalog "list" cannot provide tokenizer files: use a plugin that can, such as "hub"',
    ],
    [
      "prices of a catalog that has none",
      {
        upstreams: { local: { ...upstreams.local, prices: "list" } },
        lanes,
        catalogs: { list: { plugin: "hub", baseUrl: "http://127.0.0.1" } },
      },
      'upstreams.local.prices: Catalog "list" does not say what models cost: use a plugin that can, such as "router"',
    ],
    [
      "prices of a catalog that there is not",
      { upstreams: { local: { ...upstreams.local, prices: "list" } }, lanes },
      'upstreams.local.prices: Cannot find catalog "list"',
    ],
    [
      "a counter that the driver does not know",
      { upstreams: { local: { ...upstreams.local, counter: "chat_tokenize" } }, lanes },
      'upstreams.local.counter: Driver "chat" does not support counter "chat_tokenize": it supports "tokenize"',
    ],
    [
      "what the driver does not know",
      { upstreams: { local: { ...upstreams.local, cacheControl: "pass", textForms: "parse" } }, lanes },
      'upstreams.local.cacheControl: Driver "chat" does not support this setting: remove it',
    ],
    [
      "an alias whose upstream does not exist",
      {
        upstreams,
        lanes: { oss: { models: { m: { task: "chat", targets: [target, { ...target, upstream: "locla" }] } } } },
      },
      'lanes.oss.models.m.targets[1].upstream: Cannot find upstream "locla"; did you mean "local"?',
    ],
    [
      "a lane whose upstream does not exist",
      { upstreams, lanes: { oss: { upstreams: { chat: "hub" } } } },
      'lanes.oss.upstreams.chat: Cannot find upstream "hub"; known: "local", "sandbox"',
    ],
    [
      "a name that every object inherits",
      { upstreams, lanes: { oss: { upstreams: { chat: "constructor" } } } },
      'lanes.oss.upstreams.chat: Cannot find upstream "constructor"; known: "local", "sandbox"',
    ],
    [
      "an alias whose driver does not serve its task",
      {
        upstreams,
        lanes: { oss: { models: { m: { task: "speech", targets: [{ upstream: "local", model: "m" }] } } } },
      },
      'lanes.oss.models.m.targets[0].upstream: Upstream "local" does not serve task "speech": ' +
      'its driver "chat" serves "chat", "embedding"',
    ],
    [
      "a lane whose driver does not serve the task",
      { upstreams, lanes: { oss: { upstreams: { speech: "local" } } } },
      'lanes.oss.upstreams.speech: Upstream "local" does not serve task "speech": its driver "chat" serves "chat", "embedding"',
    ],
    [
      "a driver that does not exist",
      { upstreams: { a: { driver: "caht" } }, lanes },
      'upstreams.a.driver: Cannot find driver "caht"; did you mean "chat"?',
    ],
    [
      "a driver that makes calls and is not told where to",
      { upstreams: { a: { driver: "chat" } }, lanes },
      'upstreams.a.baseUrl: Missing: driver "chat" needs a base URL',
    ],
    [
      "a lane whose catalog does not exist",
      {
        upstreams,
        catalogs: { hub: { plugin: "hub" } },
        lanes: { hf: { upstreams: { chat: "local" }, catalog: "hbu" } },
      },
      'lanes.hf.catalog: Cannot find catalog "hbu"; did you mean "hub"?',
    ],
    [
      "a lane with a catalog whose models go nowhere",
      { upstreams, catalogs: { hub: { plugin: "hub" } }, lanes: { hf: { catalog: "hub" } } },
      'lanes.hf.upstreams: Missing: no upstream serves the models of catalog "hub"; name one for each task',
    ],
    [
      "a catalog whose plugin does not exist",
      { catalogs: { hub: { plugin: "hug" } }, lanes },
      'catalogs.hub.plugin: Cannot find catalog plugin "hug"; did you mean "hub"?',
    ],
    [
      "a lane of which one catalog does not exist",
      {
        upstreams,
        catalogs: { hub: { plugin: "hub" } },
        lanes: { hf: { upstreams: { chat: "local" }, catalog: ["hub", "hug"] } },
      },
      'lanes.hf.catalog[1]: Cannot find catalog "hug"; did you mean "hub"?',
    ],
    [
      "an upstream whose catalog does not exist",
      { upstreams: { hub: { driver: "chat", baseUrl: "http://x", catalog: "hub" } }, lanes },
      'upstreams.hub.catalog: Cannot find catalog "hub"',
    ],
    [
      "an upstream whose catalog tells of no places",
      {
        upstreams: { hub: { driver: "chat", baseUrl: "http://x", catalog: "list" } },
        catalogs: { list: { plugin: "router" } },
        lanes,
      },
      'upstreams.hub.catalog: Catalog "list" lists models but cannot locate them: use a plugin that can, such as "hub"',
    ],
    [
      "a key for a lane that does not exist",
      { keys: [{ name: "a", secret: { env: "SET" }, lanes: ["oss", "hf"] }], lanes },
      'keys[0].lanes[1]: Cannot find lane "hf"; known: "oss"',
    ],
    [
      "two keys of one name",
      { keys: [{ name: "a", secret: { env: "SET" } }, { name: "a", secret: { env: "SET" } }], lanes },
      'keys[1].name: Two keys have the name "a"',
    ],
    [
      "a key whose variable is not set",
      { keys: [{ name: "a", secret: { env: "UNSET" } }], lanes },
      'keys[0].secret.env: Environment variable "UNSET" is not set: export UNSET=...',
    ],
    [
      "a store whose variable is not set",
      { store: { kind: "redis", url: { env: "UNSET" } }, lanes },
      'store.url.env: Environment variable "UNSET" is not set: export UNSET=...',
    ],
    [
      "a sealing key whose variable is not set",
      { sealing: { key: { env: "UNSET" } }, lanes },
      'sealing.key.env: Environment variable "UNSET" is not set: export UNSET=...',
    ],
    [
      "a key whose variable is empty",
      { keys: [{ name: "a", secret: { env: "EMPTY" } }], lanes },
      'keys[0].secret.env: Environment variable "EMPTY" is not set: export EMPTY=...',
    ],
    [
      "no lanes",
      { upstreams },
      'lanes: A gateway without lanes serves nothing: add one, or start from the default with "extends": "default"',
    ],
  ] as const
) {
  Deno.test(`check: reports ${name}`, () => assertEquals(problems(config, { SET: "secret", EMPTY: "" }), [problem]));
}

for (const hostname of ["0.0.0.0", "::", "192.168.1.4", "gateway.example", "127.0.0.1.example", "localhost.example"]) {
  Deno.test(`check: refuses to listen on ${hostname} without keys, and says how to set one`, () => {
    assertEquals(problems({ listen: { hostname }, lanes }), [
      `listen.hostname: Cannot listen on "${hostname}" without keys, because others could use your upstreams: ` +
      'export LANEWAY_KEY=... and add "keys": [{ "name": "me", "secret": { "env": "LANEWAY_KEY" } }]',
    ]);
  });
  Deno.test(`check: listens on ${hostname} with a key`, () => {
    const keys = [{ name: "me", secret: { env: "SET" } }];
    assertEquals(problems({ listen: { hostname }, keys, lanes }, { SET: "secret" }), []);
  });
}

for (const hostname of ["127.0.0.1", "127.1.2.3", "localhost", "::1"]) {
  Deno.test(`check: listens on ${hostname} without keys`, () => {
    assertEquals(problems({ listen: { hostname }, lanes }), []);
  });
}

Deno.test("check: anything at all can be judged", () => {
  fc.assert(
    fc.property(anyConfig, (raw) => {
      problems(raw);
    }),
    { numRuns: 1_000, seed: 1 },
  );
});

const noFile = () => {
  throw new Error("There is no file");
};

Deno.test("upstreamsWithoutSecret: lists those whose variable is named and not set", () => {
  const config = configSchema.parse({
    upstreams: {
      set: { driver: "chat", secret: { env: "SET" } },
      unset: { driver: "chat", secret: { env: "UNSET" } },
      empty: { driver: "chat", secret: { env: "EMPTY" } },
      open: { driver: "chat" },
    },
  });
  assertEquals(upstreamsWithoutSecret(config, { env: environment({ SET: "secret", EMPTY: "" }), readText: noFile }), [
    { upstream: "unset", variable: "UNSET" },
    { upstream: "empty", variable: "EMPTY" },
  ]);
});

Deno.test("check: several servers are sentinels or nodes of a cluster, which has no databases", () => {
  const of = (url: string, more: object = {}, env = {}) =>
    problems({ store: { kind: "redis", url: { env: "STORE" }, ...more }, lanes }, { STORE: url, ...env });
  assertEquals(of("redis://a:1,b:2"), [
    'store.url.env: Environment variable "STORE" names several servers: set "sentinel": { "name": "mymaster" } or ' +
    '"cluster": true beside it',
  ]);
  assertEquals(of("redis://a:1,b:2/3", { sentinel: { name: "main" } }), []);
  assertEquals(of("redis://a:1,b:2/0", { cluster: true }), []);
  assertEquals(of("redis://a:1/3", { cluster: true }), [
    'store.url.env: Environment variable "STORE" names a database, but a cluster has only database 0',
  ]);
  const sentinel = { name: "main", password: { env: "WORD" } };
  assertEquals(of("redis://a", { sentinel }), [
    'store.sentinel.password.env: Environment variable "WORD" is not set: export WORD=...',
  ]);
  assertEquals(of("redis://a", { sentinel }, { WORD: "x" }), []);
});

Deno.test("check: several gateways without a common key to seal with are refused", () => {
  const refused = [
    'replicas: Several gateways need a common sealing key: use a store of kind "redis", or set "sealing.key"',
  ];
  const sealing = { key: { env: "SEAL" } };
  const redis = { kind: "redis", url: { env: "STORE" } };
  const env = { SEAL: "long enough, it is", STORE: "redis://localhost" };
  const found = (more: object, values: Record<string, string> = env) =>
    problems({ replicas: 2, lanes, ...more }, values);
  assertEquals([found({}), found({ store: { kind: "memory" } })], [refused, refused]);
  assertEquals([found({ replicas: 1 }), found({ sealing }), found({ store: redis })], [[], [], []]);
  assertEquals(found({}, { DENO_DEPLOY: "1" }), []);
});

Deno.test("check: a key to seal with that can be guessed is refused", () => {
  const config = { sealing: { key: { env: "SEAL" } }, lanes };
  assertEquals(problems(config, { SEAL: "short" }), [
    'sealing.key.env: Environment variable "SEAL" must have at least 16 characters',
  ]);
  assertEquals(problems(config, { SEAL: "long enough, it is" }), []);
});

Deno.test("check: the store's variable holds a URL, of which nothing is shown", () => {
  const of = (url: string) => problems({ store: { kind: "redis", url: { env: "STORE" } }, lanes }, { STORE: url });
  const wrong =
    'store.url.env: Environment variable "STORE" must hold a URL such as redis://user:password@store.example.com:6379/0';
  for (const url of ["redis://a", "rediss://u:p@a.test:1/3", "valkey://:p%40@[::1]:6379"]) {
    assertEquals(of(url), [], url);
  }
  for (const url of ["a.test:6379", "http://a.test", "redis://", "redis://a b", "redis://a:port", "redis://u:%@a"]) {
    assertEquals(of(url), [wrong], url);
  }
});
