/** How the gateway and its upstreams are, for operators. */
import type { RequestContext } from "../context/request_context.ts";

export function statusPage({ gateway }: RequestContext): Response {
  const { breaker, upstreams, meter, load, sockets, memory, draining } = gateway;
  // What a caller's own token failed with is told apart by who that was, which is nobody's business.
  const resting = [...new Set(breaker.resting().map((id) => id.split(" ")[0]!))];
  return Response.json({
    object: "status",
    status: draining.aborted ? "draining" : "ready",
    requestsRunning: load.running(),
    streamsOpen: meter?.openStreams ?? 0,
    webSocketsOpen: sockets.size,
    memoryBytes: memory(),
    upstreams: Array.from(upstreams, ([name, { driver, concurrency, missingSecret }]) => {
      const { latencyMs, lastError } = meter?.upstreams.get(name) ?? {};
      return {
        name,
        driver: driver.name,
        ...(missingSecret !== undefined && { missingSecret }),
        resting: resting.filter((target) => target.startsWith(`${name}/`)).map((target) =>
          target.slice(name.length + 1)
        ),
        ...concurrency?.load(),
        ...(latencyMs !== undefined && { latencyMs: Math.round(latencyMs) }),
        ...(lastError && { lastError: { code: lastError.code, time: new Date(lastError.at).toISOString() } }),
      };
    }),
  });
}
