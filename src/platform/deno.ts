/** Deno, the gateway's first platform. Nothing here is looked at before it is used, so that other runtimes can read this file. */
import { serve } from "./deno_serve.ts";
import type { Permission, Platform, Telemetry } from "./platform.ts";

/**
 * After so many seconds in which a client sent nothing it is sent a ping, and is gone where it does not answer that within as many
 * more: what is sent before the ping it has to read before it.
 */
const PING_S = 30;

/** How long a process that is to end waits for what still keeps it, in milliseconds. */
const LINGER_MS = 3_000;

/** Where OpenTelemetry's own API finds what was registered. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/**
 * Deno registers what its variables switch on: with OTEL_DENO all of it, and with OTEL_DENO_TRACING=false no spans of its own, while
 * those that are made by its provider are exported all the same.
 */
function telemetryOf(global: object): Telemetry | undefined {
  const { [REGISTRY]: registry } = global as { [REGISTRY]?: { trace?: object; metrics?: object } };
  if (!registry?.trace && !registry?.metrics) return undefined;
  const { tracerProvider, meterProvider } = Deno.telemetry;
  return {
    tracerProvider,
    ...(registry.metrics && { meterProvider }),
    isAutomatic: registry.trace !== undefined,
    // Any other number is exported as one with a fraction.
    integer: (value) => BigInt(value) as unknown as number,
  };
}

/** What was read is kept: Deno looks through all variables and all permissions each time, which are many where there are many keys. */
const variables = new Map<string, string | undefined>();

function variable(name: string): string | undefined {
  if (!variables.has(name)) variables.set(name, Deno.env.get(name));
  return variables.get(name);
}

/**
 * Deno (2.9.6) has no public way to end a WebSocket whose client does not confirm the close, or is in the middle of a message. This is
 * what its own time-out for pings does. Without these internals nothing happens, and the client decides when the connection ends.
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
    // Another version of Deno keeps something else there.
  }
}

export const deno: Platform = {
  get os() {
    return Deno.build.os;
  },
  hasDatabase: true,
  get args() {
    return Deno.args;
  },
  get executable() {
    return Deno.build.standalone ? Deno.execPath() : undefined;
  },
  get command() {
    return deno.env("LANEWAY_COMMAND") || "deno task start";
  },
  env: variable,
  get fetch() {
    return globalThis.fetch;
  },
  write: (to, bytes) => Deno[to].write(bytes),
  isTerminal: (stream) => Deno[stream].isTerminal(),
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
    // The first `setTimeout` takes Deno (2.9.6) 10 ms, which a start cannot spare.
    AbortSignal.timeout(Math.ceil(ms)).addEventListener("abort", () => run(), { once: true });
  },
  exit(code) {
    if (!telemetryOf(globalThis)) Deno.exit(code);
    // `Deno.exit` (2.9.6) hangs while metrics are on their way to a collector; a process that has nothing left to do ends all the same.
    Deno.exitCode = code;
    Deno.unrefTimer(setTimeout(() => Deno.exit(code), LINGER_MS));
    return undefined as never;
  },
};
