/** Time that passes only where a test says so: `performance.now()` and the timers of this thread follow it. */
export interface FakeClock {
  /** Lets so many milliseconds pass, or none: each timer that is due fires in its turn, and what waits for it goes on. */
  advance(ms: number): Promise<void>;
  /** How many timers wait. */
  waiting(): number;
}

interface Timer {
  at: number;
  callback(): void;
}

/** Runs `test` with the clock standing still; the real one is back afterwards. */
export async function withFakeClock(
  test: (clock: FakeClock) => Promise<void>,
): Promise<void> {
  const { setTimeout, clearTimeout } = globalThis;
  const realNow = performance.now;
  const timers = new Map<number, Timer>();
  let now = realNow.call(performance);
  let lastId = 0;

  const start = (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    timers.set(++lastId, { at: now + ms, callback: () => callback(...args) });
    return lastId;
  };
  Object.assign(globalThis, { setTimeout: start, clearTimeout: (id: number) => timers.delete(id) });
  performance.now = () => now;

  /** Everything that needs no timer gets as far as it can: several rounds, as streams take one a step. */
  const settle = async () => {
    for (let round = 0; round < 10; round++) {
      await new Promise((resolve) => setTimeout(resolve));
    }
  };
  const clock: FakeClock = {
    waiting: () => timers.size,
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
    performance.now = realNow;
  }
}
