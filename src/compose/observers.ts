/** The observers of requests: the log, metrics, spans, and the captures for the console. */
import manifest from "../../deno.json" with { type: "json" };
import { TASK_OF } from "../canonical/operations.ts";
import type { Config } from "../config/schema.ts";
import type { CaptureStore } from "../context/capture_store.ts";
import type { CaptureStorePart, ConversationsPart, Observers } from "../context/observers.ts";
import { targetName } from "../contract/planned_target.ts";
import type { AnyProtocol } from "../contract/protocol.ts";
import type { Conversations } from "../observe/conversations.ts";
import { Feed } from "../observe/feed.ts";
import { createMeter, type Meter } from "../observe/meter.ts";
import type { Tracer, Tracing } from "../observe/trace.ts";
import type { Platform } from "../platform/platform.ts";
import { auditFor } from "./audit.ts";
import { countingProtocols } from "./usage.ts";
import type { Keep } from "./kept_parts.ts";
import type { Plugins } from "./plugins.ts";
import type { World, WorldObservers } from "./world.ts";

interface ObserverParts
  extends
    Pick<World, "config" | "plugins" | "platform" | "keep" | "clocks">,
    Pick<WorldObservers, "log" | "warn" | "meter" | "usage"> {}

/** Creates the observers. The log passes each entry on to the others. */
export function createObservers(
  { config, plugins, platform, keep, clocks, log, warn, meter, usage }: ObserverParts,
): WorldObservers {
  const feed = config.console === false ? undefined : keep("feed", null, () => new Feed());
  const captures = capturesFor(config, keep, clocks.monotonic);
  const conversations = feed && (usage || captures) ? conversationsFor(feed, plugins, keep) : undefined;
  // The feed outlives a configuration that kept sessions.
  if (feed && !conversations) feed.sessionHeaders = undefined;
  const tracing = tracingFor(config, platform, plugins, keep);
  return {
    log(entry) {
      if (!entry.isRepeated) log(entry);
      meter?.count({ type: "request", entry });
      usage?.count(entry);
      const ended = feed?.end(entry);
      if (ended) usage?.series?.count(ended);
      if (ended) conversations?.add(ended, captures?.loaded?.of(entry.id)?.turn);
      captures?.loaded?.end(entry);
    },
    warn,
    meter,
    audit: auditFor({ config, platform, keep, clocks }),
    tracing,
    usage,
    feed,
    captures,
    conversations,
    ...((tracing || captures) && { load: () => loadOnce({ tracing, captures }) }),
  };
}

function loadOnce({ tracing, captures }: Pick<Observers, "tracing" | "captures">): Promise<unknown> | undefined {
  const isTraced = !tracing || tracing.tracer !== undefined;
  const isRecorded = !captures || captures.loaded !== undefined;
  return isTraced && isRecorded ? undefined : Promise.all([tracing?.load(), captures?.load()]);
}

/** The meter. It keeps counting through every change of the configuration. `undefined` if metrics are disabled. */
export function meterFor(
  config: Config,
  { telemetry }: Pick<Platform, "telemetry">,
  { protocols }: Pick<Plugins, "protocols">,
  keep: Keep,
): Meter | undefined {
  if (!config.observe.metrics) return undefined;
  const latest = keep("metered configuration", null, () => ({ config, names: undefined as Set<string> | undefined }));
  const meter = keep("meter", null, () =>
    createMeter({
      version: manifest.version,
      operations: new Map(protocols.flatMap(operationOf)),
      exporter: config.observe.telemetry ? telemetry?.meterProvider : undefined,
      names: () => latest.names ??= namesIn(latest.config),
    }));
  if (latest.config !== config) {
    meter.countHeld();
    Object.assign(latest, { config, names: undefined });
  }
  return meter;
}

/** The names of operations in OpenTelemetry's conventions for models. */
const OPERATION = {
  chat: "chat",
  embedding: "embeddings",
  rerank: "rerank",
  speech: "speech",
  transcription: "transcription",
  image: "image_generation",
};

function operationOf({ name, operation }: AnyProtocol): [string, string][] {
  const task = operation === "countTokens" ? undefined : TASK_OF[operation];
  if (operation === "decide") return [[name, operation]];
  return task === undefined ? [] : [[name, operation === "complete" ? "text_completion" : OPERATION[task]]];
}

function namesIn({ lanes }: Config): Set<string> {
  return new Set(
    Object.entries(lanes).flatMap(([lane, { models }]) =>
      Object.entries(models).flatMap(([model, { targets }]) => [`${lane} ${model}`, ...targets.map(targetName)])
    ),
  );
}

/**
 * Creates spans. Its code is loaded with the first request. `undefined` if the process was started without
 * OpenTelemetry.
 */
function tracingFor(
  { observe: { telemetry: isWanted, content } }: Config,
  { telemetry }: Platform,
  { protocols }: Pick<Plugins, "protocols">,
  keep: Keep,
): Tracing | undefined {
  if (!isWanted || !telemetry) return undefined;
  return keep("tracing", content, () => {
    const routes = new Map(protocols.map(({ name, pattern }) => [name, pattern.pathname.replaceAll("\\", "")]));
    let loading: Promise<Tracer> | undefined;
    const load = async () => {
      const { createTracer } = await import("../observe/spans.ts");
      return tracing.tracer = createTracer(telemetry, { version: manifest.version, routes, content });
    };
    const tracing: { tracer?: Tracer; load(): Promise<Tracer> } = { load: () => loading ??= load() };
    return tracing;
  });
}

interface HeldConversations {
  /** The requests that ended before the code was loaded. */
  waiting: Parameters<Conversations["add"]>[];
  loading?: Promise<Conversations>;
  loaded?: Conversations;
}

/** The conversations of agents. Their code is loaded when the first request has ended, or when somebody reads them. */
function conversationsFor(feed: Feed, plugins: Pick<Plugins, "protocols">, keep: Keep): ConversationsPart {
  feed.sessionHeaders = [...new Set(plugins.protocols.flatMap(({ sessionHeaders = [] }) => sessionHeaders))];
  const counting = countingProtocols(plugins);
  const held = keep("conversations", null, (): HeldConversations => ({ waiting: [] }));
  const load = async () => {
    const { Conversations } = await import("../observe/conversations.ts");
    held.loaded = new Conversations();
    for (const one of held.waiting.splice(0)) held.loaded.add(...one);
    return held.loaded;
  };
  const all = () => held.loading ??= load();
  return {
    all,
    add(...one) {
      if (counting.has(one[0].protocol ?? "")) return;
      if (held.loaded) return held.loaded.add(...one);
      held.waiting.push(one);
      void all();
    },
  };
}

/** Captures what is sent, if the configuration wants that. Its code is loaded with the first request. */
function capturesFor({ console }: Config, keep: Keep, monotonic: () => number): CaptureStorePart | undefined {
  const bounds = console ? console.record : undefined;
  return bounds && keep("recording", bounds, () => {
    let loading: Promise<CaptureStore> | undefined;
    const load = async () =>
      part.loaded = new (await import("../context/capture_store.ts")).CaptureStore(bounds, monotonic);
    const part: CaptureStorePart = { load: () => loading ??= load() };
    return part;
  });
}
