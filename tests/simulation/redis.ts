/** The server that the gateways of a simulated world share: a fake of the client's package, whose connections break. */
import { Buffer } from "node:buffer";
import type { SimulatedTime } from "./clock.ts";
import type { Trouble } from "./database.ts";
import { type Argument, MEANINGS, RedisData, type Reply } from "./redis_data.ts";
import type { Random } from "./random.ts";

/** How far the server's clock may be from the gateways', in milliseconds. */
const CLOCKS = [0, 0, -700, 90_000];
/** How long a command and a reply are under way, in milliseconds. */
const WAYS = [0, 0, 1, 4];

/** How long a silent gateway counts as living, in milliseconds. */
const LIFE_MS = 30_000;

interface Pending {
  trouble: Trouble;
  calls: number;
  ms: number;
}

export class Redis {
  readonly data = new RedisData();
  readonly #time: SimulatedTime;
  readonly #trace: (line: string) => void;
  readonly #aheadMs: number;
  readonly wayMs: number;
  /** The scripts that it was sent in full, by their hashes. */
  readonly #known = new Set<string>();
  readonly #connections = new Set<Connection>();
  #trouble: Pending | undefined;
  #awayUntil = -Infinity;
  /** Whether anything went wrong so far. */
  wasTroubled = false;

  constructor(time: SimulatedTime, trace: (line: string) => void, random: Random) {
    this.#time = time;
    this.#trace = trace;
    this.#aheadMs = random.pick(CLOCKS);
    this.wayMs = random.pick(WAYS);
  }

  disturb(trouble: Trouble, calls: number, ms: number): void {
    this.wasTroubled = true;
    if (trouble === "away") this.#leave(ms);
    else this.#trouble = { trouble, calls, ms };
  }

  calm(): void {
    this.#trouble = undefined;
    this.#awayUntil = -Infinity;
  }

  /** How many leases last. */
  leases(): [account: string, id: string][] {
    this.#look();
    return [...this.data.rows.keys()].filter((key) => key.endsWith(":leases")).flatMap((key) =>
      this.data.members(key, this.data.now, Infinity).map(([id]): [string, string] => [key, id])
    );
  }

  /** How many gateways said within these milliseconds that they live. */
  living(withinMs = Infinity): number {
    this.#look();
    return this.data.members("laneway:{gateways}:living", this.data.now + LIFE_MS - withinMs, Infinity).length;
  }

  /** The package of the client, for one gateway. `isGone`: whether that gateway has ended without warning. */
  clientFor(isGone: () => boolean): () => Promise<unknown> {
    const createClient = () => new Connection(this, this.#time, isGone);
    return () => Promise.resolve({ createClient, RESP_TYPES: { BLOB_STRING: 36 } });
  }

  get isAway(): boolean {
    return this.#time.now() < this.#awayUntil;
  }

  opened(connection: Connection): void {
    this.#connections.add(connection);
  }

  closed(connection: Connection): void {
    this.#connections.delete(connection);
  }

  /** What goes wrong with this command. */
  troubleOf(command: readonly Argument[]): Pending | undefined {
    const pending = this.#trouble;
    if (!pending) return undefined;
    if (--pending.calls <= 0) this.#trouble = undefined;
    this.#trace(`the server's ${command[0]} is ${pending.trouble}`);
    // Another gateway may have let go of the scripts.
    if (pending.trouble === "conflict") this.#known.clear();
    return pending;
  }

  run([name, ...args]: readonly Argument[]): Reply | Error {
    this.#look();
    if (name === "TIME") {
      return [String(Math.floor(this.data.now / 1_000)), String(Math.round(this.data.now % 1_000 * 1_000))];
    }
    if (name === "GET") return this.data.get(String(args[0])) ?? null;
    if (name === "MGET") return args.map((key) => this.data.get(String(key)) ?? null);
    if (name === "ZREM") return Number(this.data.removeMember(String(args[0]), String(args[1])));
    if (name === "EVAL" || name === "EVALSHA") return this.#evaluate(name, String(args[0]), args.slice(1));
    return new Error(`ERR unknown command '${name}'`);
  }

  #evaluate(name: string, text: string, [count, ...rest]: readonly Argument[]): Reply | Error {
    const isHash = name === "EVALSHA";
    const found = [...MEANINGS].find(([script]) => (isHash ? script.sha1() : script.text) === text);
    if (!found) throw new Error(`A simulated server does not know the script ${text}`);
    const [script, meaning] = found;
    if (isHash && !this.#known.has(text)) return new Error("NOSCRIPT No matching script. Please use EVAL.");
    this.#known.add(script.sha1());
    const keys = rest.slice(0, Number(count)).map(String);
    const [until, ...args] = rest.slice(Number(count));
    if (this.data.now > Number(until)) return [-1, String(this.data.now)];
    return meaning(this.data, keys, args);
  }

  #look(): void {
    this.data.now = this.#time.date() + this.#aheadMs;
  }

  #leave(ms: number): void {
    this.#awayUntil = this.#time.now() + ms;
    for (const connection of [...this.#connections]) connection.break();
  }
}

interface Waiting {
  resolve(reply: unknown): void;
  reject(error: Error): void;
}

/** One connection: commands arrive, and replies come back, in the order in which they were sent. */
class Connection {
  readonly #server: Redis;
  readonly #time: SimulatedTime;
  readonly #isGone: () => boolean;
  readonly #onError: ((error: Error) => void)[] = [];
  readonly #waiting = new Set<Waiting>();
  /** `lost`: what was under way did not arrive. A client that closes it cannot take back what it has sent. */
  #state: "new" | "open" | "closed" | "lost" = "new";
  #arrivesAt = 0;
  #answersAt = 0;
  #arrived = Promise.resolve();
  #answered = Promise.resolve();

  constructor(server: Redis, time: SimulatedTime, isGone: () => boolean) {
    this.#server = server;
    this.#time = time;
    this.#isGone = isGone;
  }

  on(_event: string, listener: (error: Error) => void): void {
    this.#onError.push(listener);
  }

  async connect(): Promise<void> {
    await this.#wait(2 * this.#server.wayMs);
    if (this.#isGone() || this.#server.isAway) throw new Error("connect ECONNREFUSED");
    if (this.#state !== "new") throw new Error("The client is closed");
    this.#state = "open";
    this.#server.opened(this);
  }

  sendCommand(command: readonly Argument[]): Promise<unknown> {
    if (this.#state !== "open" || this.#isGone()) return Promise.reject(new Error("The client is closed"));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const own = { resolve, reject };
    this.#waiting.add(own);
    void this.#deliver(command, own);
    return promise;
  }

  destroy(): void {
    this.#end("closed");
  }

  /** The connection is lost, with all that is under way. */
  break(): void {
    if (this.#state !== "open") return;
    this.#end("lost");
    for (const listener of this.#onError) listener(new Error("Socket closed unexpectedly"));
  }

  async #deliver(command: readonly Argument[], own: Waiting): Promise<void> {
    const trouble = this.#server.troubleOf(command);
    if (trouble?.trouble === "failed") return this.break();
    const { ms = 0 } = trouble ?? {};
    const isLate = trouble?.trouble === "late";
    this.#arrivesAt = Math.max(this.#arrivesAt, this.#time.now() + this.#server.wayMs + (isLate ? ms : 0));
    await (this.#arrived = this.#passed(this.#arrived, this.#arrivesAt));
    if (this.#state === "lost") return;
    const reply = trouble?.trouble === "locked"
      ? new Error("LOADING Redis is loading the dataset in memory")
      : this.#server.run(command);
    if (trouble?.trouble === "unconfirmed") return this.break();
    const isSlow = trouble?.trouble === "slow";
    this.#answersAt = Math.max(this.#answersAt, this.#time.now() + this.#server.wayMs + (isSlow ? ms : 0));
    await (this.#answered = this.#passed(this.#answered, this.#answersAt));
    if (!this.#waiting.delete(own)) return;
    if (reply instanceof Error) own.reject(reply);
    else own.resolve(asBytes(reply));
  }

  #end(state: "closed" | "lost"): void {
    if (this.#state === "closed" || this.#state === "lost") return;
    this.#state = state;
    this.#server.closed(this);
    for (const { reject } of this.#waiting) reject(new Error("Socket closed unexpectedly"));
    this.#waiting.clear();
  }

  /** Waits until then, and for what goes before. */
  async #passed(before: Promise<void>, at: number): Promise<void> {
    await before;
    await this.#wait(at - this.#time.now());
  }

  async #wait(ms: number): Promise<void> {
    if (ms > 0) await new Promise<void>((resolve) => void this.#time.afterOwn(resolve, ms));
  }
}

function asBytes(reply: Reply): unknown {
  if (Array.isArray(reply)) return reply.map(asBytes);
  return typeof reply === "string" ? Buffer.from(reply) : reply;
}
