/** What clients, the gateway and upstreams sent each other, of the latest requests: in memory only, and within two bounds. */
import { TokenBucket } from "../http/token_bucket.ts";
import type { LogEntry } from "../observe/log.ts";
import type { Room } from "./capture.ts";
import { Recorded, type RecordFacts } from "./recorded.ts";

export interface RecordBounds {
  /** How many requests are kept. */
  requests: number;
  /** What they may take together. */
  megabytes: number;
  /** How many begin in a minute. They may all begin at once. */
  perMinute: number;
}

/** What of the room one body may take: one that is huge must not drive out everything else. */
const SHARE = 1 / 8;

/** One record in the room of all: the oldest of the others make place for it. */
class Entry implements Room {
  readonly id: string;
  readonly mostBytes: number;
  readonly #recording: Recording;
  record!: Recorded;
  /** What it takes. */
  bytes = 0;
  isGone = false;

  constructor(id: string, mostBytes: number, recording: Recording) {
    this.id = id;
    this.mostBytes = mostBytes;
    this.#recording = recording;
  }

  take(bytes: number): boolean {
    return this.#recording.take(this, bytes);
  }

  giveBack(bytes: number): void {
    this.#recording.giveBack(this, bytes);
  }
}

export class Recording {
  readonly bounds: RecordBounds;
  /** The oldest first. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  readonly #most: number;
  readonly #monotonic: () => number;
  readonly #pace: TokenBucket;
  /** How many requests were not recorded, because too many came. */
  passed = 0;

  constructor(bounds: RecordBounds, monotonic: () => number) {
    this.bounds = bounds;
    this.#most = bounds.megabytes * 1e6;
    this.#monotonic = monotonic;
    this.#pace = new TokenBucket(bounds.perMinute, monotonic());
  }

  /** What is kept takes so much. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Nothing where more come than are recorded: nobody could open each before it is forgotten. */
  begin(facts: RecordFacts): Recorded | undefined {
    if (!facts.recorder.isFromConsole && !this.#isInPace()) {
      this.passed++;
      return undefined;
    }
    this.#forget(facts.id);
    while (this.#entries.size >= this.bounds.requests) this.#forget(this.#entries.keys().next().value!);
    const entry = new Entry(facts.id, Math.floor(this.#most * SHARE), this);
    this.#entries.set(entry.id, entry);
    entry.record = new Recorded(facts, entry);
    return entry.record;
  }

  #isInPace(): boolean {
    const now = this.#monotonic();
    if (this.#pace.level(now) < 1) return false;
    this.#pace.take(1, now);
    return true;
  }

  /** The request is over. */
  end({ cause: _, ...line }: LogEntry): void {
    const entry = this.#entries.get(line.id);
    if (!entry) return;
    const { record } = entry;
    record.entry = line;
    record.body.trim();
    record.answer.trim();
    this.take(entry, line.notes?.reduce((sum, note) => sum + note.length + 16, 0) ?? 0);
  }

  of(id: string): Recorded | undefined {
    return this.#entries.get(id)?.record;
  }

  /** The latest first. */
  all(): { record: Recorded; bytes: number }[] {
    return [...this.#entries.values()].reverse();
  }

  /** Whether there is room for so many bytes more of a record, once older ones are forgotten. */
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

  /** What still runs holds its record, and so lets go of what is in it. */
  #forget(id: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#entries.delete(id);
    this.#bytes -= entry.bytes;
    entry.isGone = true;
    const { body, answer, calls, events } = entry.record;
    for (const capture of [body, answer, ...calls.flatMap((call) => [call.body, call.answer])]) capture.drop();
    calls.length = 0;
    events.length = 0;
  }
}
