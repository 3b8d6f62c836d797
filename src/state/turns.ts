/**
 * The turns of conversations, as they are stored. Those that follow one another lie in one list, their thread, so that a
 * conversation of any depth is read at once. Where two turns follow the same one, the second begins a thread of its own: a
 * turn knows the threads before it, its line. A turn is written once and never changed.
 */
import type { AssistantMessage, Message } from "../canonical/generate.ts";
import { GatewayError } from "../errors.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import { type Chain, type QuotaEntry, quotaKey, renewalFor, settled, type StorageQuota } from "./retention.ts";
import type { Store, StoreEntry, StoreKey } from "./store.ts";

/** What the turns after it need of an answer. */
export interface Turn {
  previous?: string;
  messages: Message[];
  said: AssistantMessage["content"];
}

/** What a conversation is long of. */
export interface Size {
  /** Of all its texts. */
  characters: number;
  /** Of JSON, numbers among them. */
  values: number;
}

/** Turns that are stored, and that another one may follow. */
export interface Conversation {
  line: Line;
  size: Size;
  /** What is kept as long as the turn that follows. */
  chain?: Chain;
}

/** The stretches that a turn ends, the oldest first: how many turns of each thread are before it, itself among them. */
export type Line = readonly (readonly [thread: string, turns: number])[];

/** Where a turn is found by its id. */
interface TurnLocation extends Pick<Conversation, "line" | "size"> {
  version: number;
  /** Where the owner's list has it. */
  held?: number;
  /** Until when the turns before it are kept, in milliseconds since the epoch. */
  kept?: number;
}

/** A turn in its thread: whoever reads the thread sees by the id whether it is the one that was there. */
interface Row extends Turn {
  version: number;
  id: string;
  held?: number;
}

/** The form of the records. A reader leaves aside what it does not know of a later one. */
export const VERSION = 2;
/** A line that is longer begins anew; its first turn leads to the line before it, at the cost of one more read. */
const MOST_STRETCHES = 32;
/** Two megabytes, for the most part; 24, where each turn ends as many stretches as it may. */
const MOST_WRITTEN = 5_000;

export interface Found extends Conversation {
  /** The oldest first. */
  turns: Turn[];
}

/** A turn as it is written, and what belongs to it. */
export interface Addition {
  follows?: Conversation;
  /** Its other half. */
  rest: StoreEntry;
  expiresAt: number;
  /** How long a turn is kept, in milliseconds. */
  retentionMs: number;
}

export class Turns {
  readonly #store: Store;
  readonly #storageQuota: StorageQuota | undefined;
  /**
   * Where the turns lie that this process wrote lately: the next one reads them at once. A place never changes, and of a turn
   * that is gone nothing lies there.
   */
  readonly #written = new BoundedMap<string, TurnLocation>(MOST_WRITTEN);

  /** `storageQuota`: where owners may keep only so much. */
  constructor(store: Store, storageQuota?: StorageQuota) {
    this.#store = store;
    this.#storageQuota = storageQuota;
  }

  async find(owner: string, id: string): Promise<Turn | undefined> {
    const place = await this.#placeOf(owner, id);
    if (!place) return await this.#findOld(owner, id);
    const row = await this.#store.get(rowKey(owner, place.line)) as Row | undefined;
    if (row?.id !== id) return undefined;
    const { version: _version, id: _id, held: _held, ...turn } = row;
    return turn;
  }

  /** The conversation up to `id`. Throws where a turn of it is missing, or it is longer than `limits`. */
  async history(owner: string, id: string, limits: Size): Promise<Found> {
    const newest: Turn[] = [];
    // What the first place knows is of all before it.
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
      const positions = place ? positionsOf(owner, place.line) : [];
      for (const [index, turn] of turns.entries()) {
        if (at === undefined || turn?.id !== at) throw notFound(id, at ?? id);
        newest.push(turn);
        keys.push(keysAt(owner, at, positions[index], (turn as Row).held));
        at = turn.previous;
      }
    }
    const { line = [], kept } = known ?? {};
    return { turns: newest.reverse(), line, size, chain: { keys: keys.reverse(), kept } };
  }

  /** Writes the turn, and its other half beside it. Whether there was none of its id. */
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
      const entries: StoreEntry[] = [rest, [rowKey(owner, line), row], [placeKey(owner, id), place]];
      if (slot) entries.push(slot.entryFor(quotaEntryFor(owner, id, line, follows)));
      if (!await this.#store.add(entries, expiresAt, renewal)) return false;
      this.#written.set(nameOf(owner, id), place);
      return true;
    };
    const addOnce = async () => {
      for (const line of linesAfter(follows?.line ?? [], id)) if (await addAt(line)) return true;
      return false;
    };
    return await settled(slot, addOnce());
  }

  /** The keys of all that is there of a turn, the one by which it is found first. */
  async keysOf(owner: string, id: string): Promise<StoreKey[]> {
    const place = await this.#placeOf(owner, id);
    return keysAt(owner, id, place && rowKey(owner, place.line), place?.held);
  }

  async #placeOf(owner: string, id: string): Promise<TurnLocation | undefined> {
    return this.#written.get(nameOf(owner, id)) ??
      await this.#store.get(placeKey(owner, id)) as TurnLocation | undefined;
  }

  /** A turn of the form before: each was a value of its own, which names the one before it. */
  async #findOld(owner: string, id: string): Promise<Turn | undefined> {
    return await this.#store.get(oldKey(owner, id)) as Turn | undefined;
  }

  /** The turns of a line, the newest first, with gaps where one is missing. */
  async #rowsOf(owner: string, line: Line): Promise<(Row | undefined)[]> {
    const stretches = await Promise.all(
      line.map(([thread, turns]) => this.#store.getRange(threadKey(owner, thread), 1, turns)),
    );
    return stretches.flat().reverse() as (Row | undefined)[];
  }
}

/** The lines that a turn may end: it goes on with the thread of the turn before it, or begins one. */
function linesAfter(before: Line, id: string): Line[] {
  const [thread, turns] = before.at(-1) ?? [];
  const begun: Line = [...before.length < MOST_STRETCHES ? before : [], [id, 1]];
  return thread === undefined || turns === undefined ? [begun] : [[...before.slice(0, -1), [thread, turns + 1]], begun];
}

/** The keys of all that is there of a turn, the one by which it is found first. */
function keysAt(owner: string, id: string, row?: StoreKey, held?: number): StoreKey[] {
  const listed = held === undefined ? [] : [quotaKey(owner, held)];
  return [...row ? [placeKey(owner, id), row] : [oldKey(owner, id)], restKey(owner, id), ...listed];
}

/** A thread goes as a whole, and stays as long as one is used that goes on from it. */
function quotaEntryFor(owner: string, id: string, line: Line, follows?: Conversation): QuotaEntry {
  const [group] = line.at(-1)!;
  const before = follows?.line.at(-1)?.[0];
  return { group, ...(before !== group && { from: before }), keys: keysAt(owner, id, rowKey(owner, line)) };
}

/** Where the turns of a line lie, the newest first. */
function positionsOf(owner: string, line: Line): StoreKey[] {
  return line.flatMap(([thread, turns]) => {
    return Array.from({ length: turns }, (_, index) => [...threadKey(owner, thread), index + 1]);
  }).reverse();
}

/** The owner is part of every key, so nobody reads what is another's. */
export function restKey(owner: string, id: string): StoreKey {
  return ["answers", owner, id, "rest"];
}

function placeKey(owner: string, id: string): StoreKey {
  return ["answers", owner, id, "place"];
}

function nameOf(owner: string, id: string): string {
  return JSON.stringify([owner, id]);
}

function oldKey(owner: string, id: string): StoreKey {
  return ["answers", owner, id, "turn"];
}

function threadKey(owner: string, thread: string): StoreKey {
  return ["threads", owner, thread];
}

function rowKey(owner: string, line: Line): StoreKey {
  const [thread, turns] = line.at(-1)!;
  return [...threadKey(owner, thread), turns];
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

/** Clients act on the code: they send the whole conversation then. */
function notFound(asked: string, missing: string): GatewayError {
  const message = asked === missing
    ? `Previous response with id '${asked}' not found.`
    : `Previous response with id '${asked}' not found: it follows '${missing}', which is not stored any more.`;
  return new GatewayError("previous_response_not_found", message, { param: "previous_response_id" });
}
