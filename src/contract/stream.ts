/**
 * How a stream passes through plugins and transforms: each stage is a plain synchronous function that is given one thing and
 * emits any number of others. The core reads, waits, frames and writes.
 */
import type { Work } from "../util/work.ts";
import type { Frame } from "./frame.ts";

export type Emit<E> = (event: E) => void;

/**
 * Turns an upstream's frames into events; one for each stream. Throws a `GatewayError` where the upstream fails, which the core
 * makes the one final `error`. Long work, such as a megabyte of text to look into, is returned: the core does it in slices.
 */
export interface StreamReader<E> {
  read(frame: Frame, emit: Emit<E>): Work<void> | void;
  /** No frame follows. The core knows what it means that a connection broke; what a missing end means, the wire knows. */
  end(emit: Emit<E>): Work<void> | void;
  /** Whether the wire's own end was seen: nothing is read after it. */
  readonly done: boolean;
}

/** Changes events on their way: repair, sealing, structured output. */
export interface StreamTransform<E> {
  push(event: E, emit: Emit<E>): Work<void> | void;
}

/** Turns events into a wire's frames; one for each stream. */
export interface StreamWriter<E> {
  write(event: E, emit: Emit<Frame>): void;
}

/** How frames are set apart: as server-sent events, or as lines of JSON. */
export type Framing = "sse" | "ndjson";
/** The same of an answer, whose frames may also be the lines of one JSON value. */
export type AnswerFraming = Framing | "json";
