/** The running requests and the latest that ended, for the console. It holds no content and no secret. */
import type { LogEntry } from "./log.ts";

/** How many ended requests are kept. */
const MOST_ENDED = 1_000;

const MOST_RUNNING = 10_000;

/** A request that ended. Its number is one more than that of the one before. */
export type Ended = Omit<LogEntry, "cause"> & { number: number; client?: string; team?: string; session?: string };

export interface RunningFacts {
  entry: Partial<LogEntry>;
  /** The target that was called last, `upstream/model`. */
  target?: string;
  elapsedMs: number;
  client?: string;
}

/** The log of a running request, from which its present state is read. */
export interface RunningRequest {
  readonly entry: Partial<LogEntry>;
  readonly attempt?: { target: string };
  elapsedMs(): number;
}

/** The request is removed once it has ended: see `Dependent` in `src/util/abort.ts`. */
interface Running {
  request: RunningRequest | undefined;
  client: string | undefined;
  team: string | undefined;
  session: string | undefined;
}

/** How many characters of a name that the client chooses are kept. */
const LONGEST_NAME = 100;

export class Feed {
  /** Distinguishes it from the feeds of other processes, whose numbers are their own. */
  readonly id: string = crypto.randomUUID();
  readonly #running = new Map<string, Running>();
  /** A ring buffer. */
  readonly #ended: Ended[] = [];
  #count = 0;
  /** The headers in which clients name their session, if sessions are kept. */
  sessionHeaders: readonly string[] | undefined;

  /** Begins before the caller is known, so that a refused request has its client, too. */
  begin(id: string, request: RunningRequest, headers: Headers): void {
    const client = headers.get("user-agent")?.slice(0, LONGEST_NAME);
    const session = this.sessionHeaders ? sessionIn(headers, this.sessionHeaders) : undefined;
    this.#running.set(id, { request, client, team: undefined, session });
    // A request that never gets a line in the log must not stay for ever.
    if (this.#running.size > MOST_RUNNING) this.#dropOldest();
  }

  identify(id: string, team: string): void {
    const running = this.#running.get(id);
    if (running) running.team = team;
  }

  /** Requests of the console itself are left out. */
  end(entry: LogEntry): Ended | undefined {
    const { id } = entry;
    if (entry.path.startsWith("/console")) return undefined;
    const running = this.#running.get(id);
    const ended: Ended = { ...("cause" in entry ? withoutCause(entry) : entry), number: this.#count };
    if (running?.client !== undefined) ended.client = running.client;
    if (running?.team !== undefined) ended.team = running.team;
    if (running?.session !== undefined) ended.session = running.session;
    if (running) running.request = undefined;
    this.#running.delete(id);
    this.#ended[this.#count++ % MOST_ENDED] = ended;
    return ended;
  }

  #dropOldest(): void {
    for (const [id, running] of this.#running) {
      running.request = undefined;
      this.#running.delete(id);
      return;
    }
  }

  running(): RunningFacts[] {
    return Array.from(this.#running.values(), ({ request, client }) => {
      const { entry, attempt } = request!;
      return { entry, target: attempt?.target, elapsedMs: request!.elapsedMs(), client };
    });
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

/** A client may name both its session and an agent within that: they are two conversations. */
function sessionIn(headers: Headers, names: readonly string[]): string | undefined {
  const found = new Set(names.flatMap((name) => headers.get(name) ?? []));
  return found.size > 0 ? [...found].join(" ").slice(0, LONGEST_NAME) : undefined;
}

function withoutCause({ cause: _, ...rest }: LogEntry): Omit<LogEntry, "cause"> {
  return rest;
}
