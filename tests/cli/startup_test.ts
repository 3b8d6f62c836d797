import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { unmaskedSecrets } from "../../src/compose/secrets.ts";
import { configSchema } from "../../src/config/schema.ts";
import { startupMessage } from "../../src/cli/startup.ts";

const target = { upstream: "cloud", model: "m" };
const chat = { task: "chat", targets: [target] };
const sandbox = { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] };
const upstreams = {
  cloud: { driver: "chat", baseUrl: "https://cloud.example/v1", secret: { env: "CLOUD_TOKEN" } },
  sandbox: { driver: "sandbox" },
};

function message(config: object, variables: Record<string, string> = {}, hostname = "127.0.0.1"): string {
  const parsed = configSchema.parse({ upstreams, ...config });
  const secrets = { env: (name: string) => variables[name], readText: () => "" };
  return startupMessage({
    version: "1.2.3",
    config: parsed,
    source: '"gateway.json"',
    address: { hostname, port: 4321 },
    secrets,
    unmasked: unmaskedSecrets(parsed, secrets),
    store: { path: "/data/store" },
  });
}

Deno.test("startupMessage: reads as a whole", () => {
  const config = {
    lanes: {
      oss: { models: { small: chat, sandbox } },
      hf: { models: { "laneway/sandbox": sandbox }, upstreams: { chat: "cloud" } },
    },
  };
  assertEquals(
    message(config),
    `Laneway 1.2.3 serves http://127.0.0.1:4321
Configuration: "gateway.json"

Lanes
  oss  http://127.0.0.1:4321/oss/v1
       sandbox, small
  hf   http://127.0.0.1:4321/hf/v1
       laneway/sandbox
       and any other name:
         chat from "cloud"

Upstreams without a secret
  cloud: requests get 503. Set the secret and restart:
    export CLOUD_TOKEN=...

Stored conversations: in /data/store, for 30 days
Keys: none needed, because only this machine is served
Console: http://127.0.0.1:4321/console

Try it, whole and streamed
  curl http://127.0.0.1:4321/oss/v1/chat/completions -H 'content-type: application/json' -d '{"model":"sandbox","messages":[{"role":"user","content":"Hello"}]}'
  curl -N http://127.0.0.1:4321/oss/v1/chat/completions -H 'content-type: application/json' -d '{"model":"sandbox","stream":true,"messages":[{"role":"user","content":"Hello"}]}'
`,
  );
});

Deno.test("startupMessage: models that can be served come first, the built-in one after the user's own", () => {
  const config = { lanes: { oss: { models: { small: chat, sandbox, big: chat } } } };
  assertStringIncludes(message(config), "/oss/v1\n       sandbox, small, big\n");
  assertStringIncludes(message(config, { CLOUD_TOKEN: "x".repeat(20) }), "/oss/v1\n       small, big, sandbox\n");
});

Deno.test("startupMessage: many models are counted and the first ones named, within 80 columns", () => {
  const models = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`a-model-with-a-name-${index}`, chat]));
  const lines = message({ lanes: { oss: { models: { ...models, sandbox } } } }, { CLOUD_TOKEN: "x".repeat(20) }).split(
    "\n",
  );
  const line = lines.find((line) => line.includes("models"));
  assertEquals(line, "       31 models: a-model-with-a-name-0, a-model-with-a-name-1, ...");
  for (const line of lines.filter((line) => !line.includes("curl"))) assert(line.length <= 80, line);
});

Deno.test("startupMessage: patterns stand apart from names, and a catalog says what else there is", () => {
  const lanes = {
    oss: { models: { "big-*": sandbox, small: chat, "*-fast": chat } },
    hf: { upstreams: { chat: "cloud" }, catalog: "hub" },
  };
  const text = message({ catalogs: { hub: { plugin: "hub", baseUrl: "https://hub.example/v1" } }, lanes });
  assertStringIncludes(text, "/oss/v1\n       small\n       big-*, *-fast\n");
  assertStringIncludes(text, '/hf/v1\n       and every model of "hub":\n         chat from "cloud"\n');
  // A pattern is no name to call.
  assert(!text.includes("curl"));
});

Deno.test("startupMessage: a secret that is set is neither missed nor shown", () => {
  const keys = [{ name: "team", secret: { env: "TEAM_KEY" } }];
  const text = message({ keys, lanes: { oss: { models: { sandbox } } } }, {
    CLOUD_TOKEN: "hunter1",
    TEAM_KEY: "hunter2",
  });
  assert(!text.includes("hunter") && !text.includes("503"));
});

Deno.test("startupMessage: what is too short to be masked is named, where it stands, and not shown", () => {
  const headers = { authorization: "Bearer pass", "x-api-key": "long enough-for-a-key", "x-name": "short" };
  const text = message({
    upstreams: { ...upstreams, house: { driver: "chat", baseUrl: "http://house.test", headers } },
    keys: [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "other", secret: { env: "OTHER_KEY" } }],
    catalogs: { hub: { plugin: "hub", baseUrl: "https://hub.test", secret: { env: "TEAM_KEY" } } },
    sealing: { key: { env: "SEALING_KEY" } },
    lanes: { oss: { models: { sandbox } } },
  }, { CLOUD_TOKEN: "none", TEAM_KEY: "hunter2", OTHER_KEY: "hunter22", SEALING_KEY: "a".repeat(16) });
  assertStringIncludes(
    text,
    `
Secrets shorter than eight characters: not masked if an upstream repeats them
  CLOUD_TOKEN
  TEAM_KEY
  upstreams.house.headers.authorization

Stored`,
  );
  assert(!/hunter|pass\b|none\n/.test(text), text);
});

Deno.test("startupMessage: the first call carries a key of the lane, by its variable's name", () => {
  const keys = [
    { name: "other", secret: { env: "OTHER_KEY" }, lanes: ["hf"] },
    { name: "team", secret: { env: "TEAM_KEY" } },
  ];
  const text = message({ keys, lanes: { oss: { models: { sandbox } }, hf: {} } });
  assertStringIncludes(text, "Keys: one is required (other, team)");
  assertStringIncludes(text, '/oss/v1/chat/completions -H "authorization: Bearer $TEAM_KEY" ');
});

Deno.test("startupMessage: no first call where no lane has the embedded upstream, or no key opens it", () => {
  const keys = [{ name: "other", secret: { env: "OTHER_KEY" }, lanes: ["hf"] }];
  assert(!message({ keys, lanes: { oss: { models: { sandbox } }, hf: {} } }).includes("curl"));
  assert(!message({ lanes: { oss: { models: { small: chat } } } }).includes("curl"));
});

Deno.test("startupMessage: where every address is served, the call is to one that works", () => {
  const text = message({ lanes: { oss: { models: { sandbox } } } }, {}, "0.0.0.0");
  assertStringIncludes(text, "serves http://127.0.0.1:4321 and this machine's other addresses\n");
  assertStringIncludes(message({ lanes: { oss: {} } }, {}, "::1"), "http://[::1]:4321/oss/v1");
});
