/** Deno, the gateway's main platform. Nothing of Deno is accessed before it is used, so that other runtimes can load this file. */
import { serve } from "./deno_serve.ts";
import type { Permission, Platform, Telemetry } from "./platform.ts";

/**
 * A client that has sent nothing for this many seconds is sent a ping. It counts as gone if it does not answer within as many more:
 * it has to read everything that was sent before the ping first.
 */
const PING_S = 30;

/** How long a process that has to end waits for pending work, in milliseconds. */
const LINGER_MS = 3_000;

/** The key under which OpenTelemetry's API keeps its registry. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/**
 * Deno registers what its variables switch on. OTEL_DENO switches on everything. With OTEL_DENO_TRACING=false Deno makes no spans of
 * its own, but still exports spans that are made with its provider.
 */
function telemetryOf(global: object): Telemetry | undefined {
  const { [REGISTRY]: registry } = global as { [REGISTRY]?: { trace?: object; metrics?: object } };
  if (!registry?.trace && !registry?.metrics) return undefined;
  const { tracerProvider, meterProvider } = Deno.telemetry;
  return {
    tracerProvider,
    ...(registry.metrics && { meterProvider }),
    isAutomatic: registry.trace !== undefined,
    // A plain number is exported as a floating-point number.
    integer: (value) => BigInt(value) as unknown as number,
  };
}

/** Variables are cached, because Deno searches all variables and permissions each time. With many keys there are many. */
const variables = new Map<string, string | undefined>();

function variable(name: string): string | undefined {
  if (!variables.has(name)) variables.set(name, Deno.env.get(name));
  return variables.get(name);
}

/**
 * Deno (2.9.6) has no public way to end a WebSocket whose client does not confirm the close, or is in the middle of a message. This
 * does what its own time-out for pings does. Without these internals nothing happens, and the client decides when it ends.
 */
function drop(socket: WebSocket): void {
  const rid = Object.getOwnPropertySymbols(socket).find(({ description }) => description === "[[rid]]");
  const { internal } = Deno as unknown as { internal: symbol };
  const internals =
    (Deno as unknown as Record<symbol, { core?: { tryClose?(id: unknown): void } } | undefined>)[internal];
  const id = rid && (socket as unknown as Record<symbol, unknown>)[rid];
  try {
    if (id !== undefined) internals?.core?.tryClose?.(id);
  } catch {
    // Another version of Deno has other internals.
  }
}

export const deno: Platform = {
  get os() {
    return Deno.build.os;
  },
  database: "kv",
  get args() {
    return Deno.args;
  },
  get executable() {
    return Deno.build.standalone ? Deno.execPath() : undefined;
  },
  get command() {
    return deno.env("LANEWAY_COMMAND") || "deno task -q laneway";
  },
  env: variable,
  get fetch() {
    return globalThis.fetch;
  },
  write: (to, bytes) => Deno[to].write(bytes),
  isTerminal: (stream) => Deno[stream].isTerminal(),
  columns() {
    try {
      return Deno.consoleSize().columns || 80;
    } catch {
      return 80; // there is no terminal
    }
  },
  isGranted: (permission: Permission) => Deno.permissions.querySync(permission).state === "granted",
  onSignal(signal, run) {
    Deno.addSignalListener(signal, run);
    return () => Deno.removeSignalListener(signal, run);
  },
  onUncaught(run) {
    const hear = (event: ErrorEvent | PromiseRejectionEvent) => {
      event.preventDefault();
      run("reason" in event ? event.reason : event.error);
    };
    addEventListener("error", hear);
    addEventListener("unhandledrejection", hear);
    return () => {
      removeEventListener("error", hear);
      removeEventListener("unhandledrejection", hear);
    };
  },
  readText: (path) => Deno.readTextFileSync(path),
  modifiedAt: (path) => Deno.statSync(path).mtime?.getTime() ?? 0,
  memory: () => Deno.memoryUsage().rss,
  unmanagedMemory() {
    const { rss, heapTotal, external } = Deno.memoryUsage();
    return rss - heapTotal - external;
  },
  parentId: () => Deno.ppid,
  serve: (options) => Promise.try(serve, options),
  upgrade(request) {
    const upgraded = Deno.upgradeWebSocket(request, { idleTimeout: 2 * PING_S });
    return { ...upgraded, drop: () => drop(upgraded.socket) };
  },
  get telemetry() {
    return telemetryOf(globalThis);
  },
  after(ms, run) {
    // The first `setTimeout` takes Deno (2.9.6) 10 ms, which would delay the start.
    AbortSignal.timeout(Math.ceil(ms)).addEventListener("abort", () => run(), { once: true });
  },
  exit(code) {
    if (!telemetryOf(globalThis)) Deno.exit(code);
    // `Deno.exit` (2.9.6) hangs while metrics are on their way to a collector. A process without pending work ends by itself.
    Deno.exitCode = code;
    Deno.unrefTimer(setTimeout(() => Deno.exit(code), LINGER_MS));
    return undefined as never;
  },
};
