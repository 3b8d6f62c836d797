/**
 * The loop of a streamed answer. It pulls events, has them transformed and written, and returns the text of one read as
 * one chunk.
 */
import type { Frame } from "../contract/frame.ts";
import type { StreamTransform, StreamWriter } from "../contract/stream.ts";
import type { Chunks } from "../http/respond.ts";
import { apply } from "../transforms/apply.ts";
import type { EventSource } from "../util/event_source.ts";
import { Slice, yieldToEventLoop } from "../util/sliced_work.ts";

/** The steps between the events of an answer and their writer. */
export interface Passage<E> {
  transforms?: readonly StreamTransform<E>[];
  /**
   * Returns the work that must be done before an event goes on, if any. It starts once the client has taken everything
   * that comes before that event.
   */
  before?(event: E): (() => Promise<void>) | undefined;
}

export interface LoopOptions {
  format(frame: Frame): string;
  /** Notes that became known too late for the head of the response. They go out before the frames of the end. */
  lateNotes(): readonly Frame[];
  /** Aborted when the answer is no longer wanted. */
  signal: AbortSignal;
}

/** Work that must be done before the first of these events goes on. */
interface Due<E> {
  work(): Promise<void>;
  events: readonly E[];
}

/** Reads the source only when a chunk is asked for, so a slow client slows the upstream down. */
export class AnswerLoop<E extends { type: string }> implements Chunks {
  readonly #source: EventSource<E>;
  readonly #writer: StreamWriter<E>;
  readonly #passage: Passage<E>;
  readonly #options: LoopOptions;
  /** Events to be written, from `#at` on. */
  #ready: readonly E[] = [];
  #at = 0;
  #due: Due<E> | undefined;

  constructor(source: EventSource<E>, writer: StreamWriter<E>, passage: Passage<E>, options: LoopOptions) {
    this.#source = source;
    this.#writer = writer;
    this.#passage = passage;
    this.#options = options;
  }

  next(): Promise<string | undefined> {
    return this.#at < this.#ready.length || this.#due ? this.#pull() : this.#source.next().then(this.#take);
  }

  /** The text of one read. It is no async function, because most often there is nothing else to wait for. */
  readonly #take = (events: readonly E[] | undefined): string | undefined | Promise<string | undefined> => {
    if (!events) return undefined;
    const ready = this.#change(events);
    if (ready instanceof Promise) return this.#pull(ready);
    this.#begin(ready);
    return this.#write() || this.#pull();
  };

  #begin(ready: readonly E[]): void {
    this.#ready = ready;
    this.#at = 0;
  }

  async #pull(changing?: Promise<readonly E[]>): Promise<string | undefined> {
    if (changing) this.#begin(await changing);
    for (;;) {
      if (this.#at < this.#ready.length) await yieldToEventLoop();
      else {
        const events = this.#due ? await this.#release(this.#due) : await this.#source.next();
        if (!events) return undefined;
        this.#begin(await this.#change(events));
      }
      const text = this.#write();
      if (text !== "") return text;
    }
  }

  cancel(): Promise<void> {
    return this.#source.cancel();
  }

  /** The events that were kept back, once the work before the first of them is done. */
  async #release({ work, events }: Due<E>): Promise<readonly E[]> {
    await work();
    return events;
  }

  /** Transforms the events up to the next one that needs work first. That one and those after it are kept back. */
  #change(events: readonly E[]): readonly E[] | Promise<readonly E[]> {
    const { before, transforms = [] } = this.#passage;
    const from = this.#due ? 1 : 0;
    this.#due = undefined;
    let now = events;
    for (let at = from; before && at < events.length; at++) {
      const work = before(events[at]!);
      if (!work) continue;
      this.#due = { work, events: events.slice(at) };
      now = events.slice(0, at);
      break;
    }
    return apply(transforms, now, this.#options.signal);
  }

  /**
   * Writes the events that are ready; if they are many, one slice of them. Nothing is awaited between writing a frame
   * and sending it, because keep-alives may be numbered with the frames.
   */
  #write(): string {
    const { format, lateNotes } = this.#options;
    const slice = this.#ready.length > 1 ? new Slice() : undefined;
    let text = "";
    let own = "";
    const emit = (frame: Frame) => void (own += format(frame));
    while (this.#at < this.#ready.length) {
      const event = this.#ready[this.#at++]!;
      own = "";
      this.#writer.write(event, emit);
      if (event.type === "finish" || event.type === "error") text += lateNotes().map(format).join("");
      text += own;
      if (slice?.isOverAfter(own.length)) break;
    }
    return text;
  }
}
