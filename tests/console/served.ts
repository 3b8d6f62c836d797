/** A gateway that has served for five minutes, for the pictures of the console. */
import type { JsonObject } from "../../src/canonical/json.ts";
import { pluginFacts } from "../../src/app.ts";
import { createConfigDesk } from "../../src/cli/config_desk.ts";
import { loadConfig } from "../../src/config/load.ts";
import { CONFIG, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { answerStream, frame } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { createSeriesBook } from "../../src/state/series/book.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";
import { OPS } from "./desk.ts";

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
const STEPS = [["grep", 20], ["read_file", 160], ["read_file", 90], ["edit", 4], ["run_tests", 40]] as const;

/** An agent that works with tools. */
async function converse(app: TestApp): Promise<void> {
  const tools = ["grep", "read_file", "edit", "run_tests"].map((name) => ({ name, input_schema: { type: "object" } }));
  const messages: JsonObject[] = [{
    role: "user",
    content: "The tests of `src/lane.ts` fail. Find out why, and repair it.",
  }];
  const send = async (more = "") => {
    const system = `You are an agent that changes code.${more}`;
    const body = { model: "glm-5.3", max_tokens: 900, stream: true, system, tools, messages };
    const headers = {
      "x-api-key": OPS,
      "user-agent": CLIENTS[0]!,
      "x-claude-code-session-id": "5f2c9a41-7d7e-4b1a-9c55-0f6f0f7a2c1d",
    };
    await (await app.post(PATHS[0]!, body, headers)).text();
  };
  await send();
  for (const [index, [name, lines]] of STEPS.entries()) {
    const id = `toolu_${index}`;
    messages.push(
      {
        role: "assistant",
        content: [{ type: "text", text: `Next is \`${name}\`.` }, {
          type: "tool_use",
          id,
          name,
          input: { path: "src/lane.ts" },
        }],
      },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: id,
          content: "export const prefix = /^[a-z]+$/;\n".repeat(lines),
        }],
      },
    );
    await send(index === 3 ? " It is noon." : "");
  }
}

/** What a week of agents came to, for the charts that go back further than five minutes. */
async function fillWeeks(store: Store, next: () => number): Promise<void> {
  const now = Date.now();
  const book = createSeriesBook({ store, now: () => now, retentionDays: 90, patienceMs: 5_000 });
  const [models, keys] = [["glm-5.3", "kimi-k3", "qwen3.5-coder", "deepseek-v4"], ["ops", "anna", "ben", "ci"]];
  for (let at = now - 14 * DAY_MS; at < now - 300_000; at += next() * 500_000) {
    const isNight = new Date(at).getUTCHours() < 6;
    if (isNight && next() < 0.8) continue;
    const [index, durationMs] = [Math.floor(next() ** 2 * models.length), 900 + next() ** 4 * 40_000];
    const inputTokens = Math.round(4_000 + next() * 60_000);
    book.add({
      time: new Date(at - durationMs).toISOString(),
      status: next() < 0.03 ? 503 : 200,
      durationMs,
      firstEventMs: durationMs / 6,
      model: models[index],
      target: `fake/${models[index]}`,
      key: keys[Math.floor(next() * keys.length)],
      client: CLIENTS[Math.floor(next() * CLIENTS.length)],
      lane: "oss",
      usage: {
        inputTokens,
        outputTokens: Math.round(100 + next() * 900),
        cachedInputTokens: next() < 0.7 ? Math.round(inputTokens * 0.8) : 0,
        reasoningTokens: 90,
      },
      cost: (inputTokens * 6e-7).toFixed(6),
    });
    // More steps would not wait for the store.
    if (next() < 0.1) await book.close();
  }
  await book.close();
}

const DAY_MS = 86_400_000;

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
  return {
    ...desk,
    read: () => ({ source: '"gateway.json"', text: FILE, version: "1" }),
    // The lists are those of the gateway that serves.
    entries: () => desk.entries(JSON.stringify(SHOWN)),
  };
}

/** An app whose clock moves with what it serves, up to now. */
export function served(): { app: TestApp; fill(): Promise<void> } {
  const random = numbers();
  const next = () => random.next().value;
  let now = Date.now();
  let isReal = true;
  const upstream = fakeUpstream(({ body }) => {
    const { model, tools } = JSON.parse(body) as JsonObject;
    if (!isReal) now += 300 + next() * 900;
    if (!isReal && next() < 0.04) return Response.json({ error: { message: "Busy" } }, { status: 503 });
    const isAgent = tools !== undefined;
    const text = isAgent
      ? "The guard in `src/lane.ts` is **inverted**. Next I look at the tests."
      : "A lane is a path prefix with its own models: clients of any wire ask for them by name.";
    const output = Math.round(40 + next() * 400);
    const prompt_tokens = isAgent ? 6_000 + Math.round(body.length / 3) : Math.round(500 + next() * 9000);
    const cached_tokens = isAgent && !body.includes("It is noon") ? Math.round(prompt_tokens * 0.85) : 0;
    const usage = {
      prompt_tokens,
      completion_tokens: output,
      total_tokens: 0,
      prompt_tokens_details: { cached_tokens },
    };
    return answerStream([
      frame({
        delta: {
          role: "assistant",
          reasoning_content: isAgent ? "I need more of the code." : `${model} is asked what a lane is.`,
        },
      }),
      frame({ delta: { content: text } }),
      frame({ delta: {}, finish_reason: "stop" }),
      `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
      "data: [DONE]\n\n",
    ]);
  });
  const store = createMemoryStore({ now: Date.now, limitBytes: 2 ** 24 });
  const app = newApp({
    config: SHOWN,
    store,
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
    await converse(app);
    await fillWeeks(store, next);
  };
  return { app, fill };
}
