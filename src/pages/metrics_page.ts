/** The page for monitoring, in the text format of Prometheus. */
import type { Gateway } from "../context/gateway.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { Workers } from "../context/workers.ts";
import { GatewayError } from "../errors.ts";
import { ownMetrics } from "./worker_report.ts";

const MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export async function metricsPage({ gateway }: Pick<RequestContext, "gateway">): Promise<Response> {
  const { observe: { meter }, process: { workers } } = gateway;
  if (!meter) throw new GatewayError("not_found", `Metrics are off: the configuration has "metrics": false`);
  const page = workers ? await pageOfAll(gateway, workers) : await ownMetrics(gateway, meter);
  return new Response(page, { headers: { "content-type": MEDIA_TYPE } });
}

async function pageOfAll(gateway: Gateway, workers: Workers): Promise<string> {
  const { metricsOfAll } = await import("./workers_together.ts");
  return await metricsOfAll(gateway, workers);
}
