/** The gateway with its default configuration in front of a fake hub, so that every lane can be tried with no network. */
import { parseArgs } from "node:util";
import defaults from "../../gateway.default.json" with { type: "json" };
import { createApp, pluginFacts } from "../../src/app.ts";
import { parseConfig } from "../../src/config/load.ts";
import type { Config } from "../../src/config/schema.ts";
import { fakeHub, HOSTS, TOKEN } from "./fake_hub.ts";
import { serveHub } from "./fake_hub/server.ts";

/** The default configuration, with the fake hub in the place of the hub. `TOKEN` is the `HF_TOKEN` to run it with. */
export function devConfig(origin: string): Config {
  const text = [HOSTS.router, HOSTS.hub].reduce(
    (moved, host) => moved.replaceAll(`"https://${host}`, `"${origin}/${host}`),
    JSON.stringify({ ...defaults, store: { kind: "memory" } }),
  );
  const value = JSON.parse(text);
  for (const upstream of Object.values<{ resultsFrom?: string[] }>(value.upstreams)) upstream.resultsFrom?.push(origin);
  return parseConfig(value, "the configuration of the fake hub", { ...pluginFacts(), env: devEnv });
}

export function devEnv(name: string): string | undefined {
  return name === "HF_TOKEN" ? TOKEN : undefined;
}

if (import.meta.main) {
  const { values } = parseArgs({ args: Deno.args, options: { port: { type: "string", default: "8000" } } });
  const hub = serveHub(fakeHub());
  const app = createApp({ config: devConfig(hub.origin), env: devEnv });
  const server = Deno.serve({ hostname: "127.0.0.1", port: Number(values.port), onListen: () => {} }, app.fetch);
  // deno-lint-ignore no-console -- for the person who starts it
  console.log(advice(`http://127.0.0.1:${server.addr.port}`, hub.origin));
}

function advice(gateway: string, hub: string): string {
  return `The gateway is at ${gateway}, the fake hub at ${hub}. To try:

curl ${gateway}/hf/v1/models
curl ${gateway}/hf/v1/chat/completions --json '{"model":"zai-org/GLM-5.3","messages":[{"role":"user","content":"Hello"}]}'
curl ${gateway}/hf/v1/embeddings --json '{"model":"BAAI/bge-m3","input":["a red apple","a green apple"]}'
curl ${gateway}/hf/v1/rerank --json '{"model":"BAAI/bge-reranker-v2-m3","query":"apple","documents":["a pear","an apple"]}'
curl ${gateway}/hf/v1/audio/speech --json '{"model":"hexgrad/Kokoro-82M:fal-ai","input":"Hello there.","response_format":"wav"}' --output hello.wav
curl ${gateway}/hf/v1/audio/transcriptions --form model=openai/whisper-large-v3 --form file=@hello.wav
curl ${gateway}/v1/audio/translations --form model=openai/whisper-large-v3 --form file=@hello.wav`;
}
