/** One request: its facts, which never change, and the recorder of its course. */
import type { Context } from "../contract/context.ts";
import type { AnyProtocol } from "../contract/protocol.ts";
import { GatewayError } from "../errors.ts";
import type { Caller } from "../http/auth.ts";
import { formatNotes } from "../http/notes.ts";
import type { Peer } from "../platform/platform.ts";
import type { Gateway } from "./gateway.ts";
import { type Attempt, Recorder } from "./recorder.ts";
import { type Hide, hiderFor } from "./secrets.ts";

export interface RequestContext extends Context {
  readonly gateway: Gateway;
  readonly request: Request;
  /** The caller's address; absent for a call within the process. */
  readonly peer?: Peer;
  /** The request's; nothing where its host is invalid, which is checked first. */
  readonly url: URL | undefined;
  /** Whether it came over a connection, and not from within the process. */
  readonly isServed: boolean;
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly started: number;
  /** How often there had been a new server when the request came. */
  readonly renewals: number;
  /** Whose errors and headers the client reads. */
  readonly protocol: AnyProtocol;
  /** Nobody before the request is authenticated. */
  readonly caller: Caller;
  readonly recorder: Recorder;
  /** Aborted when the client is gone or the gateway stops: nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** The client is gone. */
  leave(): void;
  hasLeft(): boolean;
  /** The same text without the gateway's secrets and the caller's token. */
  readonly hide: Hide;
}

const NOBODY: Caller = { name: "", owner: "" };

/** A request of which it is not known yet which protocol it speaks. */
export type OpenedContext = Omit<RequestContext, "protocol" | "clientWire">;

/** A request that the gateway makes of another, and whose it is: it is served like any other of that caller. */
export interface OwnRequest {
  request: Request;
  caller: Caller;
}

/** `peer` is the caller's address; absent for a call within the process. */
export function openContext(request: Request, peer: Peer | undefined, gateway: Gateway): OpenedContext {
  const started = gateway.now();
  const since = gateway.monotonic();
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
  gateway.running.add(ended);
  const id = `req_${gateway.newId()}`;
  const hide = hideFor(NOBODY, gateway);
  const recorder = new Recorder({
    entry: {
      time: timestamp(started),
      id,
      method: request.method,
      path: url?.pathname ?? "",
    },
    log: gateway.log,
    elapsedMs: () => Math.round(gateway.monotonic() - since),
    hide,
    trace: gateway.tracing?.tracer?.begin(request.method, request.headers),
  });
  recorder.atEnd(() => gateway.running.delete(ended));
  return {
    gateway,
    request,
    peer,
    url,
    isServed: peer !== undefined,
    id,
    started,
    renewals: gateway.renewals(),
    recorder,
    signal: ended.signal,
    leave: () => leave(),
    hasLeft: () => hasLeft,
    caller: NOBODY,
    hide,
    note: noterFor(hide, recorder),
  };
}

/** The second of the latest request, in milliseconds since the epoch, and its beginning by ISO 8601. */
let second = NaN;
let beginning = "";

/** By ISO 8601; many requests come in one second. */
function timestamp(ms: number): string {
  const rest = Math.floor(ms) % 1000;
  const begun = Math.floor(ms) - rest;
  if (begun !== second) {
    beginning = new Date(begun).toISOString().slice(0, -4);
    second = begun;
  }
  return `${beginning}${String(rest).padStart(3, "0")}Z`;
}

/** The context of a request that is the protocol's: where none serves it, of the one whose errors its client reads. */
export function withProtocol(
  context: OpenedContext,
  protocol = context.gateway.registry.fallback(context.request.headers),
): RequestContext {
  return { ...context, protocol, clientWire: protocol.wire };
}

/** The context of a request whose caller is known: no answer may hold the caller's token. */
export function withCaller(context: RequestContext, caller: Caller): RequestContext {
  const { recorder, gateway } = context;
  recorder.entry.key = caller.name;
  const hide = hideFor(caller, gateway);
  // An object that is made of two others takes the engine several times as long as a changed copy of one.
  return { ...context, caller, hide, note: noterFor(hide, recorder) };
}

function noterFor(hide: Hide, recorder: Recorder): RequestContext["note"] {
  return (text) => recorder.note(hide(text));
}

/** What hides the secrets of callers without a token, which are the same for all requests. */
const hiders = new WeakMap<Gateway, Hide>();

function hideFor({ token }: Caller, gateway: Gateway): Hide {
  let hider = token === undefined ? hiders.get(gateway) : undefined;
  if (hider) return hider;
  return (text) => {
    hider ??= hiderFor([...gateway.secrets, token ?? ""]);
    if (token === undefined) hiders.set(gateway, hider);
    return hider(text);
  };
}

/** Whether the client wants no answer where one would come with notes. */
export function isStrict({ request }: RequestContext): boolean {
  return request.headers.get("x-laneway-strict")?.toLowerCase() === "true";
}

export function refuseIfStrict(context: RequestContext, attempt?: Attempt): void {
  if (!isStrict(context)) return;
  const notes = context.recorder.notes(attempt);
  if (notes.length === 0) return;
  const message = `Cannot serve the request as it is: ${formatNotes(notes)}`;
  throw new GatewayError("invalid_request", message, { tryNextTarget: true });
}

export function clientClosed(): GatewayError {
  return new GatewayError("client_closed", "The client closed the connection");
}

/** For a client that reads nothing of its answer. The log distinguishes it from one that left. */
export function clientStalled(limitMs: number): GatewayError {
  const cause = new Error(`The client read nothing of the response for ${limitMs / 1000} s`);
  return new GatewayError("client_closed", "The client stopped reading the response", { cause });
}

/** Whoever comes again finds another gateway, or this one restarted. */
export function shuttingDown(): GatewayError {
  return new GatewayError("unavailable", "The gateway is shutting down", { retryAfter: "1" });
}
