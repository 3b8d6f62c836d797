/**
 * OpenTelemetry on Node, which has none of its own: the package that exports is loaded if the user asks for it. A library that
 * `node --import` has loaded before takes its place.
 */
import { createRequire } from "node:module";
import type { Telemetry } from "./platform.ts";

/** The key under which OpenTelemetry's API keeps its registry. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/** Not among the dependencies: it is fifty megabytes, and few export. */
const PACKAGE = "@opentelemetry/sdk-node";

type Registry = Pick<Telemetry, "tracerProvider" | "meterProvider"> & {
  trace?: Telemetry["tracerProvider"];
  metrics?: Telemetry["meterProvider"];
};

interface Sdk {
  start(): void;
  shutdown(): Promise<void>;
}

let own: Sdk | undefined;

function registry(): Registry | undefined {
  return (globalThis as { [REGISTRY]?: Registry })[REGISTRY];
}

/**
 * The providers themselves are taken from the registry. The API would hide them from the program if the library has an older
 * version of it.
 */
export function telemetryOnNode(): Telemetry | undefined {
  const { trace, metrics } = registry() ?? {};
  if (!trace && !metrics) return undefined;
  return {
    ...trace && { tracerProvider: trace },
    ...metrics && { meterProvider: metrics },
    isAutomatic: own === undefined,
    integer: (value) => value,
  };
}

/** Starts the export if the environment asks for it. Returns what is missing. */
export function startTelemetry(): string | undefined {
  const { env } = process;
  if (!/^(1|true)$/.test(env.LANEWAY_TELEMETRY || env.OTEL_DENO || "")) return undefined;
  if (registry()?.trace || registry()?.metrics) return undefined;
  let library: { NodeSDK: new (options: object) => Sdk };
  try {
    library = createRequire(import.meta.url)(PACKAGE);
  } catch {
    return `Traces and metrics need a package: npm install --no-save --force ${PACKAGE}`;
  }
  env.OTEL_LOGS_EXPORTER ??= "none";
  own = new library.NodeSDK({
    serviceName: env.OTEL_SERVICE_NAME || "laneway",
    // It would record the command line and the user.
    autoDetectResources: false,
    textMapPropagator: null,
    instrumentations: [],
  });
  own.start();
  return undefined;
}

/** Sends what is left. Absent if there is nothing to send. */
export function flushTelemetry(): Promise<void> | undefined {
  return own?.shutdown().catch(() => {}); // the collector does not answer
}
