/** The W3C headers that pass a trace from one service to the next. */

export interface RemoteSpan {
  traceId: string;
  spanId: string;
  flags: number;
}

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const NOTHING = /^0+$/;
/** The standard asks for this length to be passed on. A longer state is dropped. */
const LONGEST_STATE = 512;
const STATE = /^[\x20-\x7e\t]+$/;

/** The caller's span. Absent if the header is missing, invalid or repeated. */
export function readTraceparent(headers: Headers): RemoteSpan | undefined {
  const [, version, traceId, spanId, flags, rest] = TRACEPARENT.exec(headers.get("traceparent") ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || version === "ff" || (version === "00" && rest)) return undefined;
  if (NOTHING.test(traceId) || NOTHING.test(spanId)) return undefined;
  return { traceId, spanId, flags: parseInt(flags!, 16) };
}

/** The headers for an upstream. `headers`: the caller's, whose state is passed on with its trace. */
export function traceHeaders({ traceId, spanId, flags }: RemoteSpan, headers: Headers): Record<string, string> {
  const traceparent = `00-${traceId}-${spanId}-${(flags & 1).toString().padStart(2, "0")}`;
  const tracestate = headers.get("tracestate");
  const isKept = tracestate !== null && tracestate.length <= LONGEST_STATE && STATE.test(tracestate) &&
    readTraceparent(headers)?.traceId === traceId;
  return isKept ? { traceparent, tracestate } : { traceparent };
}

/** The caller's own trace, for an upstream of a gateway that makes no spans. */
export function passedOn(headers: Headers): Record<string, string> {
  const remote = readTraceparent(headers);
  return remote ? traceHeaders(remote, headers) : {};
}
