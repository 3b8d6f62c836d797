/** All metrics, and the page on which monitoring reads them. */
import type { LogEntry } from "./log.ts";
import { type Buckets, type Cell, Counter, type Family, Histogram, type Labels, type Sink } from "./exposition.ts";
import type { MetricEvent, Metrics, MetricsFacts } from "./metric_events.ts";

/** The bounds that the conventions for models recommend, and two more, because answers take longer than those. In seconds. */
const DURATIONS = [
  0.01,
  0.02,
  0.04,
  0.08,
  0.16,
  0.32,
  0.64,
  1.28,
  2.56,
  5.12,
  10.24,
  20.48,
  40.96,
  81.92,
  163.84,
  327.68,
];
const FIRST_TOKEN = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const PER_TOKEN = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const STORE = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** How many models get a series though no configuration names them. Further ones share a series. */
const MOST_NAMES = 200;
const MOST_KINDS = 40;
const MOST_KEYS = 1_000;
const OTHER = "other";

export function createMetrics(facts: MetricsFacts): Metrics {
  return new RequestMetrics(facts);
}

/** The series of requests with the same labels, so that each is found only once. */
interface Series {
  requests: Cell;
  duration?: Buckets;
  input?: Buckets;
  output?: Buckets;
  firstToken?: Buckets;
  perToken?: Buckets;
  cached: Cell;
}

class RequestMetrics implements Metrics {
  readonly #facts: MetricsFacts;
  readonly #series = new Map<string, Series>();
  /** By reason and upstream. */
  readonly #attemptCells = new Map<string, Cell>();
  readonly #upstreamBuckets = new Map<string, Buckets>();
  /** The models and targets that answered and are not named in the configuration. */
  readonly #found = new Set<string>();
  /** The keys whose costs have series of their own. */
  readonly #keys = new Set<string>();
  readonly #kinds = new Set<string>();
  readonly #requests = new Counter("laneway_requests_total", "Finished requests.");
  readonly #errors = new Counter("laneway_errors_total", "Requests that failed, by the code in the log.");
  readonly #tokens = new Histogram("gen_ai_client_token_usage", "Tokens of one request.", TOKENS);
  readonly #duration = new Histogram(
    "gen_ai_client_operation_duration_seconds",
    "From a request to the end of its answer.",
    DURATIONS,
  );
  readonly #firstToken = new Histogram(
    "gen_ai_server_time_to_first_token_seconds",
    "From a request to the first event of its streamed answer.",
    FIRST_TOKEN,
  );
  readonly #perToken = new Histogram(
    "gen_ai_server_time_per_output_token_seconds",
    "Between two tokens of a streamed answer, on average.",
    PER_TOKEN,
  );
  readonly #cached = new Counter("laneway_cached_tokens_total", "Tokens of input that upstreams had in their caches.");
  readonly #cost = new Counter(
    "laneway_cost_dollars_total",
    "What answers cost, in dollars, as far as prices are known.",
  );
  readonly #notes = new Counter(
    "laneway_notes_total",
    "What was dropped, clamped or changed, by the first word of the note.",
  );
  readonly #attempts = new Counter("laneway_attempts_total", "Calls to upstreams, by reason.");
  readonly #failures = new Counter("laneway_attempt_failures_total", "Attempts that the upstream caused to fail.");
  readonly #upstreams = new Histogram(
    "laneway_upstream_answer_seconds",
    "From a call to an upstream to its answer, or to the first content of a stream.",
    DURATIONS,
  );
  readonly #continuations = new Counter(
    "laneway_continuations_total",
    "Answers that broke off and were to go on, by the reason of the break and the outcome.",
  );
  readonly #hosted = new Counter("laneway_hosted_calls_total", "Calls of hosted tools.");
  readonly #overBudget = new Counter("laneway_budget_refused_total", "Calls that a budget had no room for.");
  readonly #budgetWarnings = new Counter(
    "laneway_budget_warnings_total",
    "Periods in which a budget reached its warnAt.",
  );
  readonly #shed = new Counter("laneway_shed_total", "Requests refused because the gateway was at capacity.");
  readonly #loopDelay = new Histogram(
    "laneway_event_loop_delay_seconds",
    "How late timers fire, since this page was first read.",
    STORE,
  );
  readonly #store = new Histogram("laneway_store_duration_seconds", "How long the store took.", STORE);
  readonly #storeFailures = new Counter("laneway_store_failures_total", "Calls to the store that failed.");
  readonly #families: readonly Family[] = [
    this.#requests,
    this.#errors,
    this.#tokens,
    this.#duration,
    this.#firstToken,
    this.#perToken,
    this.#cached,
    this.#cost,
    this.#notes,
    this.#attempts,
    this.#failures,
    this.#upstreams,
    this.#continuations,
    this.#hosted,
    this.#overBudget,
    this.#budgetWarnings,
    this.#shed,
    this.#loopDelay,
    this.#store,
    this.#storeFailures,
  ];

  constructor(facts: MetricsFacts) {
    this.#facts = facts;
    const info = new Counter("laneway_build_info", "The version that runs.", "gauge");
    info.add({ version: facts.version });
    this.#families = [...this.#families, info];
  }

  count(event: MetricEvent): void {
    switch (event.type) {
      case "request":
        return this.#request(event.entry);
      case "attempt":
        return this.#attempt(event.upstream, event.reason);
      case "attempt failed":
        return this.#failures.add({ upstream: event.upstream, code: event.code });
      case "served":
        return this.#served(event.upstream, event.ms / 1000);
      case "hosted call":
        return this.#hosted.add({ tool: event.tool, error: event.error });
      case "continuation":
        return this.#continuations.add({ reason: event.reason, outcome: event.outcome });
      case "budget":
        return (event.what === "refused" ? this.#overBudget : this.#budgetWarnings).add({
          budget: this.#keyOf(event.budget),
        });
      case "shed":
        return this.#shed.add({});
      case "loop delay":
        return this.#loopDelay.observe(this.#loopDelay.of({}), event.seconds);
      case "store": {
        const labels = { operation: event.operation };
        this.#store.observe(this.#store.of(labels), event.seconds);
        if (event.failed) this.#storeFailures.add(labels);
        return;
      }
      default:
        return event satisfies never;
    }
  }

  connect(sink: Sink): void {
    for (const family of this.#families) family.connect(sink);
  }

  render(gauges: readonly Family[]): string {
    return [...this.#families, ...gauges].map((family) => family.render()).join("");
  }

  #request(entry: LogEntry): void {
    const { status, usage, durationMs, firstEventMs, notes, error } = entry;
    const series = this.#seriesOf(entry);
    this.#requests.addTo(series.requests);
    if (entry.cost !== undefined) this.#countCost(entry, Number(entry.cost));
    if (error !== undefined) this.#errors.add({ code: error });
    for (const note of notes ?? []) this.#notes.add({ kind: this.#kindOf(note) });
    if (!series.duration) return;
    this.#duration.observe(series.duration, durationMs / 1000);
    if (usage) {
      this.#tokens.observe(series.input!, usage.inputTokens);
      this.#tokens.observe(series.output!, usage.outputTokens);
      if (usage.cachedInputTokens) this.#cached.addTo(series.cached, usage.cachedInputTokens);
    }
    if (firstEventMs === undefined || status >= 400) return;
    this.#firstToken.observe(series.firstToken!, firstEventMs / 1000);
    const others = (usage?.outputTokens ?? 0) - 1;
    if (others > 0) this.#perToken.observe(series.perToken!, (durationMs - firstEventMs) / 1000 / others);
  }

  #attempt(upstream: string, reason: string): void {
    const key = `${reason} ${upstream}`;
    let cell = this.#attemptCells.get(key);
    if (!cell) this.#attemptCells.set(key, cell = this.#attempts.of({ upstream, reason }));
    this.#attempts.addTo(cell);
  }

  #served(upstream: string, seconds: number): void {
    let buckets = this.#upstreamBuckets.get(upstream);
    if (!buckets) this.#upstreamBuckets.set(upstream, buckets = this.#upstreams.of({ upstream }));
    this.#upstreams.observe(buckets, seconds);
  }

  #seriesOf(entry: LogEntry): Series {
    const { lane, protocol, status, error } = entry;
    const model = this.#modelOf(entry);
    const target = this.#targetOf(entry);
    const key = `${lane} ${protocol} ${model} ${target} ${status} ${error}`;
    const known = this.#series.get(key);
    if (known) return known;
    const made = this.#newSeries({ lane, protocol, model, target, status: String(status) }, error);
    this.#series.set(key, made);
    return made;
  }

  #newSeries(labels: Labels, error: string | undefined): Series {
    const { lane, protocol = "", model, target } = labels;
    const requests = this.#requests.of(labels);
    const cached = this.#cached.of({ lane, model });
    const operation = this.#facts.operations.get(protocol);
    if (operation === undefined || target === undefined) return { requests, cached };
    const slash = target.indexOf("/");
    const asked = {
      gen_ai_operation_name: operation,
      gen_ai_provider_name: target.slice(0, slash),
      gen_ai_request_model: model,
      gen_ai_response_model: target.slice(slash + 1),
    };
    return {
      requests,
      cached,
      duration: this.#duration.of({ ...asked, error_type: error }),
      input: this.#tokens.of({ ...asked, gen_ai_token_type: "input" }),
      output: this.#tokens.of({ ...asked, gen_ai_token_type: "output" }),
      firstToken: this.#firstToken.of(asked),
      perToken: this.#perToken.of(asked),
    };
  }

  #countCost(entry: LogEntry, dollars: number): void {
    this.#cost.add({ key: this.#keyOf(entry.key), lane: entry.lane, model: this.#modelOf(entry) }, dollars);
  }

  /** There may be any number of callers with tokens. */
  #keyOf(key: string | undefined): string | undefined {
    if (key === undefined || this.#keys.has(key)) return key;
    if (this.#keys.size >= MOST_KEYS) return OTHER;
    this.#keys.add(key);
    return key;
  }

  #modelOf({ lane, model, status }: LogEntry): string | undefined {
    if (model === undefined || this.#facts.names().has(`${lane} ${model}`)) return model;
    return this.#admit(`${lane} ${model}`, status) ? model : OTHER;
  }

  #targetOf({ target, status }: LogEntry): string | undefined {
    if (target === undefined || this.#facts.names().has(target) || this.#admit(target, status)) return target;
    return `${target.slice(0, target.indexOf("/"))}/${OTHER}`;
  }

  /** Only a name that got an answer gets a series, because clients can make up any number of others. */
  #admit(name: string, status: number): boolean {
    if (this.#found.has(name)) return true;
    if (status >= 400 || this.#found.size >= 2 * MOST_NAMES) return false;
    this.#found.add(name);
    return true;
  }

  /** The gateway's notes begin with a word for what was done. */
  #kindOf(note: string): string {
    const [kind = ""] = /^[a-z]{1,20}(?= )/.exec(note) ?? [];
    if (this.#kinds.has(kind)) return kind;
    if (kind === "" || this.#kinds.size >= MOST_KINDS) return OTHER;
    this.#kinds.add(kind);
    return kind;
  }
}
