/** The data of the console's live pages, as JSON. */
import type { RequestContext } from "../../context/request_context.ts";
import { processStatus } from "../worker_report.ts";

/**
 * The running requests, and those that ended since `?since=`, which is the `next` of the last answer from the feed
 * `?feed=`.
 */
export function live(
  { gateway: { observe: { feed, captures }, clocks: { now } }, url, hide }: RequestContext,
): Response {
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
    running: running ?? [],
    ended: feed?.since(Number.isSafeInteger(since) && since >= 0 ? since : 0) ?? [],
  });
}

export function status({ gateway }: RequestContext): Response {
  return Response.json(processStatus(gateway));
}
