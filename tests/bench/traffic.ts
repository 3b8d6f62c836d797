/** What a running gateway costs under each kind of load, and how long its clients wait. */
import { type Answer, Connection } from "./client.ts";
import { clock } from "./clock.ts";
import { requestTo, type Subject } from "./gateways.ts";
import { treeCpuUs } from "./process_tree.ts";
import { type Figure, quantile, type Values } from "./table.ts";
import type { Load } from "./bodies.ts";

/** How much of each measure one round takes; `budgetMs` ends it earlier where a gateway is slow. */
export interface Size {
  rounds: number;
  requests: number;
  largeRequests: number;
  streams: number;
  budgetMs: number;
  /** Of paced streams, of many connections and of many streams. */
  lastsMs: number;
}

export const FULL: Size = { rounds: 5, requests: 400, largeRequests: 50, streams: 50, budgetMs: 2_500, lastsMs: 1_250 };
export const QUICK: Size = { rounds: 3, requests: 150, largeRequests: 20, streams: 20, budgetMs: 800, lastsMs: 700 };

export interface Measure {
  name: string;
  figures: Record<string, Figure>;
  /** The figure that falls as long as V8 compiles what it measures; absent where others of them settle the same code. */
  settlesOn?: string;
  take(subject: Subject, size: Size): Promise<Values>;
}

const SMALL: Load = { bytes: 1_000 };
const LARGE: Load = { bytes: 400_000 };
export const CHUNKS = 200;
const BURST = 20;
/** What the fake upstream is told: servers that write many tokens at a time send them so, and so does a network that is slow. */
export const BURSTS = `chunks=${CHUNKS} burst=${BURST}`;
const CONNECTIONS = 32;
const PACED_STREAMS = 50;
const PACE_MS = 20;
const SLOW_STREAMS = 500;
const SLOW_MS = 500;
const CONNECT_AT_ONCE = 50;
const OPENED_WITHIN_MS = 20_000;

const cpu = (label: string, unit: string, digits: number): Figure => ({ label, unit, digits, beside: "times" });

export const MEASURES: readonly Measure[] = [
  whole("whole-1kB", "whole answer, 1 kB", SMALL, "requests", { unit: "µs", perUs: 1, digits: 0 }),
  whole("whole-400kB", "whole answer, 400 kB", LARGE, "largeRequests", { unit: "ms", perUs: 1_000, digits: 2 }),
  stream("chunks-at-once", `${CHUNKS} chunks at once`, `chunks=${CHUNKS}`),
  stream(`chunks-by-${BURST}`, `${CHUNKS} chunks, ${BURST} a write`, BURSTS),
  {
    name: "chunks-paced",
    figures: { pacedCpu: cpu(`a chunk of ${PACED_STREAMS} streams paced at ${PACE_MS} ms: CPU`, "µs", 1) },
    async take(subject, size) {
      const chunks = Math.ceil(size.lastsMs / PACE_MS);
      const paced = (count: number) => requestOf(subject, { ...SMALL, stream: `chunks=${count} delay=${PACE_MS}` });
      const request = paced(chunks);
      return await withConnections(subject, PACED_STREAMS, async (connections) => {
        const first = paced(Math.ceil(chunks / MEASURED_PER_FIRST));
        await Promise.all(connections.map((connection) => connection.ask(first)));
        const before = treeCpuUs(subject.server.pid);
        await Promise.all(connections.map((connection) => connection.ask(request)));
        return { pacedCpu: (treeCpuUs(subject.server.pid) - before) / (chunks * PACED_STREAMS) };
      });
    },
  },
  {
    name: "connections-32",
    figures: {
      busyCpu: cpu(`${CONNECTIONS} connections, 1 kB: CPU of an answer`, "µs", 0),
      busyRate: { label: `${CONNECTIONS} connections, 1 kB: answers`, unit: "1/s", digits: 0 },
    },
    take: (subject, size) =>
      withConnections(subject, CONNECTIONS, async (connections) => {
        const request = requestOf(subject, SMALL);
        await askAll(connections, request, size.lastsMs / MEASURED_PER_FIRST);
        const before = treeCpuUs(subject.server.pid);
        const { count, seconds } = await askAll(connections, request, size.lastsMs);
        return { busyCpu: (treeCpuUs(subject.server.pid) - before) / count, busyRate: count / seconds };
      }),
  },
  {
    name: "first-byte",
    figures: { firstByte: { label: "first byte of a stream: p50", unit: "ms", digits: 2, beside: "more" } },
    async take(subject, size) {
      const { answers } = await askInTurn(subject, { ...SMALL, stream: "chunks=3" }, size.requests / 2, size);
      return { firstByte: quantile(answers.map(({ firstByteMs }) => firstByteMs), 0.5) };
    },
  },
  {
    name: "streams-500",
    figures: {
      slowDelay: {
        label: `${SLOW_STREAMS} streams, 2 chunks/s each: delay of a chunk, p50`,
        unit: "ms",
        digits: 2,
        beside: "more",
      },
      slowCpu: cpu(`${SLOW_STREAMS} streams, 2 chunks/s each: CPU of a chunk`, "µs", 1),
    },
    take: slowStreams,
  },
];

function whole(
  name: string,
  label: string,
  load: Load,
  count: "requests" | "largeRequests",
  { unit, perUs, digits }: { unit: string; perUs: number; digits: number },
): Measure {
  return {
    name,
    settlesOn: `${name}Cpu`,
    figures: {
      [`${name}Cpu`]: cpu(`${label}: CPU`, unit, digits),
      [`${name}P50`]: { label: `${label}: p50`, unit: "ms", digits: 2, beside: "more" },
    },
    async take(subject, size) {
      const { answers, cpuUs } = await askInTurn(subject, load, size[count], size);
      return {
        [`${name}Cpu`]: cpuUs / answers.length / perUs,
        [`${name}P50`]: quantile(answers.map(({ totalMs }) => totalMs), 0.5),
      };
    },
  };
}

/** Streams of so many chunks without a pause, one after the other. */
function stream(name: string, label: string, orders: string): Measure {
  return {
    name,
    settlesOn: `${name}Cpu`,
    figures: {
      [`${name}Cpu`]: cpu(`${label}: CPU`, "ms", 2),
      [`${name}P50`]: { label: `${label}: p50`, unit: "ms", digits: 2, beside: "more" },
    },
    async take(subject, size) {
      const { answers, cpuUs } = await askInTurn(subject, { ...SMALL, stream: orders }, size.streams, size);
      return {
        [`${name}Cpu`]: cpuUs / answers.length / 1_000,
        [`${name}P50`]: quantile(answers.map(({ totalMs }) => totalMs), 0.5),
      };
    },
  };
}

/** Each chunk says when the upstream wrote it. */
async function slowStreams(subject: Subject, size: Size): Promise<Values> {
  const request = requestOf(subject, { ...SMALL, stream: `chunks=100000 delay=${SLOW_MS} stamp=1 spread=1` });
  return await withConnections(subject, SLOW_STREAMS, async (connections) => {
    let opened = 0;
    let delays: number[] | undefined;
    const streams = connections.map(() => Promise.withResolvers<void>());
    // Where not all of them open, nobody waits for the others.
    for (const { promise } of streams) promise.catch(() => {});
    const reading = connections.map(async (connection, at) => {
      const decoder = new TextDecoder();
      await connection.ask(request, (bytes) => {
        streams[at]!.resolve();
        const now = clock();
        for (const [, stamp] of decoder.decode(bytes).matchAll(/t=([\d.]+) /g)) delays?.push(now - Number(stamp));
      }).catch(streams[at]!.reject);
    });
    const deadline = performance.now() + OPENED_WITHIN_MS;
    for (const { promise } of streams) {
      await within(deadline - performance.now(), promise, () => `only ${opened} of ${SLOW_STREAMS} streams open`);
      opened++;
    }
    await sleep(SLOW_MS);
    delays = [];
    const before = treeCpuUs(subject.server.pid);
    await sleep(2 * size.lastsMs);
    const cpuUs = treeCpuUs(subject.server.pid) - before;
    const found = delays;
    delays = undefined;
    for (const connection of connections) connection.close();
    await Promise.allSettled(reading);
    if (found.length < SLOW_STREAMS) throw new Error(`only ${found.length} chunks of ${SLOW_STREAMS} streams`);
    return { slowDelay: quantile(found, 0.5), slowCpu: cpuUs / found.length };
  });
}

/** So long small requests and streams are asked before the first measure, in milliseconds: an engine compiles for thousands. */
const WARM_MS = 5_000;

/** Runs every kind of request until the code is compiled. */
export async function warmUp(subject: Subject, lastsMs = WARM_MS): Promise<void> {
  const busy = (load: Load) =>
    withConnections(subject, CONNECTIONS, (connections) => askAll(connections, requestOf(subject, load), lastsMs));
  await busy(SMALL);
  await askInTurn(subject, LARGE, 15, { ...FULL, budgetMs: 2_000 });
  await busy({ ...SMALL, stream: "chunks=50" });
}

/** A gateway has settled when so many measures in a row found less than so much of a gain; no more than so many are taken. */
const [SETTLED, GAIN, MOST_MEASURES] = [3, 0.03, 15];

/** Repeats a measure until its figure falls no further. */
export async function settle(subject: Subject, { take, settlesOn }: Measure, size: Size): Promise<void> {
  if (settlesOn === undefined) return;
  let least = Infinity;
  for (let taken = 0, level = 0; level < SETTLED && taken < MOST_MEASURES; taken++) {
    const found = (await take(subject, size))[settlesOn]!;
    level = found > least * (1 - GAIN) ? level + 1 : 0;
    least = Math.min(least, found);
  }
}

/**
 * For each so many that are measured, one goes before them that is not. The gateways take turns: the first requests after others
 * ran meet parked connections and cold caches, the garbage of another measure, and code that it made the engine compile anew.
 */
const MEASURED_PER_FIRST = 6;

async function askInTurn(subject: Subject, load: Load, count: number, { budgetMs }: Size) {
  const request = requestOf(subject, load);
  const connection = await Connection.open(subject.server.origin);
  try {
    const answers: Answer[] = [];
    const ask = () => within(OPENED_WITHIN_MS, connection.ask(request), () => "no answer");
    const end = performance.now() + budgetMs;
    const firstEnd = performance.now() + budgetMs / MEASURED_PER_FIRST;
    for (let first = 0; first < count / MEASURED_PER_FIRST && performance.now() < firstEnd; first++) await ask();
    const before = treeCpuUs(subject.server.pid);
    while (answers.length < count && (answers.length < 3 || performance.now() < end)) answers.push(await ask());
    const bytes = answers.map((answer) => answer.bytes);
    if (Math.min(...bytes) < 0.9 * Math.max(...bytes)) throw new Error("answers of different lengths");
    return { answers, cpuUs: treeCpuUs(subject.server.pid) - before };
  } finally {
    connection.close();
  }
}

/** All connections ask, one answer after the other, for so long. */
export async function askAll(connections: readonly Connection[], request: Uint8Array, lastsMs: number) {
  const began = performance.now();
  const counts = await Promise.all(connections.map(async (connection) => {
    let count = 0;
    for (; performance.now() - began < lastsMs; count++) await connection.ask(request);
    return count;
  }));
  return { count: counts.reduce((sum, more) => sum + more, 0), seconds: (performance.now() - began) / 1_000 };
}

/** Opens so many, in groups, and closes them once `use` is over. */
export async function withConnections<T>(
  { server }: Pick<Subject, "server">,
  count: number,
  use: (connections: Connection[]) => Promise<T>,
): Promise<T> {
  const connections: Connection[] = [];
  try {
    while (connections.length < count) {
      const some = Math.min(CONNECT_AT_ONCE, count - connections.length);
      connections.push(...await Promise.all(Array.from({ length: some }, () => Connection.open(server.origin))));
    }
    return await use(connections);
  } finally {
    for (const connection of connections) connection.close();
  }
}

export function requestOf({ gateway, wire, server }: Subject, load: Load): Uint8Array {
  return requestTo(gateway, wire, server.origin, load);
}

async function within<T>(ms: number, promise: Promise<T>, failure: () => string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${failure()} after ${(ms / 1_000).toFixed(0)} s`)), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
