/**
 * Records what clients, the gateway and upstreams sent each other for the latest requests. The records are only in memory and
 * limited in number and size.
 */
import { TokenBucket } from "../http/token_bucket.ts";
import type { LogEntry } from "../observe/log.ts";
import type { Room } from "./captured_bytes.ts";
import { Capture, type CaptureOptions } from "./capture.ts";

export interface CaptureLimits {
  /** How many requests are kept. */
  requests: number;
  /** How much memory they may use together. */
  megabytes: number;
  /** How many requests may start being recorded in a minute. They may all start at once. */
  perMinute: number;
}

/** The share of the memory that one body may use, so that a huge one cannot displace everything else. */
const SHARE = 1 / 8;

/** One record within the shared memory. It displaces the oldest other records if necessary. */
class Entry implements Room {
  readonly id: string;
  readonly mostBytes: number;
  readonly #captures: CaptureStore;
  capture!: Capture;
  /** The bytes that it uses. */
  bytes = 0;
  isGone = false;

  constructor(id: string, mostBytes: number, captures: CaptureStore) {
    this.id = id;
    this.mostBytes = mostBytes;
    this.#captures = captures;
  }

  take(bytes: number): boolean {
    return this.#captures.take(this, bytes);
  }

  giveBack(bytes: number): void {
    this.#captures.giveBack(this, bytes);
  }
}

export class CaptureStore {
  readonly bounds: CaptureLimits;
  /** The entries from oldest to newest. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  readonly #most: number;
  readonly #monotonic: () => number;
  readonly #pace: TokenBucket;
  /** How many requests were not recorded because too many arrived. */
  passed = 0;

  constructor(bounds: CaptureLimits, monotonic: () => number) {
    this.bounds = bounds;
    this.#most = bounds.megabytes * 1e6;
    this.#monotonic = monotonic;
    this.#pace = new TokenBucket(bounds.perMinute, monotonic());
  }

  /** The bytes that all records use. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Starts a capture. `undefined` if requests arrive faster than `perMinute`: people could not open each of them before
   * it is dropped.
   */
  begin(facts: CaptureOptions): Capture | undefined {
    if (!facts.requestLog.isFromConsole && !this.#isInPace()) {
      this.passed++;
      return undefined;
    }
    this.#forget(facts.id);
    while (this.#entries.size >= this.bounds.requests) this.#forget(this.#entries.keys().next().value!);
    const entry = new Entry(facts.id, Math.floor(this.#most * SHARE), this);
    this.#entries.set(entry.id, entry);
    entry.capture = new Capture(facts, entry);
    return entry.capture;
  }

  #isInPace(): boolean {
    const now = this.#monotonic();
    if (this.#pace.level(now) < 1) return false;
    this.#pace.take(1, now);
    return true;
  }

  /** Completes the capture of a request that is over. */
  end({ cause: _, ...line }: LogEntry): void {
    const entry = this.#entries.get(line.id);
    if (!entry) return;
    const { capture } = entry;
    capture.entry = line;
    capture.body.trim();
    capture.answer.trim();
    this.take(entry, line.notes?.reduce((sum, note) => sum + note.length + 16, 0) ?? 0);
  }

  of(id: string): Capture | undefined {
    return this.#entries.get(id)?.capture;
  }

  /** The captures from newest to oldest. */
  all(): { capture: Capture; bytes: number }[] {
    return [...this.#entries.values()].reverse();
  }

  /** Reserves bytes for a record and drops older records if necessary. False if there is no room. */
  take(entry: Entry, bytes: number): boolean {
    if (entry.isGone || bytes > this.#most) return false;
    while (this.#bytes + bytes > this.#most) {
      const oldest = this.#oldestBut(entry.id);
      if (oldest === undefined) return false;
      this.#forget(oldest);
    }
    entry.bytes += bytes;
    this.#bytes += bytes;
    return true;
  }

  #oldestBut(id: string): string | undefined {
    for (const other of this.#entries.keys()) if (other !== id) return other;
  }

  giveBack(entry: Entry, bytes: number): void {
    if (entry.isGone) return;
    entry.bytes -= bytes;
    this.#bytes -= bytes;
  }

  /** A running request still holds its record, so the record's contents are released as well. */
  #forget(id: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#entries.delete(id);
    this.#bytes -= entry.bytes;
    entry.isGone = true;
    const { body, answer, calls, events } = entry.capture;
    for (const capture of [body, answer, ...calls.flatMap((call) => [call.body, call.answer])]) capture.drop();
    calls.length = 0;
    events.length = 0;
  }
}
