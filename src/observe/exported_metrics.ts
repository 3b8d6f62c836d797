/** Exports the metrics by OpenTelemetry. Names and labels are those of the Prometheus page, in OpenTelemetry's spelling. */
import type { Attributes, MeterProvider } from "@opentelemetry/api";
import type { Family, Labels, Sink, Take } from "./exposition.ts";

/** `gauges`: the values that are read at each export. */
export function sinkTo(provider: MeterProvider, version: string, gauges: () => Promise<readonly Family[]>): Sink {
  const meter = provider.getMeter("laneway", version);
  const made = new Map<string, Take>();
  const sink: Sink = {
    counter(name, description) {
      const instrument = meter.createCounter(...namesOf(name, description));
      return (value, labels) => instrument.add(value, attributesOf(labels));
    },
    gauge(name, description) {
      const known = made.get(name);
      if (known) return known;
      const instrument = meter.createGauge(...namesOf(name, description));
      const take: Take = (value, labels) => instrument.record(value, attributesOf(labels));
      made.set(name, take);
      return take;
    },
    histogram(name, description, bounds) {
      const [own, options] = namesOf(name, description);
      const advice = { explicitBucketBoundaries: [...bounds] };
      const instrument = meter.createHistogram(own, { ...options, advice });
      return (value, labels) => instrument.record(value, attributesOf(labels));
    },
  };
  meter.createObservableGauge("laneway.up", { description: "Whether the gateway runs." }).addCallback(
    async (result) => {
      result.observe(1);
      for (const family of await gauges()) family.connect(sink);
    },
  );
  return sink;
}

/** Names in OpenTelemetry's conventions. Our own names only get the prefix `laneway.`. */
const CONVENTIONAL: Readonly<Record<string, string>> = {
  gen_ai_client_token_usage: "gen_ai.client.token.usage",
  gen_ai_client_operation_duration_seconds: "gen_ai.client.operation.duration",
  gen_ai_server_time_to_first_token_seconds: "gen_ai.server.time_to_first_token",
  gen_ai_server_time_per_output_token_seconds: "gen_ai.server.time_per_output_token",
};

/** Removes the unit and `total` from a name: a collector that exports to Prometheus appends them again. */
function namesOf(name: string, description: string): [string, { description: string; unit?: string }] {
  const own = name.replace(/^(laneway|process)_/, "$1.").replace(/_total$|_seconds$/, "");
  const unit = name.endsWith("_seconds") ? "s" : name === "gen_ai_client_token_usage" ? "{token}" : undefined;
  return [CONVENTIONAL[name] ?? own, { description, ...(unit !== undefined && { unit }) }];
}

/** The attributes of each series. A series keeps one object of labels. */
const known = new WeakMap<Labels, Attributes>();

function attributesOf(labels: Labels): Attributes {
  let attributes = known.get(labels);
  if (attributes) return attributes;
  attributes = Object.fromEntries(
    Object.entries(labels).filter(([, value]) => value !== undefined && value !== "")
      .map(([name, value]) => [conventional(name), value]),
  );
  known.set(labels, attributes);
  return attributes;
}

/** Turns `gen_ai_request_model` into `gen_ai.request.model`. */
function conventional(label: string): string {
  if (label === "error_type") return "error.type";
  return label.startsWith("gen_ai_") ? `gen_ai.${label.slice("gen_ai_".length).replace("_", ".")}` : label;
}
