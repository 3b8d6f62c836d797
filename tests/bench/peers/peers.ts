/** The peers, each in front of the one fake upstream that speaks chat, with its own defaults but for logs. */
import type { Gateway } from "../gateways.ts";
import { freePort } from "../program.ts";
import { install, type Packages, type PeerName } from "./install.ts";

const KEY = `sk-${crypto.randomUUID()}`;
const PATHS = { chat: "/v1/chat/completions", messages: "/v1/messages" };
/** Preloaded into Node: collects garbage on SIGUSR2. */
const COLLECTS = ["--require", new URL("./collect_on_signal.cjs", import.meta.url).pathname];
const SLOW_START_MS = 120_000;

/** It is configured by the headers of each request. */
const PORTKEY_HEADERS: Record<string, string> = { "x-portkey-provider": "openai", authorization: `Bearer ${KEY}` };

type Made = Omit<Gateway, "name" | "program"> & {
  program(folder: string, upstream: string, port: number, home: string): ReturnType<Gateway["program"]>;
};

/** Installs a peer. */
export async function peer(name: PeerName, packages?: Packages): Promise<Gateway> {
  const folder = await install(name, packages);
  const { program, ...made } = MADE[name];
  return { name, ...made, program: (upstream, port, home) => program(folder, upstream, port, home) };
}

const MADE: Record<PeerName, Made> = {
  "llms": {
    wires: {
      messages: { path: PATHS.messages, model: "fake,bench" },
      chat: { path: PATHS.chat, model: "fake,bench" },
    },
    async program(folder, upstream, port, home) {
      const provider = providerAt(upstream);
      const initialConfig = { HOST: "127.0.0.1", PORT: String(port), LOG: false, providers: [provider] };
      const module = JSON.stringify(`${folder}/node_modules/@musistudio/llms`);
      const options = JSON.stringify({ logger: false, initialConfig });
      await Deno.writeTextFile(`${home}/start.cjs`, `new (require(${module}).default)(${options}).start();`);
      return { command: "node", args: [...COLLECTS, `${home}/start.cjs`] };
    },
  },
  "Portkey": {
    // Its messages endpoint speaks to upstreams of that wire alone.
    wires: {
      chat: {
        path: PATHS.chat,
        model: "bench",
        headers: PORTKEY_HEADERS,
      },
    },
    program(folder, upstream, port) {
      PORTKEY_HEADERS["x-portkey-custom-host"] = `${upstream}/v1`;
      const main = `${folder}/node_modules/@portkey-ai/gateway/build/start-server.js`;
      return Promise.resolve({ command: "node", args: [...COLLECTS, main, `--port=${port}`, "--headless"] });
    },
  },
  "CCR 3": {
    wires: {
      messages: { path: PATHS.messages, model: "fake,bench", headers: { "x-api-key": KEY } },
      chat: { path: PATHS.chat, model: "fake,bench", headers: { "x-api-key": KEY } },
    },
    deadlineMs: SLOW_START_MS,
    async program(folder, upstream, port, home) {
      const provider = providerAt(upstream);
      // It takes over the file of its earlier versions.
      const config = {
        LOG: false,
        HOST: "127.0.0.1",
        PORT: port,
        APIKEY: KEY,
        Providers: [provider],
        Router: { default: "fake,bench" },
      };
      await Deno.mkdir(`${home}/.claude-code-router`);
      await Deno.writeTextFile(`${home}/.claude-code-router/config.json`, JSON.stringify(config));
      const main = `${folder}/node_modules/unpacked/dist/main/cli.js`;
      return {
        command: "node",
        args: [main, "serve", "--no-open", "--port", String(freePort())],
        env: { HOME: home, NODE_OPTIONS: COLLECTS.join(" ") },
      };
    },
  },
  "LiteLLM": {
    wires: {
      messages: { path: PATHS.messages, model: "bench", headers: { authorization: `Bearer ${KEY}` } },
      chat: { path: PATHS.chat, model: "bench", headers: { authorization: `Bearer ${KEY}` } },
    },
    deadlineMs: SLOW_START_MS,
    async program(folder, upstream, port, home) {
      const litellm_params = { model: "hosted_vllm/bench", api_base: `${upstream}/v1`, api_key: "k" };
      const config = {
        model_list: [{ model_name: "bench", litellm_params }],
        litellm_settings: { telemetry: false },
        general_settings: { master_key: KEY },
      };
      // JSON is YAML, too.
      await Deno.writeTextFile(`${home}/config.yaml`, JSON.stringify(config));
      return {
        command: `${folder}/bin/litellm`,
        args: ["--config", `${home}/config.yaml`, "--host", "127.0.0.1", "--port", String(port)],
        env: { LITELLM_LOG: "ERROR", LITELLM_LOCAL_MODEL_COST_MAP: "True" },
      };
    },
  },
};

/** The fake upstream as the two programs of one maker name it. */
function providerAt(upstream: string) {
  return { name: "fake", api_base_url: `${upstream}/v1/chat/completions`, api_key: "k", models: ["bench"] };
}
