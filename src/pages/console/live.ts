/** The data of the console's live pages, as JSON. */
import { z } from "zod";
import type { JsonObject } from "../../canonical/json.ts";
import { TASK_OF } from "../../canonical/operations.ts";
import type { RequestContext } from "../../context/request_context.ts";
import { validate } from "../../contract/validate.ts";
import { GatewayError } from "../../errors.ts";
import { STRETCH_MS, STRETCHES } from "../../observe/meter.ts";
import { forget, recallAll } from "../../upstream/learnt.ts";
import { processStatus } from "../worker_report.ts";

/**
 * The running requests, and those that ended since `?since=`, which is the `next` of the last answer from the feed
 * `?feed=`.
 */
export function live(
  { gateway: { observe: { feed, captures }, clocks: { now }, registry: { protocols } }, url, hide }: RequestContext,
): Response {
  const idle = protocols.filter(({ operation }) => operation === "countTokens" || TASK_OF[operation] === undefined);
  const operations = new Map(idle.map(({ name, operation }) => [name, operation]));
  const kinds = new Map(protocols.map(({ name, operation }) => [name, operation]));
  /** Names the operation of a request that runs no model, and what it is if it is no conversation alone. */
  const named = <T extends { protocol?: string; thread?: true }>({ thread, ...entry }: T) => {
    const kind = kinds.get(entry.protocol ?? "");
    return {
      ...entry,
      operation: operations.get(entry.protocol ?? ""),
      kind: thread ? "thread" : kind === "generate" ? undefined : kind,
    };
  };
  const isSame = url?.searchParams.get("feed") === feed?.id;
  const since = isSame ? Number(url?.searchParams.get("since")) : 0;
  const running = feed?.running().map(({ entry, target, elapsedMs, client }) => ({
    id: entry.id,
    time: entry.time,
    path: hide(entry.path ?? ""),
    key: entry.key,
    lane: entry.lane,
    protocol: entry.protocol,
    model: entry.model && hide(entry.model),
    thread: entry.thread,
    stream: entry.stream,
    firstEventMs: entry.firstEventMs,
    target,
    elapsedMs,
    client,
  }));
  return Response.json({
    now: now(),
    feed: feed?.id,
    next: feed?.count ?? 0,
    isRecorded: captures !== undefined,
    running: running?.map(named) ?? [],
    ended: feed?.since(Number.isSafeInteger(since) && since >= 0 ? since : 0).map(named) ?? [],
  });
}

export async function status({ gateway }: RequestContext): Promise<Response> {
  await recallAll(gateway.upstreams.values());
  const { clocks: { now }, observe: { meter, usage } } = gateway;
  const upstreams = Object.fromEntries(
    Array.from(gateway.upstreams.keys(), (name) => [
      name,
      Array.from(meter?.upstreams.get(name)?.past ?? [], ([at, counts]) => [at, ...counts]),
    ]),
  );
  // Usage also has what was before this process.
  const isKept = usage?.series !== undefined;
  const past = { now: now(), stretchMs: STRETCH_MS, stretches: STRETCHES, isKept, upstreams };
  return Response.json({ ...processStatus(gateway), past });
}

const forgetSchema = z.strictObject({ upstream: z.string(), model: z.string().optional() });

/** Forgets what a model of an upstream was found to refuse, or what all of its models were. */
export async function forgetRefusals({ gateway, caller }: RequestContext, body: JsonObject): Promise<Response> {
  const { upstream: name, model } = validate(forgetSchema, body);
  const upstream = gateway.upstreams.get(name);
  if (!upstream) throw new GatewayError("not_found", `Cannot find upstream "${name}"`);
  gateway.observe.audit?.write({ event: "refusals forgotten", upstream: name, model, by: caller.name });
  await forget(upstream, model);
  return Response.json({ upstream: name, model });
}
