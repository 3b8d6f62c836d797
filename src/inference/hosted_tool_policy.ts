/** Decides who runs a hosted tool: the server of a target, the gateway for it, or nobody. */
import type { HostedTool } from "../canonical/generate.ts";
import type { Gateway } from "../context/gateway.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";

type Surroundings = Pick<RequestContext, "gateway">;

/** The wire that the target speaks. */
export function wireOf({ upstream, driver }: PlannedTarget, { upstreams, drivers }: Gateway): string | undefined {
  return (driver === undefined ? upstreams.get(upstream)?.driver : drivers.get(driver))?.wire;
}

/**
 * Whether the target runs the tool: its configuration says so, or it speaks the tool's wire and is not known to refuse
 * the tool.
 */
export function runsAt(tool: HostedTool, where: PlannedTarget, { gateway }: Surroundings): boolean {
  const upstream = gateway.upstreams.get(where.upstream);
  const mode = modeOf(where, gateway);
  if (mode !== undefined) return mode === "upstream";
  if (tool.work?.kind === "tool-search") return searchesAt(where, tool.extra.wire, gateway);
  if (tool.work && upstream?.driver.runs?.includes(tool.work.kind)) return true;
  // Few servers of open models run the hosted tools of the wires that they speak, so the gateway runs those that it
  // can.
  if (tool.work && gateway.hosted.runner.runs(tool.work)) return false;
  return wireOf(where, gateway) === tool.extra.wire && !upstream?.refuses.includes(tool.name);
}

/** Whether the target's model searches deferred tools itself. Few do, so it has to be known for that. */
function searchesAt(where: PlannedTarget, wire: string, { upstreams, drivers }: Gateway): boolean {
  const upstream = upstreams.get(where.upstream);
  const driver = where.driver === undefined ? upstream?.driver : drivers.get(where.driver);
  const model = where.pinned ?? where.model;
  const intake = upstream && driver?.intake?.({ ...upstream.quirks, ...where, model });
  return intake?.searchesTools === true && intake.wire === wire;
}

/** Whether the gateway may run hosted tools for a target. */
export function mayRunFor(where: PlannedTarget, { gateway }: Surroundings): boolean {
  const mode = modeOf(where, gateway);
  return mode === undefined || mode === "gateway";
}

/** Whether the target's model is offered no hosted tool at all. */
export function isOffAt(where: PlannedTarget, { gateway }: Surroundings): boolean {
  return modeOf(where, gateway) === "off";
}

/** Whether the tool would reach a target that speaks its wire but does not run it. */
export function isLostOn(tool: HostedTool, where: PlannedTarget, context: Surroundings): boolean {
  return wireOf(where, context.gateway) === tool.extra.wire && !runsAt(tool, where, context);
}

function modeOf(where: PlannedTarget, { upstreams }: Gateway) {
  return where.hostedTools ?? upstreams.get(where.upstream)?.quirks.hostedTools;
}
