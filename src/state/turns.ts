/**
 * The stored turns of conversations. Turns that follow one another are in one list, their thread, so that a conversation of any
 * depth is read at once. If two turns follow the same turn, the second begins a thread of its own. A turn knows its line: the
 * threads that lead to it. A turn is written once and never changed.
 */
import type { AssistantMessage, Message } from "../canonical/generate.ts";
import type { JsonObject } from "../canonical/json.ts";
import { GatewayError } from "../errors.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import { type Chain, type QuotaEntry, quotaKey, renewalFor, settled, type StorageQuota } from "./retention.ts";
import type { Store, StoreEntry, StoreKey } from "./store.ts";

/** The half of a stored answer that later turns need. */
export interface Turn {
  previous?: string;
  messages: Message[];
  said: AssistantMessage["content"];
  /** On the first turn: what its wire keeps for all later ones. */
  setup?: JsonObject;
}

/** Turns whose keys begin alike. Turns of one space never follow those of another. */
export interface TurnSpace {
  /** The first text of the keys of single turns. */
  answers: string;
  /** The first text of the keys of threads. */
  threads: string;
  /** Whether a turn is followed at most once. A second one is then not stored. */
  isLinear: boolean;
}

const RESPONSES: TurnSpace = { answers: "answers", threads: "threads", isLinear: false };

/** The size of a conversation. */
export interface Size {
  /** The characters of all its texts. */
  characters: number;
  /** The number of its JSON values of all types, nested ones included. */
  values: number;
}

/** Stored turns that another turn may follow. */
export interface Conversation {
  line: Line;
  size: Size;
  /** The stored turns that are kept as long as the turn that follows. */
  chain?: Chain;
}

/** The threads that lead to a turn, the oldest first, with how many turns of each. The last count includes the turn itself. */
export type Line = readonly (readonly [thread: string, turns: number])[];

/** The location of a turn, stored under the turn's id. */
interface TurnLocation extends Pick<Conversation, "line" | "size"> {
  version: number;
  /** Its position in the owner's quota list. */
  held?: number;
  /** Until when the turns before it are kept, in milliseconds since the epoch. */
  kept?: number;
}

/** A turn in its thread. The id shows a reader whether it is the turn that it looks for. */
interface Row extends Turn {
  version: number;
  id: string;
  held?: number;
}

/** The version of the record format. A reader ignores fields that it does not know. */
export const VERSION = 2;
/** The most threads in a line. A longer one begins anew, and its first turn leads to the line before it with one more read. */
const MOST_STRETCHES = 32;
/** How many locations are remembered. They take two megabytes as a rule, and 24 if each line has the most threads. */
const MOST_WRITTEN = 5_000;

export interface Found extends Conversation {
  /** The oldest first. */
  turns: Turn[];
}

/** The things that are written together with a turn. */
export interface Addition {
  follows?: Conversation;
  /** The other half of the answer. */
  rest: StoreEntry;
  expiresAt: number;
  /** How long a turn is kept, in milliseconds. */
  retentionMs: number;
}

export class Turns {
  readonly keys: TurnKeys;
  readonly #store: Store;
  readonly #storageQuota: StorageQuota | undefined;
  readonly #isLinear: boolean;
  /**
   * The locations of turns that this process wrote lately, so that the next turn reads them at once. A location never changes,
   * and there is nothing at that of a deleted turn.
   */
  readonly #written = new BoundedMap<string, TurnLocation>(MOST_WRITTEN);

  /** `storageQuota`: absent if owners may store any amount. */
  constructor(store: Store, storageQuota?: StorageQuota, space: TurnSpace = RESPONSES) {
    this.#store = store;
    this.#storageQuota = storageQuota;
    this.keys = new TurnKeys(space);
    this.#isLinear = space.isLinear;
  }

  async find(owner: string, id: string): Promise<Turn | undefined> {
    const place = await this.#placeOf(owner, id);
    if (!place) return await this.#findOld(owner, id);
    const row = await this.#store.get(this.keys.row(owner, place.line)) as Row | undefined;
    if (row?.id !== id) return undefined;
    const { version: _version, id: _id, held: _held, ...turn } = row;
    return turn;
  }

  /** The conversation up to `id`. Throws if one of its turns is missing, or it is longer than `limits`. */
  async history(owner: string, id: string, limits: Size): Promise<Found> {
    const newest: Turn[] = [];
    // The newest location knows the size of the whole conversation.
    let known: TurnLocation | undefined;
    const keys: StoreKey[][] = [];
    let size: Size = { characters: 0, values: 0 };
    for (let at: string | undefined = id; at !== undefined;) {
      const place = await this.#placeOf(owner, at);
      const old: Turn | undefined = place ? undefined : await this.#findOld(owner, at);
      known ??= place;
      size = known?.size ?? sum(size, sizeOf(old));
      if (size.characters > limits.characters || size.values > limits.values) throw tooLong();
      const turns: (Turn & { id: string } | undefined)[] = place
        ? await this.#rowsOf(owner, place.line)
        : [old && { ...old, id: at }];
      const positions = place ? this.keys.positions(owner, place.line) : [];
      for (const [index, turn] of turns.entries()) {
        if (at === undefined || turn?.id !== at) throw notFound(id, at ?? id);
        newest.push(turn);
        keys.push(this.keys.at(owner, at, positions[index], (turn as Row).held));
        at = turn.previous;
      }
    }
    const { line = [], kept } = known ?? {};
    return { turns: newest.reverse(), line, size, chain: { keys: keys.reverse(), kept } };
  }

  /** Writes the turn, and the other half of its answer. Returns whether the id was free. */
  async add(
    owner: string,
    id: string,
    turn: Turn,
    { follows, rest, expiresAt, retentionMs }: Addition,
  ): Promise<boolean> {
    const own = sizeOf(turn);
    const size = follows ? sum(follows.size, own) : own;
    const slot = await this.#storageQuota?.reserve(owner, turn, rest);
    const held = slot && { held: slot.position };
    const row: Row = { version: VERSION, id, ...turn, ...held };
    const { renewal, kept } = renewalFor(follows?.chain ?? { keys: [] }, expiresAt, retentionMs);
    const addAt = async (line: Line): Promise<boolean> => {
      const place: TurnLocation = { version: VERSION, line, size, ...(kept !== undefined && { kept }), ...held };
      const entries: StoreEntry[] = [rest, [this.keys.row(owner, line), row], [
        this.keys.of(owner, id, "place"),
        place,
      ]];
      if (slot) entries.push(slot.entryFor(this.keys.quotaEntry(owner, id, line, follows)));
      if (!await this.#store.add(entries, expiresAt, renewal)) return false;
      this.#written.set(nameOf(owner, id), place);
      return true;
    };
    const addOnce = async () => {
      const lines = linesAfter(follows?.line ?? [], id);
      for (const line of this.#isLinear ? lines.slice(0, 1) : lines) if (await addAt(line)) return true;
      return false;
    };
    return await settled(slot, addOnce());
  }

  /** Whether a turn of its thread follows the last one of `line`. */
  async isFollowed(owner: string, line: Line): Promise<boolean> {
    const [thread, turns] = line.at(-1)!;
    return await this.#store.get(this.keys.row(owner, [[thread, turns + 1]])) !== undefined;
  }

  /** The keys of everything that is stored for a turn, first the one by which it is found. */
  async keysOf(owner: string, id: string): Promise<StoreKey[]> {
    const place = await this.#placeOf(owner, id);
    return this.keys.at(owner, id, place && this.keys.row(owner, place.line), place?.held);
  }

  async #placeOf(owner: string, id: string): Promise<TurnLocation | undefined> {
    return this.#written.get(nameOf(owner, id)) ??
      await this.#store.get(this.keys.of(owner, id, "place")) as TurnLocation | undefined;
  }

  /** A turn in an earlier format, where each turn was a value of its own that named the turn before it. */
  async #findOld(owner: string, id: string): Promise<Turn | undefined> {
    return await this.#store.get(this.keys.of(owner, id, "turn")) as Turn | undefined;
  }

  /** The turns of a line, the newest first, with gaps where one is missing. */
  async #rowsOf(owner: string, line: Line): Promise<(Row | undefined)[]> {
    const stretches = await Promise.all(
      line.map(([thread, turns]) => this.#store.getRange(this.keys.thread(owner, thread), 1, turns)),
    );
    return stretches.flat().reverse() as (Row | undefined)[];
  }
}

/** The lines to try for a new turn: first the thread of the turn before it, then a thread of its own. */
function linesAfter(before: Line, id: string): Line[] {
  const [thread, turns] = before.at(-1) ?? [];
  const begun: Line = [...before.length < MOST_STRETCHES ? before : [], [id, 1]];
  return thread === undefined || turns === undefined ? [begun] : [[...before.slice(0, -1), [thread, turns + 1]], begun];
}

/** The keys of what is stored. The owner is part of every key, so that no caller reads another's data. */
class TurnKeys {
  readonly #space: TurnSpace;

  constructor(space: TurnSpace) {
    this.#space = space;
  }

  /**
   * `place`: the location of a turn. `turn`: the turn itself, in the earlier format. `rest`: the half of its answer that later
   * turns do not need. `claim`: held by the request that follows it.
   */
  of(owner: string, id: string, part: "place" | "turn" | "rest" | "claim"): StoreKey {
    return [this.#space.answers, owner, id, part];
  }

  thread(owner: string, thread: string): StoreKey {
    return [this.#space.threads, owner, thread];
  }

  row(owner: string, line: Line): StoreKey {
    const [thread, turns] = line.at(-1)!;
    return [...this.thread(owner, thread), turns];
  }

  /** The keys of everything that is stored for a turn, first the one by which it is found. */
  at(owner: string, id: string, row?: StoreKey, held?: number): StoreKey[] {
    const listed = held === undefined ? [] : [quotaKey(owner, held)];
    const first = row ? [this.of(owner, id, "place"), row] : [this.of(owner, id, "turn")];
    return [...first, this.of(owner, id, "rest"), ...listed];
  }

  /** A thread is evicted as a whole. It stays as long as a thread that continues it is used. */
  quotaEntry(owner: string, id: string, line: Line, follows?: Conversation): QuotaEntry {
    const [group] = line.at(-1)!;
    const before = follows?.line.at(-1)?.[0];
    return { group, ...(before !== group && { from: before }), keys: this.at(owner, id, this.row(owner, line)) };
  }

  /** The keys of the turns of a line, the newest first. */
  positions(owner: string, line: Line): StoreKey[] {
    return line.flatMap(([thread, turns]) => {
      return Array.from({ length: turns }, (_, index) => [...this.thread(owner, thread), index + 1]);
    }).reverse();
  }
}

function nameOf(owner: string, id: string): string {
  return JSON.stringify([owner, id]);
}

function sum(one: Size, other: Size): Size {
  return { characters: one.characters + other.characters, values: one.values + other.values };
}

function sizeOf(value: unknown): Size {
  const size = { characters: 0, values: 0 };
  add(size, value);
  return size;
}

function add(size: Size, value: unknown): void {
  size.values++;
  if (typeof value === "string") size.characters += value.length;
  if (typeof value !== "object" || value === null) return;
  for (const key in value) add(size, (value as Record<string, unknown>)[key]);
}

function tooLong(): GatewayError {
  const message = "The stored conversation is longer than one request may be: start a new one";
  return new GatewayError("invalid_request", message, { param: "previous_response_id" });
}

/** Clients act on the code: they send the whole conversation instead. */
function notFound(asked: string, missing: string): GatewayError {
  const message = asked === missing
    ? `Previous response with id '${asked}' not found.`
    : `Previous response with id '${asked}' not found: it follows '${missing}', which is not stored any more.`;
  return new GatewayError("previous_response_not_found", message, { param: "previous_response_id" });
}
