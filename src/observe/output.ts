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

export function createOutput({ write, dropped, failed, limitBytes = LIMIT_BYTES }: OutputOptions): Output {
  const waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let lost = 0;
  let writing: Promise<void> | undefined;
  let hasFailed = false;
  let isTorn = false;

  function add(line: string): void {
    const bytes = encoder.encode(`${line}\n`);
    waiting.push(bytes);
    waitingBytes += bytes.length;
  }

  /** As many lines as a pipe takes as a whole, and one at least. */
  function take(): Uint8Array {
    let length = 0;
    let count = 0;
    for (const bytes of waiting) {
      if (count > 0 && length + bytes.length > ATOMIC_BYTES) break;
      length += bytes.length;
      count++;
    }
    waitingBytes -= length;
    return concat(waiting.splice(0, count), length);
  }

  async function writeAll(bytes: Uint8Array): Promise<void> {
    let sent = 0;
    try {
      // A line that broke off on a full disk must not run into the next one.
      if (isTorn) await write(LINE_END);
      isTorn = false;
      while (sent < bytes.length) sent += await write(bytes.subarray(sent));
      hasFailed = false;
    } catch (thrown) {
      isTorn ||= sent > 0;
      if (!hasFailed) failed?.(thrown);
      hasFailed = true;
    }
  }

  async function writeWaiting(): Promise<void> {
    while (waiting.length > 0) {
      await writeAll(take());
      if (lost === 0) continue;
      add(dropped(lost));
      lost = 0;
    }
    writing = undefined;
  }

  return {
    print(lines) {
      for (const line of lines.split("\n")) {
        // Until a gap is told, nothing comes after it.
        const isFull = waiting.length > 0 && (lost > 0 || waitingBytes + line.length > limitBytes);
        if (isFull) lost++;
        else add(line);
      }
      writing ??= writeWaiting();
    },
    async flush(ms) {
      await settleWithin(writing, ms);
    },
  };
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
