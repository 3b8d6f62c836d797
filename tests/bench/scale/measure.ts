/** What one to four processes take of a traffic that is the same for all: requests and streams at a fixed pace. */
import type { Connection } from "../client.ts";
import { type Gateway, requestTo, startGateway } from "../gateways.ts";
import { treeCpuUs, treeResidentKb } from "../process_tree.ts";
import type { Started } from "../program.ts";
import { askAll, sleep, withConnections } from "../traffic.ts";
import type { Cost } from "./model.ts";

/** Spread over all processes. */
export interface Load {
  /** A second, of all processes together; with `Infinity`, each connection asks again as soon as it has its answer. */
  requests: number;
  bytes: number;
  streams: number;
  /** A second, of each stream. */
  events: number;
}

export interface Taken extends Cost {
  requests: number;
  events: number;
  seconds: number;
  /** Of all processes, at the end. */
  residentMb: number;
}

/** Requests are sent on so many connections to each process. */
const CONNECTIONS = 16;
const SETTLE_MS = 700;

export async function startProcesses(gateway: Gateway, upstream: string, count: number): Promise<Started[]> {
  const servers: Started[] = [];
  while (servers.length < count) servers.push(await startGateway(gateway, upstream));
  return servers;
}

/** Until the engine has compiled what requests and streams run. */
export async function warm(gateway: Gateway, servers: readonly Started[], ms: number): Promise<void> {
  await Promise.all(servers.map((server) =>
    withConnections({ server }, CONNECTIONS, async (connections) => {
      const ask = (load: Parameters<typeof requestTo>[3]) => requestTo(gateway, "chat", server.origin, load);
      await askAll(connections, ask({ bytes: 1_000 }), ms * 0.6);
      await askAll(connections, ask({ bytes: 1_000, stream: "chunks=50" }), ms * 0.4);
    })
  ));
}

/** What the processes take of the load in so many milliseconds. */
export async function take(
  gateway: Gateway,
  servers: readonly Started[],
  { requests, bytes, streams, events }: Load,
  ms: number,
): Promise<Taken> {
  const asked = { requests: 0, events: 0 };
  let isOver = false;
  const stream = `chunks=1000000 delay=${Math.round(1_000 / Math.max(events, 1))}`;
  const perServer = servers.map((server) =>
    withConnections({ server }, Math.round(streams / servers.length) + CONNECTIONS, async (connections) => {
      const of = (load: Parameters<typeof requestTo>[3]) => requestTo(gateway, "chat", server.origin, load);
      const streaming = connections.slice(CONNECTIONS).map((connection) =>
        connection.ask(of({ bytes, stream }), (piece) => asked.events += framesIn(piece)).catch(() => {})
      );
      const pace = 1_000 * CONNECTIONS * servers.length / requests;
      await Promise.all(
        connections.slice(0, CONNECTIONS).map((connection, at) =>
          requests === 0 ? untilOver() : askAtPace(connection, of({ bytes }), pace, at)
        ),
      );
      for (const connection of connections) connection.close();
      await Promise.all(streaming);
    })
  );
  async function untilOver() {
    while (!isOver) await sleep(20);
  }
  async function askAtPace(connection: Connection, request: Uint8Array, pace: number, at: number) {
    let next = performance.now() + pace * at / CONNECTIONS;
    while (!isOver) {
      if (pace > 0) await sleep(Math.max(0, next - performance.now()));
      next += pace;
      await connection.ask(request);
      asked.requests++;
    }
  }
  await sleep(SETTLE_MS + streams);
  const before = { ...asked, ...cpuOf(servers), at: performance.now() };
  await sleep(ms);
  const after = { ...asked, ...cpuOf(servers), at: performance.now() };
  const residentMb = servers.reduce((kb, { pid }) => kb + treeResidentKb(pid), 0) / 1_000;
  isOver = true;
  await Promise.all(perServer);
  return {
    requests: after.requests - before.requests,
    events: after.events - before.events,
    cpuUs: after.cpuUs - before.cpuUs,
    threadUs: after.threadUs - before.threadUs,
    seconds: (after.at - before.at) / 1_000,
    residentMb,
  };
}

const decoder = new TextDecoder();

function framesIn(piece: Uint8Array): number {
  return decoder.decode(piece).split("data: ").length - 1;
}

/** The thread that runs JavaScript is the one that the process began with. */
function cpuOf(servers: readonly Started[]): Cost {
  const threadUs = ({ pid }: Started) =>
    Number(Deno.readTextFileSync(`/proc/${pid}/task/${pid}/schedstat`).split(" ")[0]) / 1_000;
  return {
    cpuUs: servers.reduce((sum, { pid }) => sum + treeCpuUs(pid), 0),
    threadUs: servers.reduce((sum, server) => sum + threadUs(server), 0),
  };
}
