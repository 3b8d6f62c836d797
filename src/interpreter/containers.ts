/** All containers of a server: whose each is, how many there may be, and when they go. */
import { Slots } from "../util/shares.ts";
import { callWhileAlive } from "../util/idle_timer.ts";
import { Container, type ContainerOptions } from "./container.ts";
import type { RunAnswer, RunRequest } from "./protocol.ts";

export interface ContainersOptions extends ContainerOptions {
  /** How many there may be at once. As many executions run at once, and further ones wait. */
  most: number;
  /** How long a container is kept after its last use, in milliseconds. */
  idleMs: number;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** How many executions of one caller may wait for each process that there may be. */
const WAITING = 4;

interface Held {
  owner: string;
  container: Container;
  /** How many executions run in it or wait for it. */
  users: number;
  used: number;
  expires: number;
  cancelEnd?(): void;
  /** The execution before the next. */
  last: Promise<unknown>;
}

export class Containers {
  readonly #options: ContainersOptions;
  readonly #slots: Slots;
  readonly #held = new Map<string, Held>();
  readonly #waiting = new Map<string, number>();
  readonly #ending = new Set<Promise<void>>();

  constructor(options: ContainersOptions) {
    this.#options = options;
    this.#slots = new Slots(options.most);
  }

  get count(): number {
    return this.#held.size;
  }

  /** When the caller's container expires. `undefined` if it has no such container. */
  expiryOf(id: string, owner: string): number | undefined {
    return this.#find(id, owner)?.expires;
  }

  /**
   * Throws the reason of `signal` if it is aborted before the code runs. If it is aborted later, a container that the same answer has
   * made is ended, because no client knows of it. Code in an earlier container runs on.
   */
  async run(asked: RunRequest, signal: AbortSignal): Promise<RunAnswer> {
    const { container: id, owner, isNew, isShared } = asked;
    const there = this.#find(id, owner);
    if (!there && (!isNew || this.#held.has(id))) return { error: "expired" };
    const waiting = this.#waiting.get(owner) ?? 0;
    if (waiting >= WAITING * this.#options.most) return { error: "too_many_requests" };
    this.#waiting.set(owner, waiting + 1);
    if (there) this.#keep(there);
    try {
      return await this.#slots.run(isShared ? owner : undefined, signal, () => this.#begin(asked, signal));
    } finally {
      if (there) this.#release(id, there);
      const left = this.#waiting.get(owner)! - 1;
      if (left > 0) this.#waiting.set(owner, left);
      else this.#waiting.delete(owner);
    }
  }

  /** Ends all processes. */
  async close(): Promise<void> {
    for (const [id, held] of this.#held) this.#remove(id, held);
    await Promise.all(this.#ending);
  }

  #find(id: string, owner: string): Held | undefined {
    const held = this.#held.get(id);
    return held && held.owner === owner && !held.container.isOver ? held : undefined;
  }

  async #begin(
    { container: id, owner, isNew, ...work }: RunRequest,
    signal: AbortSignal,
  ): Promise<RunAnswer> {
    const held = this.#find(id, owner) ?? (isNew && !this.#held.has(id) ? this.#create(id, owner) : "expired");
    if (typeof held === "string") return { error: held };
    this.#keep(held);
    const leave = () => held.container.kill();
    if (isNew) signal.addEventListener("abort", leave);
    try {
      const turn = held.last.then(() => execute(held.container, work));
      held.last = turn.catch(() => {});
      const reported = await turn;
      return typeof reported === "string"
        ? { error: reported === "late" ? "late" : "failed" }
        : { ...reported, expires: this.#options.now() + this.#options.idleMs };
    } finally {
      signal.removeEventListener("abort", leave);
      this.#release(id, held);
    }
  }

  #create(id: string, owner: string): Held | "too_many_requests" {
    if (this.#held.size >= this.#options.most && !this.#makeRoom(owner)) return "too_many_requests";
    const held: Held = {
      owner,
      container: new Container(this.#options, () => this.#held.get(id) === held && this.#remove(id, held)),
      users: 0,
      used: this.#options.now(),
      expires: 0,
      last: Promise.resolve(),
    };
    this.#held.set(id, held);
    return held;
  }

  /** Ends the container that nobody has used for longest, of the caller that would hold most with the new one of `asker`. */
  #makeRoom(asker: string): boolean {
    const counts = new Map([[asker, 1]]);
    for (const { owner } of this.#held.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    const [oldest] = [...this.#held].filter(([, { users }]) => users === 0)
      .sort(([, a], [, b]) => counts.get(b.owner)! - counts.get(a.owner)! || a.used - b.used);
    if (oldest) this.#remove(...oldest);
    return oldest !== undefined;
  }

  #remove(id: string, held: Held): void {
    held.cancelEnd?.();
    held.container.kill();
    this.#held.delete(id);
    const { ended } = held.container;
    this.#ending.add(ended);
    void ended.then(() => this.#ending.delete(ended));
  }

  #keep(held: Held): void {
    held.users++;
    held.cancelEnd?.();
  }

  #release(id: string, held: Held): void {
    held.users--;
    if (held.users > 0 || this.#held.get(id) !== held) return;
    if (held.container.isOver) return this.#remove(id, held);
    const { now, idleMs } = this.#options;
    held.used = now();
    held.expires = held.used + idleMs;
    held.cancelEnd = callWhileAlive(idleMs, () => this.#remove(id, held));
  }
}

async function execute(
  container: Container,
  { code, files, onlyMissing }: Pick<RunRequest, "code" | "files" | "onlyMissing">,
) {
  if (files.length > 0) {
    const put = await container.order({ do: "put", files, onlyMissing });
    if (put !== "done") return "failed";
  }
  const reported = await container.order({ do: "run", code });
  return reported === "done" ? "failed" : reported;
}
