/** Sets up Deno's OpenTelemetry for the gateway. The launcher loads this file, so it imports nothing. */
import { host } from "../platform/host.ts";

/**
 * Deno's own spans would duplicate the gateway's, and would contain whole URLs. And at the end, Deno would wait ten seconds for a
 * collector that does not answer.
 */
const PRESETS = {
  OTEL_SERVICE_NAME: "laneway",
  OTEL_DENO_TRACING: "false",
  OTEL_DENO_CONSOLE: "ignore",
  OTEL_EXPORTER_OTLP_TIMEOUT: "1000",
};

/** The task that starts the launcher switches telemetry off for it, because it would only export the launcher's own memory use. */
export function telemetryVariables(): Record<string, string> {
  const wanted = host().env.get("LANEWAY_TELEMETRY") || host().env.get("OTEL_DENO");
  if (!/^(1|true)$/.test(wanted ?? "")) return {};
  const unset = Object.entries(PRESETS).filter(([name]) => !host().env.get(name));
  return { ...Object.fromEntries(unset), OTEL_DENO: "true" };
}
