/**
 * What it costs to be safe: a key with every quota, the gateway's own limits, places at the upstream, the breaker and the log,
 * all on, beside the same gateway with all of them off. Neither hedges. Both run at once and are asked in turn in small
 * batches, so that what the machine does meanwhile meets both; what is added is the median of the differences between
 * neighbours.
 */
import { Connection, postBytes } from "./client.ts";
import { cpuUs, type Server, startServer } from "./server.ts";
import { bodyFor, type Load } from "./bodies.ts";
import { type Figure, quantile, type Values } from "./table.ts";

export const SAFEGUARDS = ["without safeguards", "with safeguards", "added"] as const;
export type Safeguards = typeof SAFEGUARDS[number];

export const SAFEGUARD_FIGURES: Record<string, Figure> = {
  safeP50: { label: "whole answer, 1 kB: p50", unit: "ms", digits: 3 },
  safeCpu: { label: "whole answer, 1 kB: CPU", unit: "µs", digits: 0 },
  safeFirstByteP50: { label: "first byte of a stream: p50", unit: "ms", digits: 3 },
};

const VARIABLE = "LANEWAY_BENCH_KEY";
const KEY = crypto.randomUUID();
const MUCH = 1_000_000_000;
/** Requests of one batch. */
const BATCH = 20;
/** Not counted, because the code is not compiled yet. */
const WARM_BATCHES = 20;

/** Taken of two processes that have just started: each pair has luck of its own with its memory. */
export async function measureSafeguards(upstream: string, batches: number): Promise<Record<Safeguards, Values>> {
  const off = await startUnguarded(upstream);
  const on = await startGuarded(upstream);
  try {
    const unary = await compare(off, on, { bytes: 1_000 }, batches);
    const stream = await compare(off, on, { bytes: 1_000, stream: "chunks=3" }, batches);
    const [offCpu, onCpu] = unary.cpu;
    const addedCpu = offCpu !== undefined && onCpu !== undefined ? onCpu - offCpu : undefined;
    return {
      "without safeguards": { safeP50: unary.off, safeCpu: offCpu, safeFirstByteP50: stream.off },
      "with safeguards": { safeP50: unary.on, safeCpu: onCpu, safeFirstByteP50: stream.on },
      added: { safeP50: unary.added, safeCpu: addedCpu, safeFirstByteP50: stream.added },
    };
  } finally {
    await off.stop();
    await on.stop();
  }
}

async function compare(off: Server, on: Server, load: Load, batches: number) {
  const request = (server: Server) =>
    postBytes(`${server.origin}/oss/v1/chat/completions`, bodyFor("chat", load), { authorization: `Bearer ${KEY}` });
  const connections = await Promise.all([off, on].map(({ origin }) => Connection.open(origin)));
  const requests = [off, on].map(request);
  const batch = async (which: number) => {
    const times: number[] = [];
    while (times.length < BATCH) {
      const answer = await connections[which]!.ask(requests[which]!);
      times.push(load.stream === undefined ? answer.totalMs : answer.firstByteMs);
    }
    return quantile(times, 0.5);
  };
  const pairs: [off: number, on: number][] = [];
  // What is done after an answer, such as to print the log, is in no latency.
  const cpu = () => [off, on].map(({ pid }) => cpuUs(pid));
  let before = cpu();
  try {
    for (let round = 0; round < WARM_BATCHES + batches; round++) {
      if (round === WARM_BATCHES) before = cpu();
      // Who comes second is not always the same.
      const first = round % 2;
      const one = await batch(first);
      const other = await batch(1 - first);
      if (round >= WARM_BATCHES) pairs.push(first === 0 ? [one, other] : [other, one]);
    }
  } finally {
    for (const connection of connections) connection.close();
  }
  return {
    cpu: cpu().map((us, at) => us === undefined ? undefined : (us - before[at]!) / (batches * BATCH)),
    off: quantile(pairs.map(([off]) => off), 0.5),
    on: quantile(pairs.map(([, on]) => on), 0.5),
    added: quantile(pairs.map(([off, on]) => on - off), 0.5),
  };
}

async function startGuarded(upstream: string): Promise<Server> {
  const quota = { requestsPerMinute: MUCH, tokensPerMinute: MUCH, tokensPerDay: MUCH, concurrentRequests: MUCH };
  const folder = await configFolder(
    upstream,
    {
      keys: [{ name: "bench", secret: { env: VARIABLE }, lanes: ["oss"], models: ["bench"], quota }],
      limits: { memoryBytes: 1_000 * MUCH },
    },
    { concurrency: { running: 100 } },
  );
  const main = import.meta.resolve("../../src/main.ts");
  return await startServer([main, "--config", `${folder}/gateway.json`, "--port", "0"], folder, { [VARIABLE]: KEY });
}

async function startUnguarded(upstream: string): Promise<Server> {
  const folder = await configFolder(upstream, {});
  return await startServer([import.meta.resolve("./unguarded.ts"), `${folder}/gateway.json`], folder);
}

/** A folder with a configuration of one model with two targets; beside it what is more in the whole and in each upstream. */
async function configFolder(upstream: string, whole: object, service: object = {}) {
  const folder = await Deno.makeTempDir({ prefix: "laneway-bench-" });
  const fake = { driver: "chat", baseUrl: `${upstream}/v1`, ...service };
  const targets = ["first", "second"].map((upstream) => ({ upstream, model: "bench" }));
  const config = {
    upstreams: { first: fake, second: fake },
    lanes: { oss: { models: { bench: { task: "chat", targets } } } },
    store: { path: `${folder}/store.sqlite3` },
    ...whole,
  };
  await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
  return folder;
}
