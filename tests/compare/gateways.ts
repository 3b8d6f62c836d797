/** The two gateways that are compared, each a process of its own with a scripted upstream behind it, on one configuration. */
import type { ConfigInput } from "../support/app.ts";
import { within } from "../support/wait.ts";
import { ScriptedUpstream } from "./upstream.ts";

/** Cases of different slots run at once; those of one slot, one after the other. Each has its own lanes and upstreams. */
export const SLOTS = Array.from({ length: 16 }, (_, index) => `s${index}`);

/** The wires of the upstreams, which each slot has a lane for: `s0-chat`. */
export const UPSTREAM_WIRES = ["chat", "messages", "responses"] as const;
export type UpstreamWire = typeof UPSTREAM_WIRES[number];

export const KEYS = {
  any: "key-of-all-1f2e3d",
  narrow: "key-of-few-a1b2c3",
  expired: "key-of-old-d4e5f6",
  seldom: "key-of-two-0a9b8c",
  poor: "key-of-none-7d6e5f",
};
const UPSTREAM_SECRET = "upstream-secret-7f8e9d";
const SEALING_KEY = "sealing-key-of-forty-bytes-0123456789abcd";

/** Above what a busy machine takes for a local answer. */
const HASTY_MS = 3_000;

/** What one case wants of the configuration: two targets behind one name, which share no state with those of another case. */
export interface Pair {
  name: string;
  slot: string;
  wires: readonly [UpstreamWire, UpstreamWire];
  /** Whether one of the targets falls silent. */
  isHasty: boolean;
}

export function configFor(port: number, pairs: readonly Pair[]): ConfigInput {
  const upstreams: NonNullable<ConfigInput["upstreams"]> = {};
  const lanes: NonNullable<ConfigInput["lanes"]> = {};
  const timeouts = { headMs: HASTY_MS, firstEventMs: HASTY_MS, idleMs: HASTY_MS, wholeMs: HASTY_MS };
  for (const slot of SLOTS) {
    const service = (driver: string, name = driver) => ({
      driver,
      baseUrl: `http://127.0.0.1:${port}/${slot}/${name}`,
      secret: { env: "UPSTREAM_SECRET" },
    });
    for (const driver of [...UPSTREAM_WIRES, "embeddings", "rerank", "audio", "tei", "hub"]) {
      upstreams[`${slot}-${driver}`] = service(driver);
    }
    const tasks = { embedding: "embeddings", rerank: "rerank", speech: "audio", transcription: "audio" };
    const others = Object.fromEntries(Object.entries(tasks).map(([task, driver]) => [task, `${slot}-${driver}`]));
    for (const wire of UPSTREAM_WIRES) {
      upstreams[`${slot}-${wire}-hasty`] = { ...service(wire), timeouts };
      upstreams[`${slot}-${wire}-repairing`] = {
        ...service(wire),
        ...(wire === "chat" && { textForms: "parse" }),
        repairArguments: true,
        systemMessages: "anywhere",
        defaultMaxTokens: 4_096,
        refuses: ["seed", "user"],
      };
      const target = (suffix: string) => [{ upstream: `${slot}-${wire}${suffix}`, model: "org/model" }];
      lanes[`${slot}-${wire}`] = {
        models: {
          hasty: { task: "chat", targets: target("-hasty") },
          repairing: { task: "chat", targets: target("-repairing"), contextLength: 32_768, maxOutputTokens: 8_192 },
        },
        upstreams: { chat: `${slot}-${wire}`, ...others },
      };
    }
    const hub = `${slot}-hub`;
    lanes[hub] = {
      upstreams: {
        chat: `${slot}-chat`,
        embedding: `${slot}-tei`,
        rerank: `${slot}-tei`,
        speech: hub,
        transcription: hub,
      },
    };
    const models = pairs.filter((pair) => pair.slot === slot).map(({ name, wires, isHasty }) => [name, {
      task: "chat" as const,
      targets: wires.map((wire, at) => ({
        upstream: `${slot}-${wire}${isHasty ? "-hasty" : ""}`,
        model: `org/${name}-${at}`,
      })),
    }]);
    lanes[`${slot}-pairs`] = { models: Object.fromEntries(models) };
  }
  return {
    keys: [
      { name: "any", secret: { env: "KEY_ANY" }, operator: true },
      { name: "narrow", secret: { env: "KEY_NARROW" }, lanes: ["s0-chat"], models: ["repairing"] },
      { name: "expired", secret: { env: "KEY_EXPIRED" }, expires: "2026-01-01T00:00:00Z" },
      { name: "seldom", secret: { env: "KEY_SELDOM" }, quota: { requestsPerMinute: 2 } },
      { name: "poor", secret: { env: "KEY_POOR" }, budget: { dollars: 0, period: "day" } },
    ],
    upstreams,
    lanes,
    retry: { rounds: 2, budgetMs: 2_000 },
    limits: { bodyBytes: 4_000_000, jsonDepth: 200 },
    store: { kind: "memory" },
    sealing: { key: { env: "SEALING_KEY" } },
    usage: {},
  };
}

/** A gateway, and what is behind it. */
export interface Side {
  url: string;
  upstream: ScriptedUpstream;
  close(): Promise<void>;
}

const PRELOAD = new URL("determinism.ts", import.meta.url).href;

/** Starts the gateway of the checkout in `folder`, and resolves once it serves. */
export async function startSide(folder: string, pairs: readonly Pair[]): Promise<Side> {
  const upstream = new ScriptedUpstream();
  const config = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(config, JSON.stringify(configFor(await upstream.listen(), pairs)));
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-prompt", "--no-check", "--config", `${folder}/deno.json`, "--preload", PRELOAD],
      ...[`${folder}/src/main.ts`, "--config", config, "--port", "0"],
    ],
    cwd: folder,
    env: {
      ...{ LANEWAY_CONFIG: "", HF_TOKEN: "", NO_COLOR: "1", UPSTREAM_SECRET, SEALING_KEY },
      ...Object.fromEntries(Object.entries(KEYS).map(([name, key]) => [`KEY_${name.toUpperCase()}`, key])),
    },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let message = "";
  while (!message.includes("Keys: ")) {
    const { done, value } = await within(reader.read());
    if (done) throw new Error(`The gateway of ${folder} did not start: ${message}`);
    message += value;
  }
  const drained = (async () => {
    while (!(await reader.read()).done);
  })();
  return {
    url: message.match(/http:\/\/[\d.:]+/)![0],
    upstream,
    async close() {
      child.kill("SIGKILL");
      await child.status;
      await drained;
      await upstream.close();
      await Deno.remove(config);
    },
  };
}
