/** The state of the gateway and its upstreams, for operators. */
import type { RequestContext } from "../context/request_context.ts";
import { recallAll } from "../upstream/learnt.ts";
import { processStatus } from "./worker_report.ts";

export async function statusPage({ gateway }: RequestContext): Promise<Response> {
  const { workers } = gateway.process;
  await recallAll(gateway.upstreams.values());
  if (!workers) return Response.json({ object: "status", ...processStatus(gateway) });
  const { statusOfAll } = await import("./workers_together.ts");
  return Response.json({ object: "status", ...await statusOfAll(gateway, workers) });
}
