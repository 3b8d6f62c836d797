/**
 * The latest conversations of agents, for the console: the sums of each, and the facts about its turns. They are in memory only, and
 * hold no content.
 */
import type { Usage } from "../canonical/usage.ts";
import { formatDollars, picoDollars } from "../util/dollars.ts";
import type { Ended } from "./feed.ts";

/** The facts about a request that only its content tells. They hold none of it but the names of tools. */
export interface TurnFacts {
  /** The client's name for the conversation, or a digest of its beginning. */
  session: string;
  /** Whether the client named it. */
  isNamed: boolean;
  /** How many messages the conversation has. */
  messages: number;
  /** The tools whose results this turn added. */
  tools: readonly string[];
}

/** One request of a conversation. */
export interface Turn {
  id: string;
  /** ISO 8601. */
  time: string;
  status: number;
  error?: string;
  model?: string;
  target?: string;
  provider?: string;
  durationMs: number;
  firstEventMs?: number;
  usage?: Usage;
  /** In dollars, as a decimal text. */
  cost?: string;
  /** How many notes it has. */
  notes: number;
  messages?: number;
  tools: readonly string[];
}

export interface ConversationSums {
  turns: number;
  errors: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  cacheHits: number;
  notes: number;
  /** In dollars, as a decimal text. Absent if no price was known. */
  dollars?: string;
}

export interface Conversation extends ConversationSums {
  id: string;
  /** The client's name for it. */
  name?: string;
  key?: string;
  team?: string;
  lane?: string;
  client?: string;
  /** ISO 8601: when its first turn began, and when its latest one ended. */
  began: string;
  ended: string;
  /** How often each tool was called. */
  tools: Record<string, number>;
  models: string[];
  targets: string[];
  /** The tokens of the latest turn. */
  context: number;
}

export interface ConversationLimits {
  conversations: number;
  /** The turns of all conversations together. */
  turns: number;
  /** The turns of one conversation. */
  turnsOfOne: number;
}

const LIMITS: ConversationLimits = { conversations: 1_000, turns: 10_000, turnsOfOne: 1_000 };
/** The most names of one kind, and the longest name. */
const [MOST_NAMES, LONGEST_NAME] = [40, 100];

interface Kept {
  facts: Omit<Conversation, keyof ConversationSums | "tools" | "models" | "targets">;
  sums: Omit<ConversationSums, "dollars">;
  pico: bigint | undefined;
  tools: Map<string, number>;
  models: Set<string>;
  targets: Set<string>;
  turns: Turn[];
}

export class Conversations {
  readonly #limits: ConversationLimits;
  /** Those that went on last come last. */
  readonly #kept = new Map<string, Kept>();
  #turns = 0;

  constructor(limits: ConversationLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Adds a request that ended. `facts`: if it was recorded. */
  add(ended: Ended, facts: TurnFacts | undefined): void {
    const session = ended.session ?? facts?.session;
    if (session === undefined || ended.model === undefined) return;
    // Two callers may use the same name.
    const id = JSON.stringify([ended.key ?? "", ended.lane ?? "", session]);
    const kept = this.#kept.get(id) ?? newKept(id, ended, session, ended.session !== undefined || facts!.isNamed);
    this.#kept.delete(id);
    this.#kept.set(id, kept);
    addTurn(kept, turnOf(ended, facts));
    this.#turns++;
    if (kept.turns.length > this.#limits.turnsOfOne) this.#dropTurn(kept);
    this.#makeRoom();
  }

  #dropTurn({ turns }: Kept): void {
    turns.shift();
    this.#turns--;
  }

  #makeRoom(): void {
    const { conversations, turns } = this.#limits;
    while (this.#kept.size > conversations || this.#turns > turns) {
      const [[id, kept]] = this.#kept as unknown as [[string, Kept]];
      if (this.#kept.size === 1) this.#dropTurn(kept);
      else {
        this.#kept.delete(id);
        this.#turns -= kept.turns.length;
      }
    }
  }

  /** The latest first. */
  all(): Conversation[] {
    return Array.from(this.#kept.values(), viewOf).reverse();
  }

  /** `id`: of the conversation, or of the request that is one of its turns. */
  of(id: string): { conversation: Conversation; turns: readonly Turn[] } | undefined {
    const kept = this.#kept.get(id) ?? this.#withTurn(id);
    return kept && { conversation: viewOf(kept), turns: kept.turns };
  }

  #withTurn(request: string): Kept | undefined {
    for (const kept of this.#kept.values()) if (kept.turns.some(({ id }) => id === request)) return kept;
  }
}

function newKept(id: string, { key, team, lane, client, time }: Ended, session: string, isNamed: boolean): Kept {
  return {
    facts: {
      id,
      ...(isNamed && { name: session }),
      ...(key !== undefined && { key }),
      ...(team !== undefined && { team }),
      ...(lane !== undefined && { lane }),
      ...(client !== undefined && { client }),
      began: time,
      ended: time,
      context: 0,
    },
    sums: {
      turns: 0,
      errors: 0,
      inputTokens: 0,
      cachedTokens: 0,
      outputTokens: 0,
      reasoningTokens: 0,
      cacheHits: 0,
      notes: 0,
    },
    pico: undefined,
    tools: new Map(),
    models: new Set(),
    targets: new Set(),
    turns: [],
  };
}

function turnOf(ended: Ended, facts: TurnFacts | undefined): Turn {
  const { id, time, status, error, model, target, provider, durationMs, firstEventMs, usage, cost, notes } = ended;
  return {
    id,
    time,
    status,
    durationMs,
    notes: notes?.length ?? 0,
    tools: (facts?.tools ?? []).slice(0, MOST_NAMES).map((name) => name.slice(0, LONGEST_NAME)),
    ...(error !== undefined && { error }),
    ...(model !== undefined && { model: model.slice(0, LONGEST_NAME) }),
    ...(target !== undefined && { target: target.slice(0, LONGEST_NAME) }),
    ...(provider !== undefined && { provider: provider.slice(0, LONGEST_NAME) }),
    ...(firstEventMs !== undefined && { firstEventMs }),
    ...(usage && { usage }),
    ...(cost !== undefined && { cost }),
    ...(facts && { messages: facts.messages }),
  };
}

function addTurn(kept: Kept, turn: Turn): void {
  const { facts, sums, tools, models, targets } = kept;
  const { usage, status, notes, cost, time, durationMs } = turn;
  kept.turns.push(turn);
  const end = Date.parse(time) + durationMs;
  if (end > Date.parse(facts.ended)) facts.ended = new Date(end).toISOString();
  if (time < facts.began) facts.began = time;
  sums.turns++;
  if (status >= 400) sums.errors++;
  sums.notes += notes;
  if (usage) addTokens(kept, usage);
  const pico = cost === undefined ? undefined : picoDollars(cost);
  if (pico !== undefined) kept.pico = (kept.pico ?? 0n) + pico;
  for (const name of turn.tools) {
    if (tools.has(name) || tools.size < MOST_NAMES) tools.set(name, (tools.get(name) ?? 0) + 1);
  }
  addName(models, turn.model);
  addName(targets, turn.target);
}

function addTokens({ facts, sums }: Kept, usage: Usage): void {
  const { inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage;
  sums.inputTokens += inputTokens;
  sums.cachedTokens += cachedInputTokens;
  sums.outputTokens += outputTokens;
  sums.reasoningTokens += reasoningTokens;
  if (cachedInputTokens > 0) sums.cacheHits++;
  facts.context = inputTokens + outputTokens;
}

function addName(names: Set<string>, name: string | undefined): void {
  if (name !== undefined && names.size < MOST_NAMES) names.add(name);
}

function viewOf({ facts, sums, pico, tools, models, targets }: Kept): Conversation {
  return {
    ...facts,
    ...sums,
    ...(pico !== undefined && { dollars: formatDollars(pico) }),
    tools: Object.fromEntries(tools),
    models: [...models],
    targets: [...targets],
  };
}
