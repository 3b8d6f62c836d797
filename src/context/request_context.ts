/** One request: its facts, which never change, and the log of its progress. */
import type { Context } from "../contract/context.ts";
import type { AnyProtocol } from "../contract/protocol.ts";
import { GatewayError } from "../errors.ts";
import type { Caller } from "../http/auth.ts";
import { formatNotes } from "../http/notes.ts";
import type { Peer } from "../platform/platform.ts";
import type { Gateway } from "./gateway.ts";
import { type AttemptRecord, RequestLog } from "./request_log.ts";
import { type Hide, hiderFor } from "./secrets.ts";

export interface RequestContext extends Context {
  readonly gateway: Gateway;
  readonly request: Request;
  /** The caller's address. Absent for calls within the process. */
  readonly peer?: Peer;
  /** The request's URL. `undefined` if its host is invalid, which is checked first. */
  readonly url: URL | undefined;
  /** Whether the request arrived over a connection, and not from within the process. */
  readonly isServed: boolean;
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly started: number;
  /** How many times the server had been replaced when the request arrived. */
  readonly renewals: number;
  /** The protocol of the client's errors and headers. The body may show that it is another one of the same path. */
  protocol: AnyProtocol;
  /** Empty until the request is authenticated. */
  readonly caller: Caller;
  readonly requestLog: RequestLog;
  /** Aborted when the client disconnects or the gateway stops, so the answer is no longer needed. */
  readonly signal: AbortSignal;
  /** Reports that the client has disconnected. */
  leave(): void;
  hasLeft(): boolean;
  /** Returns the text without the gateway's secrets and the caller's token. */
  readonly hide: Hide;
}

const NOBODY: Caller = { name: "", owner: "" };

/** A request whose protocol is not known yet. */
export type OpenedContext = Omit<RequestContext, "protocol" | "clientWire">;

/**
 * A request that the gateway makes for another one, with that one's caller. It is served like any other request of the caller.
 */
export interface OwnRequest {
  request: Request;
  caller: Caller;
  /** Makes another response of its answer. */
  answered?(answer: Response): Response | Promise<Response>;
}

/** `peer` is the caller's address, absent for calls within the process. */
export function openContext(request: Request, peer: Peer | undefined, gateway: Gateway): OpenedContext {
  const started = gateway.clocks.now();
  const since = gateway.clocks.monotonic();
  const url = URL.parse(request.url) ?? undefined;
  const ended = new AbortController();
  let hasLeft = false;
  const leave = (reason: unknown = clientClosed()) => {
    hasLeft = true;
    ended.abort(reason);
  };
  const { signal } = request;
  if (signal.aborted) leave(signal.reason);
  else signal.addEventListener("abort", () => leave(signal.reason), { once: true });
  const { hide, process } = gateway;
  const id = `req_${gateway.newId()}`;
  const requestLog = new RequestLog({
    entry: {
      time: timestamp(started),
      id,
      method: request.method,
      path: url?.pathname ?? "",
    },
    log: gateway.observe.log,
    mostCalls: gateway.routing.retry.calls,
    elapsedMs: () => Math.round(gateway.clocks.monotonic() - since),
    hide,
    trace: gateway.observe.tracing?.tracer?.begin(request.method, request.headers),
    running: { all: process.running, own: process.running.add(ended) },
  });
  return {
    gateway,
    request,
    peer,
    url,
    isServed: peer !== undefined,
    id,
    started,
    renewals: process.renewals.count,
    requestLog,
    signal: ended.signal,
    leave: () => leave(),
    hasLeft: () => hasLeft,
    caller: NOBODY,
    hide,
    note: (text) => requestLog.note(hide(text)),
  };
}

/** The second of the latest request, in milliseconds since the epoch, and the start of its ISO 8601 text. */
let second = NaN;
let beginning = "";

/** The time in ISO 8601. The prefix is cached, because many requests arrive in the same second. */
function timestamp(ms: number): string {
  const rest = Math.floor(ms) % 1000;
  const begun = Math.floor(ms) - rest;
  if (begun !== second) {
    beginning = new Date(begun).toISOString().slice(0, -4);
    second = begun;
  }
  return `${beginning}${String(rest).padStart(3, "0")}Z`;
}

/** The context with its protocol. If none matches, it is the one whose errors the client understands. */
export function withProtocol(
  context: OpenedContext,
  protocol = context.gateway.registry.fallback(context.request.headers),
): RequestContext {
  return { ...context, protocol, clientWire: protocol.wire };
}

/** The context with its caller. From now on the caller's token is hidden in every answer. */
export function withCaller(context: RequestContext, caller: Caller): RequestContext {
  return identified(context, context.protocol, caller);
}

/** The context with its protocol and its caller. */
export function identified(opened: OpenedContext, protocol: AnyProtocol, caller: Caller): RequestContext {
  opened.requestLog.entry.key = caller.name;
  const clientWire = protocol.wire;
  if (caller.token !== undefined) return { ...opened, protocol, clientWire, caller, ...hiding(caller.token, opened) };
  // Creating an object from two others takes the engine several times as long as a changed copy of one.
  return { ...opened, protocol, clientWire, caller };
}

/** Hides a caller's token, too. */
function hiding(token: string, { gateway, requestLog }: OpenedContext): Pick<RequestContext, "hide" | "note"> {
  const hide = hiderFor(gateway.secrets, [token]);
  return { hide, note: (text) => requestLog.note(hide(text)) };
}

/** Whether the client prefers an error to an answer with notes. */
export function isStrict({ request }: RequestContext): boolean {
  return request.headers.get("x-laneway-strict")?.toLowerCase() === "true";
}

export function refuseIfStrict(context: RequestContext, attempt?: AttemptRecord): void {
  if (!context.request.headers.has("x-laneway-strict") || !isStrict(context)) return;
  const notes = context.requestLog.notes(attempt);
  if (notes.length === 0) return;
  const message = `Cannot serve the request as it is: ${formatNotes(notes)}`;
  throw new GatewayError("invalid_request", message, { tryNextTarget: true });
}

export function clientClosed(): GatewayError {
  return new GatewayError("client_closed", "The client closed the connection");
}

/** The error for a client that has stopped reading its answer. The log distinguishes it from one that disconnected. */
export function clientStalled(limitMs: number): GatewayError {
  const cause = new Error(`The client read nothing of the response for ${limitMs / 1000} s`);
  return new GatewayError("client_closed", "The client stopped reading the response", { cause });
}

/** Clients that retry reach another gateway, or this one after its restart. */
export function shuttingDown(): GatewayError {
  return new GatewayError("unavailable", "The gateway is shutting down", { retryAfter: "1" });
}
