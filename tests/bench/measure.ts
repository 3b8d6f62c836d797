/** How the figures of a running server are taken. */
import { type Answer, Connection, postBytes } from "./client.ts";
import { type Figures, quantile } from "./figures.ts";
import { cpuUs, residentKb, type Server } from "./server.ts";
import type { Load, Subject } from "./subjects.ts";

/** How much of each measure one round takes. */
export interface Size {
  rounds: number;
  starts: number;
  smallRequests: number;
  largeRequests: number;
  shortStreams: number;
  chunks: number;
  pacedMs: number;
  busyMs: number;
  /** Of a conversation, see there. */
  answers: number;
  endings: number;
  turns: number;
  longTurns: number;
  /** Of the tasks beside chat. */
  uploads: number;
  vectors: number;
  sounds: number;
  /** Of the safeguards, see there. */
  safeguards: number;
  batches: number;
}

export const FULL: Size = {
  rounds: 5,
  starts: 3,
  smallRequests: 600,
  largeRequests: 100,
  shortStreams: 300,
  chunks: 20_000,
  pacedMs: 1_250,
  busyMs: 1_250,
  answers: 200,
  endings: 60,
  turns: 60,
  longTurns: 20,
  uploads: 2,
  vectors: 3,
  sounds: 300,
  safeguards: 7,
  batches: 60,
};

export const QUICK: Size = {
  rounds: 3,
  starts: 1,
  smallRequests: 120,
  largeRequests: 20,
  shortStreams: 60,
  chunks: 6_000,
  pacedMs: 500,
  busyMs: 400,
  answers: 40,
  endings: 15,
  turns: 15,
  longTurns: 5,
  uploads: 1,
  vectors: 1,
  sounds: 60,
  safeguards: 3,
  batches: 30,
};

/** A subject whose server runs; for the direct call that is the upstream. */
export interface Running {
  subject: Subject;
  server: Server;
}

export type Measure = (running: Running, size: Size) => Promise<Figures>;

const SMALL: Load = { bytes: 1_000 };
const LARGE: Load = { bytes: 400_000 };
const COUNTED: Load = { bytes: 100_000 };
const CONNECTIONS = 32;
const PACED_STREAMS = 50;
const PACE_MS = 20;
const OPEN_STREAMS = 500;
const CONNECT_AT_ONCE = 50;
const SETTLE_MS = 500;

const smallRequests: Measure = async (running, size) => {
  const times = (await askInTurn(running, SMALL, size.smallRequests)).map((answer) => answer.totalMs);
  return { smallP50: quantile(times, 0.5), smallP99: quantile(times, 0.99) };
};

const largeRequests: Measure = async (running, size) => {
  const times = (await askInTurn(running, LARGE, size.largeRequests)).map((answer) => answer.totalMs);
  return { largeP50: quantile(times, 0.5), largeP99: quantile(times, 0.99) };
};

const counts: Measure = async ({ subject, server }, size) => {
  if (subject.countPath === undefined) return {};
  const request = postBytes(server.origin + subject.countPath, subject.body(COUNTED));
  const times = (await repeat(server.origin, request, size.largeRequests)).map((answer) => answer.totalMs);
  return { countP50: quantile(times, 0.5) };
};

const shortStreams: Measure = async (running, size) => {
  const answers = await askInTurn(running, { ...SMALL, stream: "chunks=3" }, size.shortStreams);
  const times = answers.map((answer) => answer.firstByteMs);
  return { firstByteP50: quantile(times, 0.5), firstByteP99: quantile(times, 0.99) };
};

/** One stream, as fast as it goes. */
const fastStream: Measure = async (running, size) => {
  const cpu = watchCpu(running);
  const [answer] = await askInTurn(running, { ...SMALL, stream: `chunks=${size.chunks}` }, 1);
  return { fastChunkCpu: cpu(size.chunks), fastChunks: size.chunks / answer!.totalMs * 1_000 };
};

/** Many streams at the pace of a model. Each chunk wakes the server, which is what a chunk costs in real life. */
const pacedStreams: Measure = async (running, size) => {
  const chunks = Math.ceil(size.pacedMs / PACE_MS);
  const request = post(running, { ...SMALL, stream: `chunks=${chunks} delay=${PACE_MS}` });
  const connections = await openConnections(running, PACED_STREAMS);
  try {
    const cpu = watchCpu(running);
    await Promise.all(connections.map((connection) => connection.ask(request)));
    return { pacedChunkCpu: cpu(chunks * PACED_STREAMS) };
  } finally {
    for (const connection of connections) connection.close();
  }
};

const busy: Measure = async (running, size) => {
  const request = post(running, SMALL);
  const connections = await openConnections(running, CONNECTIONS);
  try {
    const cpu = watchCpu(running);
    const started = performance.now();
    const counts = await Promise.all(connections.map(async (connection) => {
      let count = 0;
      for (; performance.now() - started < size.busyMs; count++) await connection.ask(request);
      return count;
    }));
    const seconds = (performance.now() - started) / 1_000;
    const count = counts.reduce((sum, more) => sum + more, 0);
    return { requests: count / seconds, requestCpu: cpu(count) };
  } finally {
    for (const connection of connections) connection.close();
  }
};

/** Taken in turn by all subjects, round after round. */
export const MEASURES: readonly Measure[] = [
  smallRequests,
  largeRequests,
  counts,
  shortStreams,
  fastStream,
  pacedStreams,
  busy,
];

/** Taken of a process that has just started. */
export async function measureFresh(running: Running): Promise<Figures> {
  const { pid, startMs } = running.server;
  await sleep(SETTLE_MS);
  const idle = residentKb(pid);
  await warmUp(running);
  await sleep(SETTLE_MS);
  const before = residentKb(pid);
  const request = post(running, { ...SMALL, stream: "chunks=5 park=1" });
  const connections = await openConnections(running, OPEN_STREAMS);
  try {
    for (const some of chunked(connections, CONNECT_AT_ONCE)) {
      await Promise.all(some.map((connection) => connection.begin(request)));
    }
    await sleep(SETTLE_MS);
    const after = residentKb(pid);
    return {
      startUp: startMs,
      idleMemory: idle && idle / 1_024,
      openStreamMemory: before && after && (after - before) / OPEN_STREAMS,
    };
  } finally {
    for (const connection of connections) connection.close();
  }
}

/** Runs every kind of request until the code is compiled. */
export async function warmUp(running: Running): Promise<void> {
  await askInTurn(running, SMALL, 200);
  await askInTurn(running, LARGE, 10);
  await askInTurn(running, { ...SMALL, stream: "chunks=50" }, 40);
}

/** Throws unless the answers are what the upstream says: a server that answers something else fast is no server. */
export async function checkAnswers({ subject, server }: Running): Promise<void> {
  const ask = async (load: Load) => {
    const body = JSON.stringify(subject.body(load));
    const headers = { "content-type": "application/json" };
    return await (await fetch(server.origin + subject.path, { method: "POST", headers, body })).text();
  };
  const whole = await ask(SMALL);
  const streamed = await ask({ ...SMALL, stream: "chunks=40" });
  const right = whole.includes("la li lu le lo. la") && streamed.split('"e lo. "').length === 11;
  if (!right) {
    throw new Error(`Subject "${subject.name}" answers wrongly: ${whole.slice(0, 300)} ${streamed.slice(-300)}`);
  }
}

function askInTurn(running: Running, load: Load, count: number): Promise<Answer[]> {
  return repeat(running.server.origin, post(running, load), count);
}

/** One request after the other, on one connection. */
export async function repeat(origin: string, request: Uint8Array, count: number): Promise<Answer[]> {
  const connection = await Connection.open(origin);
  try {
    const answers: Answer[] = [];
    while (answers.length < count) answers.push(await connection.ask(request));
    return answers;
  } finally {
    connection.close();
  }
}

async function openConnections({ server }: Running, count: number): Promise<Connection[]> {
  const connections: Connection[] = [];
  try {
    for (let open = 0; open < count; open++) connections.push(await Connection.open(server.origin));
    return connections;
  } catch (cause) {
    for (const connection of connections) connection.close();
    throw new Error(`Cannot open ${count} connections: raise the limit of open files (ulimit -n)`, { cause });
  }
}

function post({ subject, server }: Running, load: Load): Uint8Array {
  return postBytes(server.origin + subject.path, subject.body(load));
}

/** Processor time of the server from now on, divided by `count`; nothing for the upstream, which is not measured. */
function watchCpu({ subject, server }: Running): (count: number) => number | undefined {
  if (!subject.start) return () => undefined;
  const before = cpuUs(server.pid);
  return (count) => {
    const after = cpuUs(server.pid);
    return before === undefined || after === undefined ? undefined : (after - before) / count;
  };
}

function chunked<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
