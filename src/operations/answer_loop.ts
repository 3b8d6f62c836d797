/** The loop of a streamed answer: it pulls events, has them changed and written, and gives what one read brought as one chunk. */
import type { Frame } from "../contract/frame.ts";
import type { StreamTransform, StreamWriter } from "../contract/stream.ts";
import type { Chunks } from "../http/respond.ts";
import { apply } from "../transforms/apply.ts";
import type { EventSource } from "../util/event_source.ts";
import { othersTurn, Slice } from "../util/work.ts";

/** What the events of an answer pass on their way to the writer. */
export interface Passage<E> {
  transforms?: readonly StreamTransform<E>[];
  /** What is to be done before an event goes on, if anything: it begins once all that comes before that event has been taken. */
  before?(event: E): (() => Promise<void>) | undefined;
}

export interface LoopOptions {
  format(frame: Frame): string;
  /** What became known too late for the head of the response; it goes out before the frames of the end. */
  lateNotes(): Frame | undefined;
  /** Aborted when the answer is no longer wanted. */
  signal: AbortSignal;
}

/** It runs when it is asked for a chunk, so a slow client slows the upstream down. */
export class AnswerLoop<E extends { type: string }> implements Chunks {
  readonly #source: EventSource<E>;
  readonly #writer: StreamWriter<E>;
  readonly #passage: Passage<E>;
  readonly #options: LoopOptions;
  /** Events to be written, from `#at` on. */
  #ready: readonly E[] = [];
  #at = 0;
  /** Events that follow them, and what is to be done before the first of these goes on. */
  #later: readonly E[] = [];
  #due: (() => Promise<void>) | undefined;

  constructor(source: EventSource<E>, writer: StreamWriter<E>, passage: Passage<E>, options: LoopOptions) {
    this.#source = source;
    this.#writer = writer;
    this.#passage = passage;
    this.#options = options;
  }

  async next(): Promise<string | undefined> {
    for (;;) {
      if (this.#at < this.#ready.length) await othersTurn();
      else if (!await this.#read()) return undefined;
      const text = this.#write();
      if (text !== "") return text;
    }
  }

  cancel(): Promise<void> {
    return this.#source.cancel();
  }

  /** Whether there was anything left to read. */
  async #read(): Promise<boolean> {
    const { transforms = [] } = this.#passage;
    const isDone = this.#due !== undefined;
    await this.#due?.();
    const events = isDone ? this.#later : await this.#source.next();
    if (!events) return false;
    const now = this.#upToNextDue(events, isDone ? 1 : 0);
    this.#ready = transforms.length > 0 ? await apply(transforms, now, this.#options.signal) : now;
    this.#at = 0;
    return true;
  }

  /** The events before the next one for which something is to be done, `from` the first that may be. The others are kept. */
  #upToNextDue(events: readonly E[], from: number): readonly E[] {
    const { before } = this.#passage;
    this.#due = undefined;
    if (!before) return events;
    for (let at = from; at < events.length; at++) {
      this.#due = before(events[at]!);
      if (!this.#due) continue;
      this.#later = events.slice(at);
      return events.slice(0, at);
    }
    return events;
  }

  /**
   * What is ready, as text; of much of it a slice. Nothing is awaited between writing a frame and sending it, because keep-alives
   * may be numbered with the frames.
   */
  #write(): string {
    const { format, lateNotes } = this.#options;
    const slice = this.#ready.length > 1 ? new Slice() : undefined;
    let text = "";
    let frames: string[] = [];
    const emit = (frame: Frame) => void frames.push(format(frame));
    while (this.#at < this.#ready.length) {
      const event = this.#ready[this.#at++]!;
      frames = [];
      this.#writer.write(event, emit);
      const notes = event.type === "finish" || event.type === "error" ? lateNotes() : undefined;
      if (notes) text += format(notes);
      for (const frame of frames) text += frame;
      if (slice?.isOver()) break;
    }
    return text;
  }
}
