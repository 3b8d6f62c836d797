/** What is measured of a process that has just started: how long that takes, and its memory. */
import type { Load, Wire } from "./bodies.ts";
import { type Gateway, requestTo, startGateway, type Subject } from "./gateways.ts";
import { resetPeaks, treeOf, treePeakKb, treeResidentKb } from "./process_tree.ts";
import type { Figure, Values } from "./table.ts";
import { sleep, warmUp, withConnections } from "./traffic.ts";

export const START_FIGURES: Record<string, Figure> = {
  start: { label: "start, to the end of the first answer", unit: "ms", digits: 0, beside: "more" },
};

export const IDLE_FIGURES: Record<string, Figure> = {
  idle: { label: "memory, idle, 12 s after the start", unit: "MB", digits: 0, beside: "more" },
};

export const MEMORY_FIGURES: Record<string, Figure> = {
  settled: { label: "memory of an open stream, of 500, after a collection", unit: "kB", digits: 1, beside: "more" },
  peak: { label: "memory of an open stream, of 500, at the peak", unit: "kB", digits: 1, beside: "more" },
};

const STREAMS = 500;
const STREAM: Load = { bytes: 1_000, stream: "chunks=5 park=1" };
const OPEN_AT_ONCE = 50;
const SETTLE_MS = 600;
/** What a gateway does after its start is over by then. */
const IDLE_AFTER_MS = 12_000;
const WARM_MS = 2_000;

export async function measureStart(gateway: Gateway, upstream: string): Promise<Values> {
  const server = await startGateway(gateway, upstream);
  await server.stop();
  return { start: server.startMs };
}

/** All of them may wait at the same time. */
export async function measureIdle(gateway: Gateway, upstream: string): Promise<Values> {
  const server = await startGateway(gateway, upstream);
  await sleep(IDLE_AFTER_MS);
  const idle = treeResidentKb(server.pid) / 1_024;
  await server.stop();
  return { idle };
}

/** Of streams that are silent after some chunks. `collects`: whether the program collects garbage on SIGUSR2. */
export async function measureMemory(
  gateway: Gateway,
  wire: Wire,
  upstream: string,
  collects: boolean,
): Promise<Values> {
  const server = await startGateway(gateway, upstream);
  try {
    const { pid } = server;
    const subject: Subject = { name: gateway.name, gateway, wire, server };
    await warmUp(subject, WARM_MS);
    await settle(pid, collects);
    const before = treeResidentKb(pid);
    resetPeaks(pid);
    return await withConnections(subject, STREAMS, async (connections) => {
      const request = requestTo(gateway, wire, server.origin, STREAM);
      for (let from = 0; from < STREAMS; from += OPEN_AT_ONCE) {
        await Promise.all(connections.slice(from, from + OPEN_AT_ONCE).map((connection) => connection.begin(request)));
      }
      await sleep(SETTLE_MS);
      const peak = treePeakKb(pid);
      await settle(pid, collects);
      return {
        settled: (treeResidentKb(pid) - before) / STREAMS,
        peak: (peak - before) / STREAMS,
      };
    });
  } finally {
    await server.stop();
  }
}

async function settle(pid: number, collects: boolean): Promise<void> {
  if (collects) { for (const each of treeOf(pid)) Deno.kill(each, "SIGUSR2"); }
  await sleep(SETTLE_MS);
}
