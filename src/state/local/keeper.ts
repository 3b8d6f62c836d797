/** The keeper's side of the socket: it answers the workers' calls to the store and the counts. */
import type { LocalListener } from "../../platform/local_socket.ts";
import { Slots } from "../../util/shares.ts";
import type { Counter } from "../counter.ts";
import { AS_JSON } from "../kv_values.ts";
import type { Store, StoreEntry, StoreKey } from "../store.ts";
import type { Recollection } from "./counter.ts";
import { type Frame, FrameConnection, type Parts } from "./frames.ts";
import { isSame } from "./store.ts";
import type { Tally } from "./tally.ts";

export interface KeeperOptions {
  listener: LocalListener;
  /** A store whose values are bytes. */
  store: Store;
  tally: Tally;
  /** How often the store has lost its content. Each answer tells the worker. */
  losses?(): number;
  /** How many workers remember the counts of an earlier keeper that was killed. */
  remembering?: number;
}

export interface Keeper {
  /** How many connections are open. A worker may have several. */
  connections(): number;
  close(): void;
}

/** How long the keeper admits nothing while it waits for the workers to report an earlier keeper's counts, in milliseconds. */
const RECALL_MS = 1_000;
/** A connection is not read while calls and answers of more than this many bytes are unfinished on it. */
const MOST_BYTES = 8 * 1024 * 1024;
/** How many reads of the store run at once. Many long values would hold up everything else. */
const READS_AT_ONCE = 2;

type Result = { result?: unknown; parts?: Parts };
type Handler = (args: never, parts: Parts, connection: Connection) => Promise<Result> | Result;

export function serveKeeper(options: KeeperOptions): Keeper {
  const keeper = new RunningKeeper(options);
  void keeper.serve();
  return keeper;
}

class Connection {
  readonly frames: FrameConnection;
  /** The gateways that sent a sign of life. */
  readonly gateways = new Set<string>();
  #bytes = 0;
  #roomy = Promise.withResolvers<void>();

  constructor(frames: FrameConnection) {
    this.frames = frames;
  }

  work(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > MOST_BYTES) return;
    this.#roomy.resolve();
    this.#roomy = Promise.withResolvers();
  }

  async hasRoom(): Promise<void> {
    while (this.#bytes > MOST_BYTES) await this.#roomy.promise;
  }
}

class RunningKeeper implements Keeper {
  readonly #options: KeeperOptions;
  readonly #handlers: Record<string, Handler>;
  readonly #connections = new Set<Connection>();
  #unheard: number;
  /** Resolves once the earlier counts are known, or are no longer waited for. */
  readonly #recalled = Promise.withResolvers<void>();
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(options: KeeperOptions) {
    const { store, tally, remembering = 0 } = options;
    this.#options = options;
    this.#handlers = { ...storeHandlers(store), ...countHandlers(tally, this.#recalled.promise), recall: this.#recall };
    this.#unheard = remembering;
    this.#timer = setTimeout(this.#recalled.resolve, remembering > 0 ? RECALL_MS : 0);
  }

  connections(): number {
    return this.#connections.size;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#recalled.resolve();
    this.#options.listener.close();
    for (const { frames } of this.#connections) frames.close();
  }

  async serve(): Promise<void> {
    for await (const socket of this.#options.listener) {
      void this.#answerAll(new Connection(new FrameConnection(socket)));
    }
  }

  async #answerAll(connection: Connection): Promise<void> {
    this.#connections.add(connection);
    try {
      for (let frame = await connection.frames.read(); frame; frame = await connection.frames.read()) {
        void this.#answer(frame, connection);
        await connection.hasRoom();
      }
    } catch {
      // The other side may end the connection at any time.
    }
    connection.frames.close();
    this.#connections.delete(connection);
    // The requests of a gateway that is gone no longer run.
    for (const gateway of connection.gateways) this.#options.tally.abandon(gateway);
  }

  async #answer({ head, parts, bytes }: Frame, connection: Connection): Promise<void> {
    const [id, until, name, args] = head as [number, number | null, string, never];
    let worked = bytes;
    connection.work(bytes);
    try {
      const isLate = until !== null && Date.now() > until;
      if (isLate) return await connection.frames.send([id, "This comes too late", null]);
      const { result = null, parts: answered = [] } = await this.#handlers[name]!(args, parts, connection);
      const more = answered.reduce((sum, part) => sum + (part?.length ?? 0), 0);
      worked += more;
      connection.work(more);
      await connection.frames.send([id, null, result, this.#options.losses?.() ?? 0], answered);
    } catch (error) {
      await connection.frames.send([id, (error as Error).message, null]).catch(() => {}); // the worker is gone
    } finally {
      connection.work(-worked);
    }
  }

  readonly #recall = ([{ accounts, running, leaseMs }]: [Recollection]): Result => {
    const { tally } = this.#options;
    for (const [account, used] of accounts) tally.recall(account, used);
    for (const [account, ids] of running) tally.renew(account, ids, leaseMs);
    if (--this.#unheard <= 0) this.#recalled.resolve();
    return {};
  };
}

function countHandlers(tally: Tally, recalled: Promise<void>): Record<string, Handler> {
  type Args<Name extends "take" | "settle" | "renew" | "beat"> = Parameters<Counter[Name]>;
  return {
    async take([account, quota, request]: Args<"take">) {
      await recalled;
      return { result: await tally.take(account, quota, request) };
    },
    async settle(args: Args<"settle">) {
      await recalled;
      return { result: tally.settle(...args) };
    },
    renew(args: Args<"renew">) {
      tally.renew(...args);
      return {};
    },
    beat(args: Args<"beat">, _, { gateways }) {
      gateways.add(args[0]);
      return { result: tally.beat(...args) };
    },
    leave([gateway]: [string], _, { gateways }) {
      gateways.delete(gateway);
      tally.leave(gateway);
      return {};
    },
  };
}

/** A `Renewal` in JSON, where null stands for `Infinity`. */
interface Renewed {
  keys: StoreKey[];
  expiresAt: number | null;
}

/** The value is not the one that the caller read. */
class Different extends Error {}

function storeHandlers(store: Store): Record<string, Handler> {
  const slots = new Slots(READS_AT_ONCE);
  const read = (work: () => Promise<Result>) => slots.run(undefined, undefined, work);
  return {
    get: ([key]: [StoreKey]) => read(async () => ({ parts: [await store.get(key)] as Parts })),
    getRange: (args: Parameters<Store["getRange"]>) =>
      read(async () => ({ parts: await store.getRange(...args) as Parts })),
    async add([keys, expiresAt, renewal]: [StoreKey[], number | null, Renewed?], parts) {
      const entries = keys.map((key, index): StoreEntry => [key, parts[index]]);
      const renewed = renewal && { keys: renewal.keys, expiresAt: renewal.expiresAt ?? Infinity };
      return { result: await store.add(entries, expiresAt ?? Infinity, renewed) };
    },
    ensure: async ([key]: [StoreKey], [value]) => ({ parts: [await store.ensure(key, value) as Uint8Array] }),
    async replace([key]: [StoreKey], [after, before]) {
      try {
        await store.update(key, (held) => {
          if (!isSame(held as Uint8Array | undefined, before)) throw new Different();
          return after;
        });
      } catch (error) {
        if (!(error instanceof Different)) throw error;
        return { result: false };
      }
      return { result: true };
    },
    delete: async ([keys]: [StoreKey[]]) => ({ result: await store.delete(...keys) }),
  };
}

/** The encoding of a database store whose values are bytes. */
export const AS_BYTES = {
  toBytes: (value: unknown) => value as Uint8Array<ArrayBuffer>,
  fromBytes: (bytes: Uint8Array<ArrayBuffer>) => bytes,
};
/** The encoding of a memory store whose values are bytes. */
export const AS_TEXT = {
  toText: (value: unknown) => new TextDecoder().decode(value as Uint8Array),
  fromText: (text: string) => new TextEncoder().encode(text),
};

/** The store with decoded values, for the keeper's own use. */
export function withJson(store: Store): Pick<Store, "get" | "update"> {
  const valueOf = (bytes: unknown) =>
    bytes === undefined ? undefined : AS_JSON.fromBytes(bytes as Uint8Array<ArrayBuffer>);
  return {
    get: async (key) => valueOf(await store.get(key)),
    update: (key, change) => store.update(key, (bytes) => AS_JSON.toBytes(change(valueOf(bytes)))),
  };
}
