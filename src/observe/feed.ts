/** The running requests and the latest that ended, for the console. It holds no content and no secret. */
import type { LogEntry } from "./log.ts";

/** How many ended requests are kept. */
const MOST_ENDED = 1_000;

const MOST_RUNNING = 10_000;

/** A request that ended. Its number is one more than that of the one before. */
export type Ended = Omit<LogEntry, "cause"> & { number: number; client?: string };

export interface RunningFacts {
  entry: Partial<LogEntry>;
  /** The target that was called last, `upstream/model`. */
  target?: string;
  elapsedMs: number;
  client?: string;
}

/** The facts are removed once the request has ended: see `Dependent` in `src/util/abort.ts`. */
interface Running {
  facts: (() => RunningFacts) | undefined;
}

export class Feed {
  /** Distinguishes it from the feeds of other processes, whose numbers are their own. */
  readonly id: string = crypto.randomUUID();
  readonly #running = new Map<string, Running>();
  /** A ring buffer. */
  readonly #ended: Ended[] = [];
  #count = 0;

  /** `facts` returns the request's present state. */
  begin(id: string, facts: () => RunningFacts): void {
    this.#running.set(id, { facts });
    // A request that never gets a line in the log must not stay for ever.
    if (this.#running.size > MOST_RUNNING) this.#take(this.#running.keys().next().value!);
  }

  /** Requests of the console itself are left out. */
  end(entry: LogEntry): void {
    if (entry.path.startsWith("/console")) return;
    const client = this.#take(entry.id)?.().client;
    const ended: Ended = { ...withoutCause(entry), number: this.#count };
    if (client !== undefined) ended.client = client;
    this.#ended[this.#count++ % MOST_ENDED] = ended;
  }

  /** Takes a request off the list. Returns its facts. */
  #take(id: string): (() => RunningFacts) | undefined {
    const running = this.#running.get(id);
    const facts = running?.facts;
    if (running) running.facts = undefined;
    this.#running.delete(id);
    return facts;
  }

  running(): RunningFacts[] {
    return Array.from(this.#running.values(), ({ facts }) => facts!());
  }

  /** How many have ended until now. */
  get count(): number {
    return this.#count;
  }

  /** The ended requests from this number on, in order, as far as they are kept. */
  since(number: number): Ended[] {
    const first = Math.max(number, this.#count - MOST_ENDED, 0);
    return Array.from(
      { length: Math.max(0, this.#count - first) },
      (_, index) => this.#ended[(first + index) % MOST_ENDED]!,
    );
  }
}

function withoutCause(entry: LogEntry): Omit<LogEntry, "cause"> {
  if (!("cause" in entry)) return entry;
  const { cause: _, ...rest } = entry;
  return rest;
}
