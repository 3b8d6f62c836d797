/**
 * The loop of a streamed answer. It pulls events, has them transformed and written, and returns the text of one read as
 * one chunk.
 */
import type { Frame } from "../contract/frame.ts";
import type { StreamTransform, StreamWriter } from "../contract/stream.ts";
import type { FrameText } from "../http/framing.ts";
import type { Chunks } from "../http/respond.ts";
import { apply } from "../transforms/apply.ts";
import type { EventSource, Steps } from "../util/event_source.ts";
import { Slice, yieldToEventLoop } from "../util/sliced_work.ts";

/** The steps between the events of an answer and their writer. */
export interface Passage<E> {
  /** Changes an event that is no increment of a text, before anything else sees it. */
  change?(event: E): E;
  transforms?: readonly StreamTransform<E>[];
  /**
   * Returns the work that must be done before an event goes on, if any. It starts once the client has taken everything
   * that comes before that event. It is not asked about increments (`part-delta`).
   */
  before?(event: E): (() => Promise<void>) | undefined;
}

export interface LoopOptions {
  /** Collects the frames as text. */
  frames: FrameText;
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
  /** How the source is read from now on, if it has steps. */
  #steps: Steps<E> | undefined;
  /** Whether no transform has anything to do with increments for now. Other events may change that. */
  #passesDeltas = false;
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
    if (this.#at < this.#ready.length || this.#due) return this.#pull();
    const steps = this.#steps ??= this.#source.steps;
    return steps ? steps.read().then(this.#take, this.#fail) : this.#source.next().then(this.#send);
  }

  /** The text of one read. Increments that all transforms pass are written at once. */
  readonly #take = (got: unknown): string | undefined | Promise<string | undefined> => {
    const events = this.#steps!.take(got);
    if (events instanceof Promise) return events.then(this.#send);
    let passing = 0;
    if (this.#passesDeltas) { while (passing < events.length && events[passing]!.type === "part-delta") passing++; }
    if (passing < events.length) return this.#send(events);
    this.#ready = events;
    this.#at = 0;
    return this.#write() || this.#pull();
  };

  readonly #fail = async (thrown: unknown): Promise<string | undefined> => {
    return await this.#send(await this.#steps!.fail(thrown));
  };

  /** The text of one read. It is no async function, because most often there is nothing else to wait for. */
  readonly #send = (events: readonly E[] | undefined): string | undefined | Promise<string | undefined> => {
    if (!events) return undefined;
    const ready = this.#change(events);
    if (ready instanceof Promise) return this.#pull(ready);
    this.#begin(ready);
    return this.#write() || this.#pull();
  };

  #begin(ready: readonly E[]): void {
    const { transforms = [] } = this.#passage;
    this.#ready = ready;
    this.#at = 0;
    this.#passesDeltas = transforms.every(({ passesDeltas }) => passesDeltas);
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
      const event = events[at]!;
      const work = event.type === "part-delta" ? undefined : before(event);
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
    const { frames } = this.#options;
    const slice = this.#ready.length > 1 ? new Slice() : undefined;
    while (this.#at < this.#ready.length) {
      const event = this.#ready[this.#at++]!;
      const before = frames.text.length;
      this.#writer.write(event, frames.add);
      if (event.type === "finish" || event.type === "error") this.#end(before);
      if (slice?.isOverAfter(frames.text.length - before)) break;
    }
    const { text } = frames;
    frames.text = "";
    return text;
  }

  /** Puts late notes before the frames of the last event, which begin at `from`. No further events come by steps. */
  #end(from: number): void {
    const { frames, lateNotes } = this.#options;
    const last = frames.text.slice(from);
    frames.text = frames.text.slice(0, from);
    for (const note of lateNotes()) frames.add(note);
    frames.text += last;
    this.#steps = undefined;
  }
}
