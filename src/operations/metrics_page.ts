/** The page that monitoring reads, in the text format of Prometheus. */
import type { Gateway } from "../context/gateway.ts";
import type { RequestContext } from "../context/request_context.ts";
import { GatewayError } from "../errors.ts";
import { type Family, gauge } from "../observe/exposition.ts";

const MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export async function metricsPage({ gateway }: Pick<RequestContext, "gateway">): Promise<Response> {
  const { meter } = gateway;
  if (!meter) throw new GatewayError("not_found", `Nothing is counted: the configuration has "metrics": false`);
  const metrics = await meter.metrics();
  meter.watchLoop();
  return new Response(metrics.render(gaugesOf(gateway)), { headers: { "content-type": MEDIA_TYPE } });
}

/** What is so at this moment. */
function gaugesOf({ load, sockets, meter, memory, breaker, upstreams }: Gateway): Family[] {
  const limited = [...upstreams].flatMap(([upstream, { concurrency }]) =>
    concurrency ? [{ upstream, ...concurrency.load() }] : []
  );
  const resting = breaker.resting().map((id) => id.slice(0, id.indexOf("/")));
  const one = (name: string, help: string, value: number) => gauge(name, help, [[{}, value]]);
  return [
    one("laneway_requests_running", "Requests that run a model.", load.running()),
    one("laneway_streams_open", "Streamed answers that are not over.", meter?.openStreams ?? 0),
    one("laneway_websockets_open", "WebSockets that are open.", sockets.size),
    gauge(
      "laneway_upstream_running",
      "Calls of an upstream that has a limit on them.",
      limited.map(({ upstream, running }) => [{ upstream }, running]),
    ),
    gauge(
      "laneway_upstream_waiting",
      "Requests that wait for their turn at an upstream.",
      limited.map(({ upstream, waiting }) => [{ upstream }, waiting]),
    ),
    gauge(
      "laneway_breaker_open_targets",
      "Models at an upstream that rest, because they failed again and again.",
      [...upstreams.keys()].map((upstream) => [{ upstream }, resting.filter((one) => one === upstream).length]),
    ),
    one("process_resident_memory_bytes", "Memory of the process.", memory()),
  ];
}
