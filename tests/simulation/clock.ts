/** Time and chance of a simulated world: while it runs, all timers, clocks and random numbers of this thread are its own. */
import { rounds } from "../../src/util/every.ts";
import { queues } from "../../src/util/time_limit.ts";
import { Listeners } from "./listeners.ts";
import { Random } from "./random.ts";

/** The time at the beginning, in milliseconds since the epoch: some seconds before a day ends, so that worlds see its end. */
export const EPOCH = Date.UTC(2027, 0, 15, 23, 59, 0);

/** What calls that take no time may still wait for: a turn of the event loop for each module that is imported once more. */
const TURNS = 2;

interface Timer {
  id: number;
  at: number;
  run(): void;
  /** Of an interval. */
  everyMs?: number;
  /** Whether nobody has to clear it. */
  isOwn: boolean;
}

const timers = process.getBuiltinModule("node:timers");
const cryptography = process.getBuiltinModule("node:crypto");
const { setImmediate } = timers;
const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

export class SimulatedTime {
  #now = 0;
  #lastId = 0;
  /** A heap by time and id. */
  readonly #heap: Timer[] = [];
  readonly #live = new Map<number, Timer>();
  readonly #random: Random;
  readonly listeners = new Listeners();
  #restore: (() => void) | undefined;
  /** How many threads are waited for. */
  #outside = 0;
  #lastOutside: Promise<void> = Promise.resolve();

  constructor(seed: number) {
    this.#random = new Random(seed, "platform");
  }

  /** Milliseconds since the beginning. */
  readonly now = (): number => this.#now;

  /** Milliseconds since the epoch. */
  readonly date = (): number => EPOCH + this.#now;

  /** How many timers wait that somebody has to clear. */
  get waiting(): number {
    return [...this.#live.values()].filter(({ isOwn }) => !isOwn).length;
  }

  /** Takes the place of the thread's own time and chance. */
  begin(): void {
    const replaced: [object, string, unknown][] = [];
    const replace = (owner: object, name: string, value: unknown) => {
      replaced.push([owner, name, (owner as Record<string, unknown>)[name]]);
      (owner as Record<string, unknown>)[name] = value;
    };
    const random = this.#random;
    replace(globalThis, "setTimeout", this.after);
    replace(globalThis, "clearTimeout", this.clear);
    replace(globalThis, "setInterval", (run: () => void, ms = 0) => this.#add(ms, run, { everyMs: Math.max(1, ms) }));
    replace(globalThis, "clearInterval", this.clear);
    replace(AbortSignal, "timeout", (ms: number) => {
      const controller = new AbortController();
      this.#add(ms, () => controller.abort(new DOMException("Signal timed out.", "TimeoutError")), { isOwn: true });
      return controller.signal;
    });
    replace(AbortSignal.prototype, "addEventListener", this.listeners.add);
    replace(AbortSignal.prototype, "removeEventListener", this.listeners.remove);
    replace(performance, "now", this.now);
    replace(Date, "now", this.date);
    replace(Math, "random", random.next);
    replace(crypto, "randomUUID", () => random.uuid());
    replace(crypto, "getRandomValues", (into: Uint8Array) => (random.bytes(into), into));
    replace(cryptography, "randomBytes", (length: number) => {
      const bytes = process.getBuiltinModule("node:buffer").Buffer.alloc(length);
      random.bytes(bytes);
      return bytes;
    });
    replace(cryptography, "randomUUID", () => random.uuid());
    replace(timers, "setTimeout", (run: () => void, ms?: number) => {
      const id = this.#add(ms ?? 0, run, { isOwn: true });
      return { id, unref() {}, ref() {} };
    });
    replace(timers, "clearTimeout", ({ id }: { id: number }) => this.clear(id));
    const wait = <T>(work: () => Promise<T>) => this.#wait(work);
    replace(Blob.prototype, "stream", function (this: Blob) {
      return new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          const bytes = await wait(() => this.bytes());
          if (bytes.length > 0) controller.enqueue(bytes);
          controller.close();
        },
      }, { highWaterMark: 0 });
    });
    const earlier = { queues: [...queues], rounds: [...rounds] };
    queues.clear();
    rounds.clear();
    this.#restore = () => {
      for (const [owner, name, value] of replaced.toReversed()) (owner as Record<string, unknown>)[name] = value;
      queues.clear();
      rounds.clear();
      for (const [ms, queue] of earlier.queues) queues.set(ms, queue);
      for (const [ms, round] of earlier.rounds) rounds.set(ms, round);
    };
  }

  /** Gives the thread back its own. */
  end(): void {
    this.#restore?.();
    this.#restore = undefined;
  }

  // deno-lint-ignore no-explicit-any -- as the platform's own takes them
  readonly after = (run: (...args: any[]) => void, ms = 0, ...args: unknown[]): number =>
    this.#add(ms, args.length === 0 ? () => run() : () => run(...args), {});

  /** A timer that nobody has to clear. */
  readonly afterOwn = (run: () => void, ms: number): number => this.#add(ms, run, { isOwn: true });

  readonly clear = (id: number | undefined): void => {
    if (id !== undefined) this.#live.delete(id);
  };

  /** Waits for a thread: for one after the other, and no time passes meanwhile. */
  #wait<T>(work: () => Promise<T>): Promise<T> {
    this.#outside++;
    const result = this.#lastOutside.then(work);
    this.#lastOutside = result.then(() => {}, () => {}).finally(() => this.#outside--);
    return result;
  }

  /** Lets everything go as far as it can without time. */
  async settle(): Promise<void> {
    for (let count = 0; count < TURNS || this.#outside > 0; count++) await turn();
  }

  /** Runs what is due next, at its time. Returns whether there was anything before `until`. */
  step(until: number): boolean {
    for (;;) {
      const first = this.#heap[0];
      if (!first || first.at > until) return false;
      this.#pop();
      if (this.#live.get(first.id) !== first) continue;
      this.#now = Math.max(this.#now, first.at);
      if (first.everyMs === undefined) this.#live.delete(first.id);
      else this.#push(first, first.everyMs);
      first.run();
      return true;
    }
  }

  /** Lets time pass in which nothing is due. */
  skipTo(time: number): void {
    this.#now = Math.max(this.#now, time);
  }

  #add(ms: number, run: () => void, kind: { everyMs?: number; isOwn?: boolean }): number {
    const id = ++this.#lastId;
    const timer = { id, at: 0, run, isOwn: false, ...kind };
    this.#live.set(id, timer);
    this.#push(timer, ms);
    return id;
  }

  #push(timer: Timer, ms: number): void {
    timer.at = this.#now + Math.max(0, Math.ceil(Number.isFinite(ms) ? ms : 0));
    const heap = this.#heap;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(timer, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (isBefore(last, heap[child]!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.at < other.at || (one.at === other.at && one.id < other.id);
}
