/** Writes lines to readers that may be slow or stuck: a pager, a log driver, a full disk. */

import { settleWithin } from "../util/timeout.ts";

export interface Output {
  /** Takes one or more whole lines, without the last line's end. It never waits: lines without space are dropped and counted. */
  print(lines: string): void;
  /** Resolves once everything is written, or after `ms` milliseconds. */
  flush(ms: number): Promise<void>;
}

export interface OutputOptions {
  /** Writes some of the bytes, and returns how many. */
  write(bytes: Uint8Array): Promise<number>;
  /** The line that replaces `count` dropped lines. */
  dropped(count: number): string;
  /** Called at the first failure after a success. The bytes that could not be written are lost. */
  failed?(thrown: unknown): void;
  /** The most bytes that may wait. */
  limitBytes?: number;
}

const LIMIT_BYTES = 2 ** 20;
/** A pipe takes this many bytes as a whole or not at all (POSIX: 512, Linux: 4,096), so that no half line is left at the end. */
const ATOMIC_BYTES = 4_096;

const encoder = new TextEncoder();
const LINE_END = encoder.encode("\n");

export function createOutput(options: OutputOptions): Output {
  const writer = new LineWriter(options);
  return { print: (lines) => writer.print(lines), flush: (ms) => writer.flush(ms) };
}

class LineWriter {
  readonly #options: OutputOptions;
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  /** The lines that were dropped since the last one that was kept. */
  #lost = 0;
  #writing: Promise<void> | undefined;
  #hasFailed = false;
  #isTorn = false;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  print(lines: string): void {
    const { limitBytes = LIMIT_BYTES } = this.#options;
    for (const line of lines.split("\n")) {
      // No line follows a gap before the gap is reported.
      const hasNoRoom = this.#lost > 0 || this.#waitingBytes + line.length > limitBytes;
      if (this.#waiting.length > 0 && hasNoRoom) this.#lost++;
      else this.#add(line);
    }
    this.#writing ??= this.#writeWaiting();
  }

  async flush(ms: number): Promise<void> {
    await settleWithin(this.#writing, ms);
  }

  #add(line: string): void {
    const bytes = encoder.encode(`${line}\n`);
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  /** Takes as many lines as a pipe takes as a whole, but at least one. */
  #take(): Uint8Array {
    let length = 0;
    let count = 0;
    for (const bytes of this.#waiting) {
      if (count > 0 && length + bytes.length > ATOMIC_BYTES) break;
      length += bytes.length;
      count++;
    }
    this.#waitingBytes -= length;
    return concat(this.#waiting.splice(0, count), length);
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#writeAll(this.#take());
      if (this.#lost === 0) continue;
      this.#add(this.#options.dropped(this.#lost));
      this.#lost = 0;
    }
    this.#writing = undefined;
  }

  async #writeAll(bytes: Uint8Array): Promise<void> {
    const { write, failed } = this.#options;
    let sent = 0;
    try {
      // A line that broke off on a full disk must not run into the next one.
      if (this.#isTorn) await write(LINE_END);
      this.#isTorn = false;
      while (sent < bytes.length) sent += await write(bytes.subarray(sent));
      this.#hasFailed = false;
    } catch (thrown) {
      this.#isTorn ||= sent > 0;
      if (!this.#hasFailed) failed?.(thrown);
      this.#hasFailed = true;
    }
  }
}

function concat(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
