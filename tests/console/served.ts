/** A gateway that has served for five minutes, for the pictures of the console. */
import type { JsonObject } from "../../src/canonical/json.ts";
import { pluginFacts } from "../../src/app.ts";
import { createConfigDesk } from "../../src/cli/config_desk.ts";
import { loadConfig } from "../../src/config/load.ts";
import { CONFIG, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { answerStream, frame } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { lastingStore, OPS } from "./desk.ts";

const price = { input: 0.6, output: 2.2 };
const SHOWN: ConfigInput = {
  ...CONFIG,
  upstreams: {
    ...CONFIG.upstreams,
    second: { driver: "chat", baseUrl: "http://second.test/v1", secret: { env: "UPSTREAM_SECRET" } },
  },
  lanes: {
    oss: {
      models: {
        "glm-5.3": { task: "chat", price, targets: [{ upstream: "fake", model: "zai-org/GLM-5.3" }] },
        "kimi-k3": { task: "chat", price, targets: [{ upstream: "second", model: "moonshotai/Kimi-K3" }] },
        sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
      },
    },
  },
  usage: {},
  storedKeys: true,
  store: { kind: "kv", path: "kept/in/memory/by/this/task" },
  console: { record: {}, edit: true },
  keys: [
    { name: "ops", secret: { env: "TEAM_KEY" }, operator: true },
    { name: "anna", secret: { env: "GUEST_KEY" }, budget: { dollars: 5, period: "month", unpriced: "allow" } },
  ],
};
/** What the page of the configuration shows. */
const FILE = `{
  "console": { "edit": true },
  "keys": [
    { "name": "ops", "secret": { "env": "TEAM_KEY" }, "operator": true },
    { "name": "anna", "secret": { "env": "GUEST_KEY" }, "lanes": ["oss"] }
  ],
  "retry": { "rounds": 2 },
  "upstreams": {
    "vllm": {
      "driver": "chat",
      "baseUrl": "http://vllm:8000/v1",
      "headers": { "x-api-key": "kept in the file" }
    }
  },
  "lanes": {
    "oss": { "upstreams": { "chat": "vllm" } }
  }
}
`;
const CLIENTS = ["claude-cli/2.3.1", "codex_cli_rs/0.90.0", "opencode/1.4.0", "OpenAI/Python 2.8.0"];
const PATHS = ["/oss/v1/messages", "/oss/v1/chat/completions", "/oss/v1/responses"];

/** The same numbers each time. */
function* numbers(): Generator<number, never> {
  for (let seed = 7;;) yield (seed = seed * 48_271 % 2_147_483_647) / 2_147_483_647;
}

function fileDesk() {
  const platform = { env: (name: string) => ENV[name], os: "linux" as const, isGranted: () => true };
  const load = (_: unknown, readText: (path: string) => string = () => FILE) =>
    loadConfig({ path: "gateway.json", ...pluginFacts(), env: platform.env, readText });
  const { config } = load(undefined);
  const desk = createConfigDesk({
    file: "gateway.json",
    source: '"gateway.json"',
    load,
    platform,
    running: { app: () => ({}), config: () => config, reload() {} },
  });
  return { ...desk, read: () => ({ source: '"gateway.json"', text: FILE, version: "1" }) };
}

/** An app whose clock moves with what it serves, up to now. */
export function served(): { app: TestApp; fill(): Promise<void> } {
  const random = numbers();
  const next = () => random.next().value;
  let now = Date.now();
  let isReal = true;
  const upstream = fakeUpstream(({ body }) => {
    const { model } = JSON.parse(body) as JsonObject;
    if (!isReal) now += 300 + next() * 900;
    if (!isReal && next() < 0.04) return Response.json({ error: { message: "Busy" } }, { status: 503 });
    const text = "A lane is a path prefix with its own models: clients of any wire ask for them by name.";
    const output = Math.round(40 + next() * 400);
    const usage = { prompt_tokens: Math.round(500 + next() * 9000), completion_tokens: output, total_tokens: 0 };
    return answerStream([
      frame({ delta: { role: "assistant", reasoning_content: `${model} is asked what a lane is.` } }),
      frame({ delta: { content: text } }),
      frame({ delta: {}, finish_reason: "stop" }),
      `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
      "data: [DONE]\n\n",
    ]);
  });
  const app = newApp({
    config: SHOWN,
    store: lastingStore(),
    now: () => isReal ? Date.now() : now,
    fetch: upstream.fetch,
    configuration: () => Promise.resolve(fileDesk()),
  });
  const fill = async () => {
    isReal = false;
    const end = Date.now();
    for (now = end - 290_000; now < end - 1_500; now += next() * 900) {
      const path = PATHS[Math.floor(next() * 3)]!;
      const model = next() < 0.7 ? "glm-5.3" : "kimi-k3";
      const messages = [{ role: "user", content: "What is a lane?" }];
      const more = path === PATHS[2] ? { input: messages, store: false } : { messages, max_tokens: 900 };
      const headers = {
        "x-api-key": next() < 0.5 ? OPS : ENV.GUEST_KEY!,
        "user-agent": CLIENTS[Math.floor(next() * CLIENTS.length)]!,
      };
      const body = { model, stream: true, ...more, ...next() < 0.3 && { top_k: 40 } };
      await (await app.post(path, body, headers)).text();
    }
    isReal = true;
  };
  return { app, fill };
}
