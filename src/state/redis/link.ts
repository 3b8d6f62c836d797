/**
 * A link to a server. It is opened at the first use, and again whenever it is lost. A server that does not answer counts as
 * lost, and calls to a lost server fail at once. So do calls whose limit is too short for a slow server.
 */
import { callWhileAlive } from "../../util/idle_timer.ts";
import { failAfter, failAfterAwake } from "../../util/timeout.ts";
import type { Script } from "./scripts.ts";
import type { Command, Wire } from "./wire.ts";

export interface Link {
  /**
   * The reply, with its texts as bytes. Throws if none comes within `limitMs`, and at once if the server has lately taken as
   * long for less.
   */
  send(command: Command, limitMs?: number): Promise<unknown>;
  /**
   * Runs a script that changes something. A script that the server starts after the longest time that a reply may take changes
   * nothing, because its caller has gone another way by then. A caller with a shorter limit cannot know whether it ran.
   */
  run(script: Script, keys: readonly string[], args: Command, limitMs?: number): Promise<unknown>;
  /**
   * Whether an answer within `limitMs` is likely, as far as is known. A call with a limit below `REPLY_MS` should not wait for a
   * server that stays slow, even if each of its answers would come in time.
   */
  isReady(limitMs: number): boolean;
  close(): void;
}

/** How long a reply may take, in milliseconds. A server that takes longer counts as lost. */
export const REPLY_MS = 800;
/** How long it may take to open a connection, in milliseconds. */
export const OPEN_MS = 800;
/** A large command may take longer: one more millisecond for this many bytes. */
const BYTES_PER_MS = 20_000;
/** The wait before a lost server is tried again, and how often a server is checked, in milliseconds. */
const RETRY_MS = 250;
const LOOK_MS = 1_000;
/** A server is slow if it takes this many milliseconds to tell its time, `SLOW_TIMES` times in a row. */
const SLOW_MS = 100;
const SLOW_TIMES = 2;
/** The precision of the measure of how long this process was free to read a reply, in milliseconds. */
const AWAKE_MS = 20;

export function createLink(open: () => Promise<Wire>): Link {
  return new OpenedLink(open);
}

class OpenedLink implements Link {
  readonly #open: () => Promise<Wire>;
  #wire: Wire | undefined;
  #opening: Promise<Wire> | undefined;
  #openingSince = 0;
  /** Why there is no connection, if one was lost or could not be opened. */
  #failure: Error | undefined;
  #isClosed = false;
  #cancelNext: (() => void) | undefined;
  /** The least by which the server's clock is ahead of this process's, in milliseconds. The deadlines of scripts depend on it. */
  #ahead = 0;
  /** How long the server took to tell its time, or longer if a call has timed out since. Calls with no longer limit fail at once. */
  #takesMs = 0;
  /** How many times in a row it has been slow. */
  #slowTimes = 0;
  #isLooking = false;
  /** Whether scripts are sent in full, because the server does not allow calling them by their hash. */
  #isSpelledOut = false;

  constructor(open: () => Promise<Wire>) {
    this.#open = open;
  }

  async send(command: Command, limitMs = REPLY_MS): Promise<unknown> {
    const isPatient = limitMs >= REPLY_MS;
    const allowedMs = limitMs + bytesOf(command) / BYTES_PER_MS;
    const wire = await this.#current(limitMs);
    if (limitMs <= this.#takesMs) throw new Error(`The store takes longer than ${Math.round(limitMs)} ms to answer`);
    let isLate = false;
    try {
      return await failAfterAwake(allowedMs, wire.send(command), () => {
        isLate = true;
        return late(allowedMs);
      });
    } catch (error) {
      // A demoted server says so, before version 7 inside the error of a script. The next connection may find its successor.
      const isLost = isLate ? isPatient : isDemotion(error);
      if (isLost) this.#lose(wire, error as Error);
      else if (isLate) this.#suspect(wire, limitMs);
      throw error;
    }
  }

  async run(script: Script, keys: readonly string[], args: Command, limitMs = REPLY_MS): Promise<unknown> {
    await this.#current(limitMs); // opening the connection reads the server's clock
    for (let isSecond = false;; isSecond = true) {
      const aliveMs = Math.max(limitMs, REPLY_MS) + bytesOf(args) / BYTES_PER_MS;
      const until = Math.ceil(performance.now() + this.#ahead + aliveMs);
      const reply = await this.#runBefore(until, script, keys, args, limitMs);
      const [mark, at] = Array.isArray(reply) ? reply : [];
      if (mark !== TOO_LATE) return reply;
      // The clock that was read may have been another server's.
      const ahead = Number(at) - performance.now();
      const isOtherClock = ahead > this.#ahead + limitMs;
      this.#ahead = ahead;
      if (isSecond || !isOtherClock) throw late(limitMs);
    }
  }

  async #runBefore(until: number, script: Script, keys: readonly string[], args: Command, limitMs: number) {
    const rest = [String(keys.length), ...keys, String(until), ...args];
    if (!this.#isSpelledOut) {
      try {
        return await this.send(["EVALSHA", script.sha1(), ...rest], limitMs);
      } catch (error) {
        const reason = (error as Error).message;
        // An administrator may have forbidden or renamed the command.
        if (/^NOPERM|^ERR unknown command/.test(reason)) this.#isSpelledOut = true;
        else if (!reason.startsWith("NOSCRIPT")) throw error;
      }
    }
    return await this.send(["EVAL", script.text, ...rest], limitMs);
  }

  isReady(limitMs: number): boolean {
    const isSlow = this.#slowTimes >= SLOW_TIMES;
    return this.#wire !== undefined && limitMs > this.#takesMs && (limitMs >= REPLY_MS || !isSlow);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelNext?.();
    this.#wire?.destroy();
    this.#wire = undefined;
  }

  async #current(limitMs: number): Promise<Wire> {
    if (this.#wire) return this.#wire;
    const opened = this.#opened();
    // Opening a connection has limits of its own, and a machine that has just started is busy.
    if (limitMs >= REPLY_MS) return await opened;
    const leftMs = limitMs - (performance.now() - this.#openingSince);
    return await failAfter(Math.max(0, leftMs), opened, () => late(limitMs));
  }

  /** Waits for the first connection. Throws at once if the last attempt failed. */
  async #opened(): Promise<Wire> {
    if (this.#isClosed) throw new Error("Cannot use the store: it is closed");
    if (this.#failure) throw this.#failure;
    if (!this.#opening) {
      this.#openingSince = performance.now();
      this.#opening = this.#connect();
    }
    return await this.#opening;
  }

  async #connect(): Promise<Wire> {
    try {
      const wire = await this.#openInTime();
      this.#wire = wire;
      this.#failure = undefined;
      this.#isLooking = false;
      wire.lost.then((error) => this.#lose(wire, error));
      this.#next(LOOK_MS, () => this.#look(wire));
      return wire;
    } catch (error) {
      this.#failure = error as Error;
      this.#next(RETRY_MS, () => void this.#connect().catch(() => {}));
      throw error;
    } finally {
      this.#opening = undefined;
    }
  }

  async #openInTime(): Promise<Wire> {
    const opening = this.#open();
    let wire: Wire | undefined;
    try {
      wire = await failAfterAwake(OPEN_MS, opening, () => late(OPEN_MS));
      await this.#readClock(wire);
      if (this.#isClosed) throw new Error("Cannot use the store: it is closed");
      return wire;
    } catch (error) {
      opening.then((opened) => opened.destroy(), () => {});
      throw error;
    }
  }

  /** A frozen server keeps its connections, so the server is asked something now and then, and more often while it is slow. */
  async #look(wire: Wire): Promise<void> {
    this.#isLooking = true;
    try {
      await this.#readClock(wire);
      if (this.#wire !== wire) return;
      this.#isLooking = false;
      this.#next(this.#slowTimes === 0 ? LOOK_MS : RETRY_MS, () => this.#look(wire));
    } catch (error) {
      this.#lose(wire, error as Error);
    }
  }

  /** Until the server has answered something small, calls with a limit up to `ms` fail at once. */
  #suspect(wire: Wire, ms: number): void {
    if (this.#wire !== wire) return;
    this.#takesMs = Math.max(this.#takesMs, ms);
    if (!this.#isLooking) void this.#look(wire);
  }

  async #readClock(wire: Wire): Promise<void> {
    const asked = performance.now();
    let awakeMs = AWAKE_MS;
    const awake = setInterval(() => awakeMs += AWAKE_MS, AWAKE_MS);
    try {
      const reply = await failAfterAwake(REPLY_MS, wire.send(["TIME"]), () => late(REPLY_MS));
      const answered = performance.now();
      const [seconds, microseconds] = (reply as unknown[]).map(String).map(Number) as [number, number];
      this.#ahead = seconds * 1_000 + microseconds / 1_000 - answered;
      // The reply may have waited while this process was busy with something else.
      this.#takesMs = Math.min(answered - asked, awakeMs);
      this.#slowTimes = this.#takesMs < SLOW_MS ? 0 : this.#slowTimes + 1;
    } finally {
      clearInterval(awake);
    }
  }

  #lose(wire: Wire, error: Error): void {
    wire.destroy();
    if (this.#wire !== wire) return;
    this.#wire = undefined;
    this.#failure = error;
    this.#next(RETRY_MS, () => void this.#connect().catch(() => {}));
  }

  #next(ms: number, run: () => void): void {
    this.#cancelNext?.();
    if (!this.#isClosed) this.#cancelNext = callWhileAlive(ms, run);
  }
}

/** The first value that a script returns if it started too late. The second is the server's time. */
const TOO_LATE = -1;

function late(ms: number): Error {
  return new Error(`The store did not answer within ${Math.round(ms)} ms`);
}

function isDemotion(error: unknown): boolean {
  return error instanceof Error && /^(READONLY|MASTERDOWN|LOADING)\b|-READONLY /.test(error.message);
}

function bytesOf(command: Command): number {
  return command.reduce((sum, { length }) => sum + length, 0);
}
