/** What happens in a simulated world: decided by a seed, and made of parts that can be left out one by one. */
import type { ConfigInput } from "../support/app.ts";
import type { PrefillWay, Said } from "../support/continuing_engine.ts";
import { PREFILLS } from "../support/continuing_engine.ts";
import { type Trouble, TROUBLES } from "./database.ts";
import { Random } from "./random.ts";
import {
  type Round,
  roundsFor,
  type Servers,
  serversFor,
  TOOL_ENDS,
  type ToolEnd,
  type ToolName,
  TOOLS,
} from "./rounds.ts";

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
  wire: "chat" | "messages" | "responses";
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

/** The tools of the gateway that clients of each wire can ask for. */
const ASKED_FOR: Partial<Record<ClientName, readonly ToolName[]>> = {
  chat: ["search"],
  messages: TOOLS,
  responses: TOOLS,
};

/** One request of a client. */
export interface Ask {
  id: number;
  at: number;
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
  /** The rounds in which the model calls tools of the gateway first. */
  rounds?: Round[];
  /** Whether its answer is to be stored, and made in the background. */
  isKept?: boolean;
  isBackground?: boolean;
  /** Whether its conversation is kept as a thread, of which each answer is continued once. */
  isThread?: boolean;
  /** The request whose stored answer it continues, if that is complete by then. */
  follows?: number;
  /** The number of the conversation of its key that it belongs to. */
  conversation?: number;
  /** The number of the connection of its key on which it is a message. */
  socket?: number;
}

/** Something that happens to a gateway: it stops and another takes its place, it is gone at once, it gets another configuration. */
export interface Event {
  id: number;
  at: number;
  type: "restart" | "crash" | "reload";
  gateway: number;
}

/** The next calls of the database go wrong. */
export interface Disturbance {
  id: number;
  at: number;
  type: "disturb";
  trouble: Trouble;
  calls: number;
  ms: number;
}

/** The servers of tools are gone for so many milliseconds, with what they knew. */
export interface Outage {
  id: number;
  at: number;
  type: "outage";
  ms: number;
}

export type Step = Ask | Event | Disturbance | Outage;

export const isAsk = (step: Step): step is Ask => step.type === "ask";

export interface Schedule {
  seed: number;
  upstreams: UpstreamFacts[];
  servers: Servers;
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
  /** Whether the budget begins anew each day. */
  isDaily?: true;
  /** Whether upstreams say that each answer was as long as it may be. */
  isLongest?: true;
  /** Of each key. */
  requestsPerMinute?: number;
  concurrentRequests?: number;
  /** Where the gateways store. If absent, in a database that they share, while each counts for itself. */
  store?: "redis" | "memory";
  /** Whether a tool of the remote server searches. */
  searchesByTool?: true;
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
  const some = random.some(CLIENT_NAMES, random.int(1, 5));
  const isThreaded = new Random(seed, "threads").chance(0.1);
  const clients = isThreaded ? ["messages" as const] : some;
  const upstreams = Array.from(
    { length: random.pick([1, 2, 2, 3]) },
    (_, at) => upstreamFor(new Random(seed, "upstream", at)),
  );
  const count = random.pick([1, 3, 6, 12, 25]);
  const spread = random.pick([0, 1_000, 20_000, 120_000]);
  const stored = new Random(seed, "store");
  const tools = new Random(seed, "tools");
  const isTogether = stored.chance(0.3);
  const gateways = random.pick(isTogether ? [1, 2, 2, 3] : [1, 1, 1, 2, 3]);
  const traits: Traits = {
    faulty: random.pick([0, 0.2, 0.5, 0.9]),
    thinks: random.chance(0.3),
    calls: random.chance(0.4),
    leaves: random.chance(0.2),
    slow: random.chance(0.15),
    whole: random.pick([0, 0.3, 1]),
    keeps: random.chance(0.4),
    threads: isThreaded,
    converses: tools.chance(0.3),
    connects: tools.chance(0.25),
    background: random.chance(0.3),
    tools: random.chance(0.25) ? tools.some(TOOLS, tools.int(1, 3)) : [],
    toolEnds: tools.some(TOOL_ENDS, tools.int(1, 6)),
  };
  const events = random.chance(0.3) ? random.some(["restart", "crash", "reload"] as const, random.int(1, 3)) : [];
  // What is in the memory of a process ends with it.
  const isInMemory = gateways === 1 && events.every((event) => event === "reload") && stored.chance(0.1);
  const settings: Settings = {
    ...settingsFor(new Random(seed, "settings")),
    ...(isTogether ? limitsTogether(stored) : isInMemory && { store: "memory" as const }),
  };
  const breaks = traits.tools.length > 0 && tools.chance(0.3);
  const troubles = random.chance(isTogether ? 0.5 : 0.3) ? random.some(TROUBLES, random.int(1, 4)) : [];
  const steps = Array.from({ length: count }, (_, id): Step => {
    const own = new Random(seed, "step", id);
    const [drawn, gateway] = [own.int(0, spread), own.int(0, gateways - 1)];
    // Threads need requests that come after the answers of others.
    const at = isThreaded ? Math.floor(spread * id / count) + drawn % 1_000 : drawn;
    if (events.length > 0 && own.chance(0.15)) return { id, at, type: own.pick(events), gateway };
    if (breaks && own.chance(0.15)) return { id, at, type: "outage", ms: own.pick([0, 1_000, 10_000]) };
    if (troubles.length > 0 && own.chance(0.2)) {
      const trouble = own.pick(troubles);
      return {
        id,
        at,
        type: "disturb",
        trouble,
        calls: own.pick([1, 1, 3, 20]),
        // A lease ends while a server is away for so long.
        ms: own.pick(trouble === "away" ? [300, 1_000, 8_000, 30_000] : [0, 10, 1_000, 8_000]),
      };
    }
    return { id, at, gateway, ...askFor(own, id, { kinds, clients, traits }) };
  });
  return { seed, upstreams, servers: serversFor(new Random(seed, "servers")), gateways, settings, steps };
}

function upstreamFor(random: Random): UpstreamFacts {
  const wire = random.pick(["chat", "chat", "messages", "responses"] as const);
  const prefill = wire === "messages"
    ? "turn"
    : wire === "chat" && random.chance(0.8)
    ? random.pick(PREFILLS)
    : undefined;
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
    ...(random.chance(0.25) && { budget: random.pick([0.001, 0.003, 0.01, 0.1, 50]) }),
    ...(random.chance(0.3) && { isDaily: true as const }),
    ...(random.chance(0.15) && { isLongest: true as const }),
    ...(random.chance(0.1) && { requestsPerMinute: random.int(1, 8) }),
    ...(random.chance(0.1) && { concurrentRequests: random.int(1, 3) }),
    ...(random.chance(0.5) && { searchesByTool: true as const }),
  };
}

/** What gateways on one server count together. */
function limitsTogether(random: Random): Settings {
  return {
    store: "redis",
    ...(random.chance(0.3) && { requestsPerMinute: random.int(1, 12) }),
    ...(random.chance(0.3) && { concurrentRequests: random.int(1, 3) }),
  };
}

interface Traits {
  faulty: number;
  thinks: boolean;
  calls: boolean;
  leaves: boolean;
  slow: boolean;
  whole: number;
  keeps: boolean;
  threads: boolean;
  converses: boolean;
  connects: boolean;
  background: boolean;
  tools: readonly ToolName[];
  toolEnds: readonly ToolEnd[];
}

interface Mix {
  kinds: readonly FaultKind[];
  clients: readonly ClientName[];
  traits: Traits;
}

function askFor(random: Random, id: number, { kinds, clients, traits }: Mix): Omit<Ask, "id" | "at" | "gateway"> {
  const faults: Fault[] = [];
  if (kinds.length > 0) {
    for (let call = 0; call < 6 && random.chance(traits.faulty); call++) {
      faults.push({ call, kind: random.pick(kinds), after: random.pick([0, 1, 1, 2, 3, random.int(1, 40)]) });
    }
  }
  const client = random.pick(clients);
  const isKept = client === "responses" && traits.keeps && random.chance(0.7);
  const tools = traits.tools.filter((tool) => ASKED_FOR[client]?.includes(tool));
  const rounds = tools.length > 0 && random.chance(0.6) ? roundsFor(random, id, tools, traits.toolEnds) : undefined;
  const isThread = traits.threads && !rounds;
  const isBackground = isKept && traits.background && random.chance(0.5);
  const isMessage = client === "responses" && traits.connects && !isBackground && random.chance(0.7);
  return {
    type: "ask",
    client,
    ...(rounds && { rounds }),
    ...(isKept && { isKept }),
    ...(isBackground && { isBackground }),
    ...(isKept && (traits.converses ? conversationFor(random) : earlierFor(random, id))),
    ...(isThread && { isThread, ...rivalFor(random, id) }),
    key: isThread && random.chance(0.8) ? "anna" : random.pick(["anna", "bert"]),
    stream: !isBackground && !random.chance(traits.whole) || isMessage,
    ...(isMessage && { socket: random.int(0, 1) }),
    says: saysFor(random, id, traits),
    pieces: Array.from({ length: random.int(1, 4) }, () => random.int(1, 12)),
    faults,
    ...(traits.leaves && !isBackground && random.chance(0.4) && { leavesAfter: random.int(0, 8_000) }),
    readsEvery: traits.slow && random.chance(0.5) ? random.int(1, 3_000) : 0,
  };
}

function earlierFor(random: Random, id: number): Pick<Ask, "follows"> {
  return id > 0 && random.chance(0.6) ? { follows: random.int(0, id - 1) } : {};
}

/** Requests that continue the same few answers. */
function rivalFor(random: Random, id: number): Pick<Ask, "follows"> {
  return id > 0 && random.chance(0.8) ? { follows: random.int(0, Math.min(id - 1, 2)) } : {};
}

function conversationFor(random: Random): Pick<Ask, "conversation"> {
  return random.chance(0.8) ? { conversation: random.int(0, 1) } : {};
}

function saysFor(random: Random, id: number, { thinks, calls }: Traits): Said[] {
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
    ...steps.flatMap((step) => [
      `${step.id}`,
      ...(isAsk(step) ? step.faults.map(({ call }) => `${step.id}.${call}`) : []),
      ...(isAsk(step) ? (step.rounds ?? []).map(({ number }) => `${step.id}r${number}`) : []),
    ]),
  ];
}

/** The schedule with these parts alone. */
export function only(schedule: Schedule, kept: ReadonlySet<string>): Schedule {
  const settings = Object.fromEntries(Object.entries(schedule.settings).filter(([name]) => kept.has(name)));
  const steps = schedule.steps.filter(({ id }) => kept.has(`${id}`)).map((step) =>
    isAsk(step) ? partOf(step, kept) : step
  );
  return { ...schedule, settings, steps };
}

function partOf({ rounds, faults, ...ask }: Ask, kept: ReadonlySet<string>): Ask {
  return {
    ...ask,
    faults: faults.filter(({ call }) => kept.has(`${ask.id}.${call}`)),
    ...(rounds && { rounds: rounds.filter(({ number }) => kept.has(`${ask.id}r${number}`)) }),
  };
}

const MODELS = { chat: "org/model", messages: "claude-haiku-4-5", responses: "org/model" };

export const modelOf = ({ wire }: UpstreamFacts): string => MODELS[wire];

/** The time limits of all upstreams, in milliseconds: short, so that worlds see them pass. */
export const TIMEOUTS = { headMs: 6_000, firstEventMs: 7_000, idleMs: 9_000, wholeMs: 90_000, totalMs: 240_000 };

/** The address of the server of tools. Nothing is remembered of that of another world. */
export function remoteServerIn(world: string): string {
  return `http://docs.${world}.test/mcp`;
}

/** The configuration of its gateways. `world`: a name, so that nothing is remembered of the upstreams of another world. */
export function configFor({ upstreams, settings, gateways }: Schedule, world: string, isReloaded = false): ConfigInput {
  const { budget, isDaily, toolCalls, continuation, stallContinueMs, hedgeAfterMs } = settings;
  const { requestsPerMinute, concurrentRequests, searchesByTool } = settings;
  const quota = { ...(requestsPerMinute && { requestsPerMinute }), ...(concurrentRequests && { concurrentRequests }) };
  const targets = upstreams.map((facts, at) => ({
    upstream: `up${at}`,
    model: modelOf(facts),
    price: { input: facts.price[0], output: facts.price[1] },
  }));
  return {
    keys: [
      { name: "anna", secret: { env: "ANNA" }, quota },
      { name: "bert", secret: { env: "BERT" }, quota },
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
            targets: isReloaded ? targets.toReversed() : targets,
            ...(continuation && { continuation }),
            ...(stallContinueMs !== undefined && { stallContinueMs }),
            ...(hedgeAfterMs !== undefined && { hedgeAfterMs }),
          },
        },
      },
    },
    ...(budget !== undefined && { budget: { dollars: budget, period: isDaily ? "day" as const : "total" as const } }),
    store: settings.store === "redis" ? { kind: "redis", url: { env: "STORE" } } : { kind: "memory" },
    hostedTools: {
      webSearch: {
        ...(searchesByTool ? { backend: "mcp", server: "docs", tool: "find" } : {
          backend: "searxng",
          baseUrl: `http://search.${world}.test`,
        }),
        timeoutMs: 5_000,
      },
      mcp: {
        servers: { docs: { url: remoteServerIn(world), secret: { env: "DOCS" } } },
        allow: [new URL(remoteServerIn(world)).origin],
        // Another limit makes a reload begin with new sessions.
        callMs: isReloaded ? 5_001 : 5_000,
      },
    },
    ...(gateways > 1 && { replicas: gateways }),
    console: false,
  };
}

export const SECRETS: Readonly<Record<string, string>> = {
  ANNA: "anna-secret-0a1b2c3d4e5f",
  BERT: "bert-secret-0a1b2c3d4e5f",
  OPERATOR: "operator-secret-0a1b2c3d",
  STORE: "redis://store.test:6379",
  DOCS: "docs-secret-0a1b2c3d",
};
