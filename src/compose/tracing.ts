import manifest from "../../deno.json" with { type: "json" };
import type { Config } from "../config/schema.ts";
import type { CaptureStorePart } from "../context/gateway.ts";
import type { CaptureStore } from "../context/capture_store.ts";
import type { Tracer, Tracing } from "../observe/trace.ts";
import type { Platform } from "../platform/platform.ts";
import type { Keep } from "./parts.ts";
import type { Plugins } from "./plugins.ts";

/**
 * Creates spans. Its code is loaded with the first request. `undefined` if the process was started without
 * OpenTelemetry.
 */
export function tracingFor(
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

/** Captures what is sent, if the configuration wants that. Its code is loaded with the first request. */
export function capturesFor({ console }: Config, keep: Keep, monotonic: () => number): CaptureStorePart | undefined {
  const bounds = console ? console.record : undefined;
  return bounds && keep("recording", bounds, () => {
    let loading: Promise<CaptureStore> | undefined;
    const load = async () =>
      part.loaded = new (await import("../context/capture_store.ts")).CaptureStore(bounds, monotonic);
    const part: CaptureStorePart = { load: () => loading ??= load() };
    return part;
  });
}
