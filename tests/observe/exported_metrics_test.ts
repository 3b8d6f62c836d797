/** Metrics as a collector gets them: the same counts as those of the page, under the names of OpenTelemetry. */
import { assert, assertEquals } from "@std/assert";
import type { Point } from "../support/otlp.ts";
import { withTracedGateway } from "../support/traced_gateway.ts";
import { until } from "../support/wait.ts";

const HEADERS = { "content-type": "application/json" };

function sumOf(points: readonly Point[] = [], of: "value" | "count" = "value"): number {
  return points.reduce((sum, point) => sum + (point[of] ?? 0), 0);
}

Deno.test("exported metrics: the collector has what the page has, by standard names and buckets", async () => {
  await withTracedGateway({}, async ({ url, collector: { metrics }, kill, ended }) => {
    const ask = async (model: string, more = {}) => {
      const body = JSON.stringify({ model, messages: [{ role: "user", content: "hunter2" }], ...more });
      await (await fetch(`${url}/oss/v1/chat/completions`, { method: "POST", headers: HEADERS, body })).text();
    };
    for (let round = 0; round < 3; round++) await ask("model");
    await ask("model", { stream: true });
    for (let index = 0; index < 20; index++) await ask(`made-up-${index}`);
    const page = await (await fetch(`${url}/metrics`)).text();
    const onPage = (name: string) =>
      page.split("\n").filter((line) => line.startsWith(`${name}{`)).reduce(
        (sum, line) => sum + Number(line.split(" ").at(-1)),
        0,
      );
    await until(() => sumOf(metrics.get("laneway.requests")?.points) >= 24);
    kill("SIGTERM");
    assertEquals(await ended, 0);
    // What was counted last is exported at the end.
    const points = (name: string) => metrics.get(name)?.points ?? [];
    assertEquals(sumOf(points("laneway.requests")), onPage("laneway_requests_total"));
    assertEquals(sumOf(points("laneway.attempts")), onPage("laneway_attempts_total"));
    assertEquals(sumOf(points("laneway.errors")), 20);
    const { type, unit, scope } = metrics.get("gen_ai.client.token.usage")!;
    assertEquals({ type, unit, scope }, { type: "histogram", unit: "{token}", scope: "laneway" });
    const input = points("gen_ai.client.token.usage").filter(({ attributes }) =>
      attributes["gen_ai.token.type"] === "input"
    );
    assertEquals(sumOf(input, "count"), 4);
    assertEquals(input[0]!.attributes, {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "second",
      "gen_ai.request.model": "model",
      "gen_ai.response.model": "org/model",
      "gen_ai.token.type": "input",
    });
    assertEquals(input[0]!.bounds, Array.from({ length: 14 }, (_, power) => 4 ** power));
    assertEquals(sumOf(points("gen_ai.client.operation.duration"), "count"), 4);
    assertEquals(sumOf(points("gen_ai.server.time_to_first_token"), "count"), 1);
    assertEquals(metrics.get("laneway.requests_running")?.type, "gauge");
    assert(sumOf(points("process.resident_memory_bytes")) > 2 ** 20);
    // Names that clients make up share one series.
    assertEquals(points("laneway.requests").filter(({ attributes }) => attributes.status === "404").length, 1);
    assert(![...metrics.values()].some((metric) => /made-up|hunter2/.test(Deno.inspect(metric.points, { depth: 9 }))));
  });
});
