/** What the process says, to readers that may take it slowly or not at all: a pager, a log driver that is stuck, a full disk. */

import { settleWithin } from "../util/timeout.ts";

export interface Output {
  /** Takes one or more whole lines, without the last line's end. Never waits: lines that find no room are dropped and counted. */
  print(lines: string): void;
  /** Resolves once all is written, or `ms` later. */
  flush(ms: number): Promise<void>;
}

export interface OutputOptions {
  /** Writes some of the bytes, and says how many. */
  write(bytes: Uint8Array): Promise<number>;
  /** The line that stands in place of as many lines that were dropped. */
  dropped(count: number): string;
  /** Told of the first failure after a success; what could not be written is lost. */
  failed?(thrown: unknown): void;
  /** How much may wait, in bytes. */
  limitBytes?: number;
}

const LIMIT_BYTES = 2 ** 20;
/** What a pipe takes as a whole or not at all (POSIX has it 512 at least, Linux 4,096): a process that ends leaves no half line. */
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
  /** Lines that were dropped since the last one that was not. */
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
      // Until a gap is reported, nothing comes after it.
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

  /** As many lines as a pipe takes as a whole, and one at least. */
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
