import { queues } from "../../src/util/time_limit.ts";

/** Time that passes only where a test says so: `performance.now()` and the timers of this thread follow it. */
export interface FakeClock {
  /** Lets so many milliseconds pass, or none: each timer that is due fires in its turn, and what waits for it goes on. */
  advance(ms: number): Promise<void>;
  /** How many timers wait that somebody must clear. */
  waiting(): number;
}

interface Timer {
  at: number;
  callback(): void;
  /** Whether nobody must clear it. */
  isOwn: boolean;
}

/** Runs `test` with the clock standing still; the real one is back afterwards. */
export async function withFakeClock(
  test: (clock: FakeClock) => Promise<void>,
): Promise<void> {
  const { setTimeout, clearTimeout } = globalThis;
  const { timeout } = AbortSignal;
  const realNow = performance.now;
  const timers = new Map<number, Timer>();
  const realQueues = [...queues];
  queues.clear();
  // Whole, so that sums of times are exact.
  let now = Math.ceil(realNow.call(performance));
  let lastId = 0;

  const start = (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    timers.set(++lastId, { at: now + ms, callback: () => callback(...args), isOwn: false });
    return lastId;
  };
  Object.assign(globalThis, { setTimeout: start, clearTimeout: (id: number) => timers.delete(id) });
  // Others have a turn after 0 ms whether time passes or not.
  AbortSignal.timeout = (ms) => {
    if (ms === 0) return timeout.call(AbortSignal, ms);
    const controller = new AbortController();
    timers.set(++lastId, { at: now + ms, callback: () => controller.abort(), isOwn: true });
    return controller.signal;
  };
  performance.now = () => now;

  /** Everything that needs no timer gets as far as it can: several rounds, as streams take one a step. */
  const settle = async () => {
    for (let round = 0; round < 10; round++) {
      await new Promise((resolve) => setTimeout(resolve));
    }
  };
  const clock: FakeClock = {
    waiting: () => [...timers.values()].filter(({ isOwn }) => !isOwn).length,
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (;;) {
        const [next] = [...timers].filter(([, { at }]) => at <= until).sort((
          [, a],
          [, b],
        ) => a.at - b.at);
        if (!next) break;
        const [id, { at, callback }] = next;
        timers.delete(id);
        now = Math.max(now, at);
        callback();
        await settle();
      }
      now = until;
    },
  };
  try {
    await test(clock);
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
    AbortSignal.timeout = timeout;
    performance.now = realNow;
    queues.clear();
    for (const [ms, queue] of realQueues) queues.set(ms, queue);
  }
}
