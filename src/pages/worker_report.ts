/** The report of one process about itself. */
import type { Gateway } from "../context/gateway.ts";
import type { ProcessStatus, WorkerReport, Workers } from "../context/workers.ts";
import { type Family, gauge } from "../observe/exposition.ts";
import type { BudgetState } from "../state/budget/budget.ts";
import type { Meter } from "../observe/meter.ts";
import { sumExpositions } from "../observe/sum_expositions.ts";
import { refusedParts } from "../upstream/learnt.ts";
import type { Upstream } from "../upstream/upstream.ts";

/** The report that the other processes read about this one. */
export async function reportOf(gateway: Gateway, { inherited }: Workers): Promise<WorkerReport> {
  const { meter } = gateway.observe;
  const metrics = meter ? sumExpositions([inherited, await ownMetrics(gateway, meter)]) : "";
  return { status: processStatus(gateway), metrics };
}

/** The state of this process alone. */
export function processStatus(gateway: Gateway): ProcessStatus {
  const {
    routing: { breaker },
    upstreams,
    catalogs,
    prices: { known },
    observe: { meter },
    guards: { loadShedder },
    sockets,
    process,
  } = gateway;
  // A target that is called with callers' own tokens rests for each caller separately. The callers are left out of the
  // page.
  const resting = [...new Set(breaker.resting().map((id) => id.split(" ")[0]!))];
  return {
    status: process.draining.aborted ? "draining" : "ready",
    requestsRunning: loadShedder.running(),
    streamsOpen: meter?.openStreams ?? 0,
    webSocketsOpen: sockets.loaded?.size ?? 0,
    memoryBytes: process.memory(),
    upstreams: Array.from(upstreams, ([name, upstream]) => {
      const { driver, missingSecret, hasSecretFile } = upstream;
      const refused = refusedParts(upstream);
      const { latencyMs, lastError } = meter?.upstreams.get(name) ?? {};
      return {
        name,
        driver: driver.name,
        ...(missingSecret !== undefined && { [hasSecretFile ? "missingFile" : "missingSecret"]: missingSecret }),
        resting: resting.filter((target) => target.startsWith(`${name}/`)).map((target) =>
          target.slice(name.length + 1)
        ),
        ...loadOf(upstream),
        ...(latencyMs !== undefined && { latencyMs: Math.round(latencyMs) }),
        ...(lastError && { lastError: { code: lastError.code, time: new Date(lastError.at).toISOString() } }),
        ...(refused.length > 0 && { refused }),
      };
    }),
    ...(catalogs.size > 0 && { catalogs: Array.from(catalogs, ([name, { list }]) => ({ name, ...list.state() })) }),
    ...(known && { prices: known }),
  };
}

/** The counts of this process alone. */
export async function ownMetrics(gateway: Gateway, meter: Meter): Promise<string> {
  const metrics = await meter.metrics();
  meter.watchLoop();
  return metrics.render(gaugesOf(gateway));
}

/** The calls at an upstream with a limit, completions included. */
function loadOf({ concurrency, completionConcurrency }: Upstream): { running: number; waiting: number } | undefined {
  if (!concurrency) return undefined;
  const [calls, completions] = [concurrency.load(), completionConcurrency?.load()];
  return {
    running: calls.running + (completions?.running ?? 0),
    waiting: calls.waiting + (completions?.waiting ?? 0),
  };
}

/** The current values. */
export function gaugesOf(
  { guards: { loadShedder, budgets }, sockets, observe: { meter }, process, routing: { breaker }, upstreams }: Gateway,
): Family[] {
  const { memory, shared, workers } = process;
  const limited = [...upstreams].flatMap(([name, upstream]) => {
    const load = loadOf(upstream);
    return load ? [{ upstream: name, ...load }] : [];
  });
  const resting = breaker.resting().map((id) => id.slice(0, id.indexOf("/")));
  const one = (name: string, help: string, value: number) => gauge(name, help, [[{}, value]]);
  return [
    one("laneway_requests_running", "Requests that run a model.", loadShedder.running()),
    one("laneway_streams_open", "Streamed answers that are open.", meter?.openStreams ?? 0),
    one("laneway_websockets_open", "WebSockets that are open.", sockets.loaded?.size ?? 0),
    gauge(
      "laneway_upstream_running",
      "Running calls of an upstream with a concurrency limit.",
      limited.map(({ upstream, running }) => [{ upstream }, running]),
    ),
    gauge(
      "laneway_upstream_waiting",
      "Requests that wait for their turn at an upstream.",
      limited.map(({ upstream, waiting }) => [{ upstream }, waiting]),
    ),
    gauge(
      "laneway_breaker_open_targets",
      "Models at an upstream whose circuit breaker is open.",
      [...upstreams.keys()].map((upstream) => [{ upstream }, resting.filter((one) => one === upstream).length]),
    ),
    ...(shared
      ? [
        one("laneway_limits_alone", "Whether limits are counted by each gateway alone.", Number(shared.isAlone())),
        one("laneway_gateways", "Gateways that count together, as last known.", shared.gateways),
      ]
      : []),
    // Each process knows what all of them spend together. Only one reports it, because the reports are added up.
    ...workers && workers.worker > 1 ? [] : budgetGauges(budgets?.known().slice(0, MOST_BUDGETS) ?? []),
    one("process_resident_memory_bytes", "Memory of the process.", memory()),
  ];
}

const PICO = 1e12;
const MOST_BUDGETS = 1_000;

function budgetGauges(states: readonly BudgetState[]): Family[] {
  if (states.length === 0) return [];
  const of = (amount: (state: BudgetState) => bigint) =>
    states.map((state) => [{ budget: state.budget.name }, Number(amount(state)) / PICO] as const);
  return [
    gauge("laneway_budget_dollars", "What may be spent in one period of a budget.", of(({ budget }) => budget.limit)),
    gauge(
      "laneway_budget_spent_dollars",
      "What was spent of it in this period by all gateways, as far as this one knows.",
      of(({ spent }) => spent),
    ),
  ];
}
