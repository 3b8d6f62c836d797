/** The sums over several processes that serve together. */
import type { Gateway } from "../context/gateway.ts";
import type { OtherWorker, ProcessStatus, UpstreamStatus, WorkerReport, Workers } from "../context/workers.ts";
import { gauge } from "../observe/exposition.ts";
import { sumExpositions, withoutGauges } from "../observe/sum_expositions.ts";
import type { RefusedPart } from "../upstream/learnt.ts";
import { reportOf } from "./worker_report.ts";

/**
 * The metrics page of all processes. The counts of a process that is gone or hangs stay in the sums, which never go
 * down.
 */
export async function metricsOfAll(gateway: Gateway, workers: Workers): Promise<string> {
  const own = await publishOwn(gateway, workers);
  const others = await workers.others();
  const serving = 1 + others.filter(({ isFresh }) => isFresh).length;
  return sumExpositions([
    own.metrics,
    ...others.map(({ metrics, isFresh }) => isFresh ? metrics : withoutGauges(metrics)),
    gauge("laneway_workers", "Processes that serve together.", [[{}, serving]]).render(),
  ]);
}

export async function statusOfAll(gateway: Gateway, workers: Workers): Promise<object> {
  const { status } = await publishOwn(gateway, workers);
  const others = await workers.others();
  const own: OtherWorker = { worker: workers.worker, pid: workers.pid, isFresh: true, status, metrics: "" };
  const all = [own, ...others].sort((one, other) => one.worker - other.worker);
  const fresh = all.filter(({ isFresh }) => isFresh).map(({ status }) => status);
  const { upstreams, ...sums } = fresh.reduce(together);
  return {
    ...sums,
    status: status.status,
    upstreams,
    workers: all.map(({ worker, pid, isFresh, status: { upstreams: _, prices: _prices, ...status } }) =>
      isFresh ? { worker, pid, ...status } : { worker, pid, status: "not responding" }
    ),
  };
}

/** Publishes this process's report first, so that another process that is asked next does not report less. */
async function publishOwn(gateway: Gateway, workers: Workers): Promise<WorkerReport> {
  const report = await reportOf(gateway, workers);
  await workers.publish(report);
  return report;
}

function together(one: ProcessStatus, other: ProcessStatus): ProcessStatus {
  const others = new Map(other.upstreams.map((upstream) => [upstream.name, upstream]));
  return {
    status: one.status,
    requestsRunning: one.requestsRunning + other.requestsRunning,
    streamsOpen: one.streamsOpen + other.streamsOpen,
    webSocketsOpen: one.webSocketsOpen + other.webSocketsOpen,
    memoryBytes: one.memoryBytes + other.memoryBytes,
    upstreams: one.upstreams.map((upstream) => upstreamTogether(upstream, others.get(upstream.name))),
    ...(one.catalogs && { catalogs: one.catalogs }),
    ...(one.prices && { prices: one.prices }),
  };
}

function upstreamTogether(one: UpstreamStatus, other: UpstreamStatus | undefined): UpstreamStatus {
  if (!other) return one;
  const { lastError: mine, latencyMs: slow = 0 } = one;
  const { lastError: theirs, latencyMs = 0 } = other;
  const lastError = !mine || theirs && theirs.time > mine.time ? theirs : mine;
  return {
    ...one,
    resting: [...new Set([...one.resting, ...other.resting])],
    ...(one.running !== undefined && { running: one.running + (other.running ?? 0) }),
    ...(one.waiting !== undefined && { waiting: one.waiting + (other.waiting ?? 0) }),
    ...((slow || latencyMs) && { latencyMs: Math.max(slow, latencyMs) }),
    ...(lastError && { lastError }),
    ...refusedByBoth(one.refused ?? [], other.refused ?? []),
  };
}

/** The parts that either of two processes knows, each as it was found last. */
function refusedByBoth(one: readonly RefusedPart[], other: readonly RefusedPart[]): Pick<UpstreamStatus, "refused"> {
  const refused = new Map<string, RefusedPart>();
  for (const part of [...one, ...other].sort((first, second) => first.until < second.until ? -1 : 1)) {
    const name = JSON.stringify([part.model, part.kind, part.part]);
    const holdsFor = refused.get(name)?.holdsFor === "all keys" ? "all keys" : part.holdsFor;
    refused.set(name, { ...part, holdsFor });
  }
  return refused.size > 0 ? { refused: [...refused.values()] } : {};
}
