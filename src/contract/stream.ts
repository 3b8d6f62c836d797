/**
 * How a stream passes through plugins and transforms. Each stage is a plain synchronous function that accepts one item
 * and emits any number of others. The core reads, waits, frames and writes.
 */
import type { SlicedWork } from "../util/sliced_work.ts";
import type { Frame } from "./frame.ts";

export type Emit<E> = (event: E) => void;

/**
 * Turns an upstream's frames into events. There is one for each stream. Throws a `GatewayError` if the upstream fails,
 * which the core turns into the single final `error`. Long work, such as searching a megabyte of text, is returned so
 * that the core can do it in slices.
 */
export interface StreamReader<E> {
  read(frame: Frame, emit: Emit<E>): SlicedWork<void> | void;
  /** Called when no more frames follow. The core handles a broken connection. The reader decides what a missing end means. */
  end(emit: Emit<E>): SlicedWork<void> | void;
  /** Whether the wire's own end marker was seen. Nothing is read after it. */
  readonly done: boolean;
}

/** Changes events in transit: repair, sealing, structured output. */
export interface StreamTransform<E> {
  /**
   * Whether it has nothing to do with increments (`part-delta`) for now. They pass it by then, which makes a stream
   * cheaper. Only an event that it sees may change this.
   */
  readonly passesDeltas?: boolean;
  push(event: E, emit: Emit<E>): SlicedWork<void> | void;
}

/** Turns events into frames of a wire. There is one for each stream. */
export interface StreamWriter<E> {
  write(event: E, emit: Emit<Frame>): void;
}

/** How frames are delimited: as server-sent events, or as lines of JSON. */
export type Framing = "sse" | "ndjson";
/** How the frames of answers are delimited: they may also be the lines of a single JSON value. */
export type AnswerFraming = Framing | "json";
