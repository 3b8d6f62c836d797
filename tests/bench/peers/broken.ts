/**
 * `deno task bench:broken [--seed=1] [--streams=40] [--again=0.2] [--only=<names>] [--write]`: what clients get of answers whose
 * upstream streams break off, from Laneway and from its peers in turn, each with the best that its documents offer for that. The
 * upstream continues honestly. It downloads the peers; one that cannot be run is named below the table. With `--write` the table
 * goes to `docs/operation.md`.
 */
import { parseArgs } from "node:util";
import { type Gateway, laneway, startGateway } from "../gateways.ts";
import { stopPrograms } from "../program.ts";
import { alignTable } from "../table.ts";
import { BreakingUpstream, BREAKS, type Conversation, conversationOf } from "./breaking_upstream.ts";
import { type AskedWire, type Outcome, outcomeOf, OUTCOMES } from "./broken_answers.ts";
import { type Packages, PEER_NAMES, type PeerName, versionOf } from "./install.ts";
import { writeBetweenMarks } from "./marks.ts";
import { peer } from "./peers.ts";
import newest from "./newest.json" with { type: "json" };

const PAGE = new URL("../../../docs/operation.md", import.meta.url);
/** All of them, hanging, take half a minute. */
const AT_ONCE = 40;
/** How long a gateway that can tell waits for the next word. */
const STALL_MS = 8_000;

const { values: options } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    streams: { type: "string", default: "40" },
    again: { type: "string", default: "0.2" },
    only: { type: "string" },
    write: { type: "boolean" },
  },
});
const [seed, streams, again] = [options.seed, options.streams, options.again].map(Number) as [number, number, number];
const conversations = new Map<string, Conversation>(
  BREAKS.flatMap((how) =>
    Array.from({ length: streams }, (_, at) => [`${how}-${at}`, conversationOf(seed, `${at}`, how, again)] as const)
  ),
);

/** LiteLLM reads streams by other code where the upstream is said to be OpenAI's, not vLLM's. */
const BY_OPENAI = "LiteLLM openai/";

/** What is set for each, once its program's files are in its folder. */
const SETTINGS: Partial<Record<string, (folder: string, gateway: Gateway) => Promise<void>>> = {
  Laneway: (folder) =>
    edit(`${folder}/gateway.json`, (config) => {
      config.upstreams.fake.prefill = "continue-final-message";
      config.lanes.oss.stallContinueMs = STALL_MS;
    }),
  LiteLLM: (folder) => edit(`${folder}/config.yaml`, continueInLiteLLM),
  [BY_OPENAI]: (folder) =>
    edit(`${folder}/config.yaml`, (config) => {
      config.model_list[0].litellm_params.model = "openai/bench";
      config.litellm_settings.use_chat_completions_url_for_anthropic_messages = true;
      continueInLiteLLM(config);
    }),
  "CCR 3": (folder) =>
    edit(`${folder}/.claude-code-router/config.json`, (config) => {
      config.API_TIMEOUT_MS = STALL_MS;
    }),
  Portkey: (_, { wires }) => {
    const config = { retry: { attempts: 2 }, request_timeout: STALL_MS };
    wires.chat!.headers!["x-portkey-config"] = JSON.stringify(config);
    return Promise.resolve();
  },
};

// deno-lint-ignore no-explicit-any -- configuration of another program
function continueInLiteLLM(config: any): void {
  const [{ litellm_params }] = config.model_list;
  litellm_params.stream_timeout = STALL_MS / 1_000;
  config.model_list = ["bench", "second", "third"].map((model_name) => ({
    model_name,
    litellm_params,
    model_info: { supports_assistant_prefill: true },
  }));
  config.router_settings = {
    enable_mid_stream_fallback_continuation: true,
    fallbacks: [{ bench: ["second", "third"] }, { second: ["third"] }],
    disable_cooldowns: true,
  };
}

// deno-lint-ignore no-explicit-any -- configurations of other programs
async function edit(file: string, change: (config: any) => void): Promise<void> {
  const config = JSON.parse(await Deno.readTextFile(file));
  change(config);
  await Deno.writeTextFile(file, JSON.stringify(config));
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => void stopPrograms().then(() => Deno.exit(1)));
}

type Cells = Record<string, Record<Outcome, number>>;
const rows: [string, ...string[]][] = [];
const failures: string[] = [];
for (
  const name of ["Laneway", ...PEER_NAMES, BY_OPENAI].filter((name) => options.only?.split(",").includes(name) ?? true)
) {
  try {
    const gateway = configured(await gatewayOf(name));
    for (const [wire, cells] of Object.entries(await measure(gateway))) {
      rows.push([`${name}, ${wire}`, ...BREAKS.map((how) => cellOf(cells[how]!))]);
    }
  } catch (error) {
    failures.push(`${name} could not be run: ${String(error).replaceAll(/\s+/g, " ").slice(0, 300)}`);
  } finally {
    await stopPrograms();
  }
}
const report = [describeRun(), alignTable([["", ...BREAKS], ...rows]), ...failures].join("\n\n");
say(report);
if (options.write) await writeBetweenMarks(PAGE, report);

async function gatewayOf(name: string): Promise<Gateway> {
  if (name === "Laneway") return laneway(name, {}, "main.ts");
  if (name === BY_OPENAI) return { ...await gatewayOf("LiteLLM"), name };
  say(`install ${name} ${versionOf(name as PeerName, packagesOf(name))}`);
  return await peer(name as PeerName, packagesOf(name));
}

/** Newer than those that were measured otherwise, where there are such. */
function packagesOf(name: string): Packages | undefined {
  return (newest as Record<string, Packages>)[name];
}

function configured(gateway: Gateway): Gateway {
  return {
    ...gateway,
    async program(upstream, port, folder) {
      const program = await gateway.program(upstream, port, folder);
      await SETTINGS[gateway.name]?.(folder, gateway);
      return program;
    },
  };
}

/** Each wire has an upstream of its own, so that each conversation is at its beginning. */
async function measure(gateway: Gateway): Promise<Partial<Record<AskedWire, Cells>>> {
  const measured: Partial<Record<AskedWire, Cells>> = {};
  for (const wire of ["chat", "messages"] as const) {
    const endpoint = gateway.wires[wire];
    if (!endpoint) continue;
    const upstream = new BreakingUpstream(conversations);
    const started = await startGateway(gateway, await upstream.listen());
    const cells: Cells = measured[wire] = {};
    for (const how of BREAKS) {
      const counts = cells[how] = Object.fromEntries(OUTCOMES.map((one) => [one, 0])) as Record<Outcome, number>;
      const left = [...conversations].filter(([, conversation]) => conversation.how === how);
      const clients = Array.from({ length: AT_ONCE }, async () => {
        for (let next = left.shift(); next; next = left.shift()) {
          const [name, { words }] = next;
          const prompt = `Go on talking, conversation=${name}`;
          counts[await outcomeOf(wire, started.origin, endpoint, prompt, words.join(""))]++;
        }
      });
      await Promise.all(clients);
      say(`${gateway.name}, ${wire}, ${how}: ${cellOf(counts)}`);
    }
    await started.stop();
    await upstream.close();
  }
  return measured;
}

function cellOf(counts: Record<Outcome, number>): string {
  return OUTCOMES.filter((one) => counts[one] > 0).map((one) => `${counts[one]} ${one}`).join(", ");
}

function describeRun(): string {
  const versions = PEER_NAMES.map((name) => `${name} ${versionOf(name, packagesOf(name))}`).join(", ");
  return `${new Date().toISOString().slice(0, 10)}, ${versions}; ${streams} streams a cell, --seed=${seed}.`;
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}
