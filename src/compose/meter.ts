/** The meter, and a store whose calls it counts. */
import manifest from "../../deno.json" with { type: "json" };
import { TASK_OF } from "../canonical/operations.ts";
import type { Config } from "../config/schema.ts";
import type { AnyProtocol } from "../contract/protocol.ts";
import { targetName } from "../contract/planned_target.ts";
import { createMeter, type Meter } from "../observe/meter.ts";
import type { Platform } from "../platform/platform.ts";
import type { Store } from "../state/store.ts";
import type { Plugins } from "./plugins.ts";
import type { Keep } from "./parts.ts";

/** The meter. It keeps counting through every change of the configuration. `undefined` if metrics are disabled. */
export function meterFor(
  config: Config,
  { telemetry }: Pick<Platform, "telemetry">,
  { protocols }: Pick<Plugins, "protocols">,
  keep: Keep,
): Meter | undefined {
  if (!config.observe.metrics) return undefined;
  const latest = keep("metered configuration", null, () => ({ config, names: undefined as Set<string> | undefined }));
  if (latest.config !== config) Object.assign(latest, { config, names: undefined });
  return keep("meter", null, () =>
    createMeter({
      version: manifest.version,
      operations: new Map(protocols.flatMap(operationOf)),
      exporter: config.observe.telemetry ? telemetry?.meterProvider : undefined,
      names: () => latest.names ??= namesIn(latest.config),
    }));
}

/** The names of operations in OpenTelemetry's conventions for models. */
const OPERATION = {
  chat: "chat",
  embedding: "embeddings",
  rerank: "rerank",
  speech: "speech",
  transcription: "transcription",
};

function operationOf({ name, operation }: AnyProtocol): [string, string][] {
  const task = operation === "countTokens" ? undefined : TASK_OF[operation];
  return task === undefined ? [] : [[name, OPERATION[task]]];
}

function namesIn({ lanes }: Config): Set<string> {
  return new Set(
    Object.entries(lanes).flatMap(([lane, { models }]) =>
      Object.entries(models).flatMap(([model, { targets }]) => [`${lane} ${model}`, ...targets.map(targetName)])
    ),
  );
}

/** Wraps a store so that its calls are counted. */
export function metered(store: Store, meter: Meter): Store {
  const timed = async <T>(operation: string, call: () => Promise<T>): Promise<T> => {
    const since = performance.now();
    let failed = true;
    try {
      const result = await call();
      failed = false;
      return result;
    } finally {
      meter.count({ type: "store", operation, seconds: (performance.now() - since) / 1000, failed });
    }
  };
  return {
    get: (...args) => timed("get", () => store.get(...args)),
    getRange: (...args) => timed("getRange", () => store.getRange(...args)),
    add: (...args) => timed("add", () => store.add(...args)),
    ensure: (...args) => timed("ensure", () => store.ensure(...args)),
    update: (...args) => timed("update", () => store.update(...args)),
    delete: (...args) => timed("delete", () => store.delete(...args)),
    close: () => store.close(),
  };
}
