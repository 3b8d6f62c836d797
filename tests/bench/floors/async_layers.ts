/**
 * Claim: an asynchronous function around another one takes 0.06 µs a call. The five that a chunk of a stream passes in Laneway are
 * 2 % of what it takes, so they stay apart, each with one matter of its own.
 * `deno run --allow-read tests/bench/floors/async_layers.ts` prints what one of them takes.
 */
import process from "node:process";

const [ROUNDS, CALLS] = [12, 200_000];

interface Source {
  next(): Promise<readonly number[] | undefined>;
}

function layered(layers: number): Source {
  let source: Source = { next: () => Promise.resolve([1]) };
  for (let layer = 0; layer < layers; layer++) {
    const inner = source;
    source = {
      async next() {
        try {
          const events = await inner.next();
          return events ? events : undefined;
        } catch (thrown) {
          throw new Error("failed", { cause: thrown });
        }
      },
    };
  }
  return source;
}

const least = new Map<number, number>();
for (let round = 0; round < ROUNDS; round++) {
  for (const layers of [1, 6]) {
    const source = layered(layers);
    const before = process.cpuUsage();
    for (let call = 0; call < CALLS; call++) await source.next();
    const { user, system } = process.cpuUsage(before);
    least.set(layers, Math.min(least.get(layers) ?? Infinity, (user + system) / CALLS));
  }
}
const micros = (least.get(6)! - least.get(1)!) / 5;
Deno.stdout.writeSync(new TextEncoder().encode(`An asynchronous function around another: ${micros.toFixed(3)} µs\n`));
