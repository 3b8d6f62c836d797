/**
 * Claim: an asynchronous function around another one takes half as much time again as a `then` whose handlers are made once, and
 * four times its memory. Of the layers that a chunk of a stream passes in Laneway all are such a `then` but one, which has a loop.
 * `deno run --allow-read tests/bench/floors/async_layers.ts` prints what one layer of each kind takes a call.
 */
import process from "node:process";
import v8 from "node:v8";

const [ROUNDS, CALLS, LAYERS] = [12, 200_000, 6];

type Next = () => Promise<readonly number[] | undefined>;

const source: Next = () => Promise.resolve([1]);
const fail = (thrown: unknown): never => {
  throw new Error("failed", { cause: thrown });
};
const pass = (events: readonly number[] | undefined) => events ? events : undefined;

const around: Record<string, (inner: Next) => Next> = {
  "asynchronous function": (inner) => async () => {
    try {
      return pass(await inner());
    } catch (thrown) {
      return fail(thrown);
    }
  },
  "then": (inner) => () => inner().then(pass, fail),
};

async function costOf(next: Next): Promise<{ us: number; bytes: number }> {
  const [before, allocated] = [process.cpuUsage(), allocatedBytes()];
  for (let call = 0; call < CALLS; call++) await next();
  const { user, system } = process.cpuUsage(before);
  return { us: (user + system) / CALLS, bytes: (allocatedBytes() - allocated) / CALLS };
}

function allocatedBytes(): number {
  return (v8.getHeapStatistics() as unknown as { total_allocated_bytes: number }).total_allocated_bytes;
}

for (const [name, add] of Object.entries(around)) {
  const least = { us: Infinity, bytes: Infinity };
  let layered = source;
  for (let layer = 0; layer < LAYERS; layer++) layered = add(layered);
  for (let round = 0; round < ROUNDS; round++) {
    const [all, none] = [await costOf(layered), await costOf(source)];
    least.us = Math.min(least.us, (all.us - none.us) / LAYERS);
    least.bytes = Math.min(least.bytes, (all.bytes - none.bytes) / LAYERS);
  }
  const line = `${name}: ${least.us.toFixed(3)} µs and ${least.bytes.toFixed(0)} bytes a layer\n`;
  Deno.stdout.writeSync(new TextEncoder().encode(line));
}
