/** What happens in a simulated world: decided by a seed, and made of parts that can be left out one by one. */
import type { ConfigInput } from "../support/app.ts";
import type { PrefillWay, Said } from "../support/continuing_engine.ts";
import { PREFILLS } from "../support/continuing_engine.ts";
import { Random } from "./random.ts";

/** How a call of an upstream fails: before its answer begins, or after some pieces of it. */
export const FAULTS = [
  "unreachable",
  "failing",
  "limiting",
  "busy",
  "silent",
  "closed",
  "reset",
  "garbage",
  "error",
  "overload",
  "stall",
] as const;
export type FaultKind = typeof FAULTS[number];
export const BEFORE: readonly FaultKind[] = ["unreachable", "failing", "limiting", "busy", "silent"];

export interface Fault {
  /** The number of the call among those for one request. */
  call: number;
  kind: FaultKind;
  /** After how many pieces of the answer. */
  after: number;
}

export interface UpstreamFacts {
  wire: "chat" | "messages";
  /** Absent if it begins a new turn. */
  prefill?: PrefillWay;
  /** Dollars for a million tokens of input, and of output. */
  price: readonly [number, number];
  /** Milliseconds until its answer begins, and between two pieces. */
  pace: readonly [number, number];
  /** How many calls it gets at once. */
  running?: number;
}

export const CLIENT_NAMES = ["chat", "messages", "responses", "gemini", "ollama"] as const;
export type ClientName = typeof CLIENT_NAMES[number];

/** One request of a client. */
export interface Ask {
  type: "ask";
  client: ClientName;
  key: string;
  stream: boolean;
  gateway: number;
  says: Said[];
  pieces: number[];
  faults: Fault[];
  /** After how many milliseconds the client leaves. */
  leavesAfter?: number;
  /** How long it waits between two reads, in milliseconds. */
  readsEvery: number;
}

export type Step = { at: number; id: number } & Ask;

export interface Schedule {
  seed: number;
  upstreams: UpstreamFacts[];
  gateways: number;
  settings: Settings;
  steps: Step[];
}

export interface Settings {
  continuation?: "off" | "same" | "any";
  stallContinueMs?: number;
  hedgeAfterMs?: number;
  toolCalls?: "whole";
  /** Of all keys together, in dollars. */
  budget?: number;
}

const WORDS = [
  "word",
  "ha",
  " ",
  "  ",
  "\n",
  "\n\n",
  ".",
  "é",
  "😀",
  "👩‍👩‍👧",
  "```\n",
  "| --- |\n",
  "0, ",
  "\t",
  "“",
  "again and again ",
];

/** The world of this seed. Swarm testing: each world has only some of the features, and so more of them. */
export function scheduleFor(seed: number): Schedule {
  const random = new Random(seed, "world");
  const kinds = random.some(FAULTS, random.int(0, 5));
  const clients = random.some(CLIENT_NAMES, random.int(1, 5));
  const upstreams = Array.from(
    { length: random.pick([1, 2, 2, 3]) },
    (_, at) => upstreamFor(new Random(seed, "upstream", at)),
  );
  const settings = settingsFor(new Random(seed, "settings"));
  const count = random.pick([1, 3, 6, 12]);
  const spread = random.pick([0, 1_000, 20_000, 120_000]);
  const traits = {
    faulty: random.pick([0.2, 0.5, 0.9]),
    thinks: random.chance(0.3),
    calls: random.chance(0.4),
    leaves: random.chance(0.2),
    slow: random.chance(0.15),
    whole: random.pick([0, 0.3, 1]),
  };
  const steps = Array.from({ length: count }, (_, id): Step => {
    const own = new Random(seed, "step", id);
    return { at: own.int(0, spread), id, ...askFor(own, id, { kinds, clients, traits }) };
  });
  return { seed, upstreams, gateways: 1, settings, steps };
}

function upstreamFor(random: Random): UpstreamFacts {
  const wire = random.pick(["chat", "chat", "messages"] as const);
  const prefill = wire === "messages" ? "turn" : random.chance(0.8) ? random.pick(PREFILLS) : undefined;
  return {
    wire,
    ...(prefill && { prefill }),
    price: [random.int(1, 999) / 100, random.int(1, 999) / 100],
    pace: [random.int(0, 900), random.int(1, 400)],
    ...(random.chance(0.2) && { running: random.int(1, 3) }),
  };
}

function settingsFor(random: Random): Settings {
  return {
    ...(random.chance(0.6) && { continuation: random.pick(["off", "same", "any", "any"] as const) }),
    ...(random.chance(0.2) && { stallContinueMs: random.int(600, 3_000) }),
    ...(random.chance(0.2) && { hedgeAfterMs: random.int(100, 2_000) }),
    ...(random.chance(0.15) && { toolCalls: "whole" as const }),
    ...(random.chance(0.2) && { budget: random.pick([0.01, 0.1, 1, 50]) }),
  };
}

interface Mix {
  kinds: readonly FaultKind[];
  clients: readonly ClientName[];
  traits: { faulty: number; thinks: boolean; calls: boolean; leaves: boolean; slow: boolean; whole: number };
}

function askFor(random: Random, id: number, { kinds, clients, traits }: Mix): Ask {
  const faults: Fault[] = [];
  if (kinds.length > 0) {
    for (let call = 0; call < 6 && random.chance(traits.faulty); call++) {
      faults.push({ call, kind: random.pick(kinds), after: random.pick([0, 1, 1, 2, 3, random.int(1, 40)]) });
    }
  }
  return {
    type: "ask",
    client: random.pick(clients),
    key: random.pick(["anna", "bert"]),
    stream: !random.chance(traits.whole),
    gateway: 0,
    says: saysFor(random, id, traits),
    pieces: Array.from({ length: random.int(1, 4) }, () => random.int(1, 12)),
    faults,
    ...(traits.leaves && random.chance(0.4) && { leavesAfter: random.int(0, 8_000) }),
    readsEvery: traits.slow && random.chance(0.5) ? random.int(1, 3_000) : 0,
  };
}

function saysFor(random: Random, id: number, { thinks, calls }: Mix["traits"]): Said[] {
  const text = (mark: string) =>
    `${mark}${id}:${Array.from({ length: random.int(1, 20) }, () => random.pick(WORDS)).join("")}:${id}${mark}`;
  const said: Said[] = [
    ...(!calls || random.chance(0.7) ? [{ text: text("T") }] : []),
    ...Array.from({ length: calls ? random.int(0, 2) : 0 }, () => callFor(random, id)),
  ];
  if (said.length === 0) said.push({ text: text("T") });
  return thinks && random.chance(0.5) ? [{ reasoning: text("R") }, ...said] : said;
}

function callFor(random: Random, id: number): Said {
  const input = random.pick(["{}", `{"of":${id}}`, `{"of":${id},"text":"😀 \\"quoted\\" {}","n":[1,2]}`]);
  return { call: random.pick(["look", "find"]), input };
}

/** The names of the parts that may be left out: each step, and each fault of a step. */
export function partsOf({ steps, settings }: Schedule): string[] {
  return [
    ...Object.keys(settings),
    ...steps.flatMap(({ id, faults }) => [`${id}`, ...faults.map(({ call }) => `${id}.${call}`)]),
  ];
}

/** The schedule with these parts alone. */
export function only(schedule: Schedule, kept: ReadonlySet<string>): Schedule {
  const settings = Object.fromEntries(Object.entries(schedule.settings).filter(([name]) => kept.has(name)));
  const steps = schedule.steps.filter(({ id }) => kept.has(`${id}`)).map((step) => ({
    ...step,
    faults: step.faults.filter(({ call }) => kept.has(`${step.id}.${call}`)),
  }));
  return { ...schedule, settings, steps };
}

const MODELS = { chat: "org/model", messages: "claude-haiku-4-5" };

export const modelOf = ({ wire }: UpstreamFacts): string => MODELS[wire];

/** The time limits of all upstreams, in milliseconds: short, so that worlds see them pass. */
export const TIMEOUTS = { headMs: 6_000, firstEventMs: 7_000, idleMs: 9_000, wholeMs: 90_000, totalMs: 240_000 };

/** The configuration of its gateways. `world`: a name, so that nothing is remembered of the upstreams of another world. */
export function configFor({ upstreams, settings }: Schedule, world: string): ConfigInput {
  const { budget, toolCalls, continuation, stallContinueMs, hedgeAfterMs } = settings;
  const targets = upstreams.map((facts, at) => ({
    upstream: `up${at}`,
    model: modelOf(facts),
    price: { input: facts.price[0], output: facts.price[1] },
  }));
  return {
    keys: [
      { name: "anna", secret: { env: "ANNA" } },
      { name: "bert", secret: { env: "BERT" } },
      { name: "operator", secret: { env: "OPERATOR" }, operator: true },
    ],
    upstreams: Object.fromEntries(
      upstreams.map(({ wire, prefill, running }, at) => [`up${at}`, {
        driver: wire,
        baseUrl: `http://up${at}.${world}.test/v1`,
        timeouts: TIMEOUTS,
        ...(wire === "chat" && prefill && { prefill }),
        ...(running !== undefined && { concurrency: { running, waiting: 3, waitMs: 4_000 } }),
      }]),
    ),
    lanes: {
      oss: {
        ...(toolCalls && { toolCalls }),
        models: {
          model: {
            task: "chat",
            targets,
            ...(continuation && { continuation }),
            ...(stallContinueMs !== undefined && { stallContinueMs }),
            ...(hedgeAfterMs !== undefined && { hedgeAfterMs }),
          },
        },
      },
    },
    ...(budget !== undefined && { budget: { dollars: budget, period: "day" as const } }),
    store: { kind: "memory" },
    console: false,
  };
}

export const SECRETS: Readonly<Record<string, string>> = {
  ANNA: "anna-secret-0a1b2c3d4e5f",
  BERT: "bert-secret-0a1b2c3d4e5f",
  OPERATOR: "operator-secret-0a1b2c3d",
};
