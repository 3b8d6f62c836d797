/** What is known of a request on its way, from its first moment to its line in the log. */
import type { CountedBy } from "../canonical/usage.ts";
import type { Allowance } from "../contract/allowance.ts";
import type { Context } from "../contract/context.ts";
import type { AnyProtocol } from "../contract/protocol.ts";
import { GatewayError } from "../errors.ts";
import type { Caller } from "../http/auth.ts";
import { formatNotes } from "../http/notes.ts";
import { withoutBody } from "../http/respond.ts";
import type { Destination } from "../contract/destination.ts";
import type { LogEntry } from "../observe/log.ts";
import type { Attempt } from "./attempt.ts";
import { chargeOf } from "./charge.ts";
import { type Hide, hiderFor } from "./secrets.ts";
import type { Gateway } from "./gateway.ts";

export interface Journey extends Context {
  gateway: Gateway;
  request: Request;
  id: string;
  /** Milliseconds since the epoch. */
  started: number;
  /** How often there had been a new server when the request came. */
  renewals: number;
  /** Milliseconds since the request came. */
  elapsed(): number;
  /** Whose errors and headers the client reads. */
  protocol: AnyProtocol;
  clientWire: string;
  caller: Caller;
  entry: Partial<LogEntry>;
  /** What tells its conversation from others, where it matters which target answers it. */
  conversation?: string;
  /** What was dropped, clamped or changed, whoever answers: each once, in order. */
  notes: Set<string>;
  /** The target that answers, or was asked last. */
  attempt?: Attempt;
  /** The latest at each destination. */
  attempts: Map<Destination, Attempt>;
  /** Whether that target has begun to answer. */
  begun?: true;
  /** How often a target was asked. */
  asked: number;
  /** Tokens of what was asked, as they were estimated when the request was let in. */
  estimate: number;
  /** Whether tokens are charged to a key. */
  isMetered: boolean;
  /** Tokens of a streamed answer so far, estimated: for one that never tells its usage. */
  said: number;
  /** Tokens that are charged, once the answer's usage is known. */
  charge?: number;
  /** Who counted the tokens that the answer's beginning tells. */
  countedBy?: CountedBy;
  /** Why an upstream refused the model, where the lane knows better than the upstream says. */
  explainRefusal?(): Promise<GatewayError | undefined>;
  /** The models that a name which nobody knows may have been meant for. */
  similarModels?(): Promise<string[]>;
  /** What the caller may still do. */
  allowance?(): Allowance;
  /** Aborted when the client is gone or the gateway stops: nobody waits for the answer any more. */
  signal: AbortSignal;
  leave(): void;
  hasLeft(): boolean;
  /** What is to be done when the request is over, however it ends. */
  atEnd: (() => void)[];
  /** The same text without the gateway's secrets and the caller's token. */
  hide: Hide;
}

/** A request full of things to leave out must not fill the log with them. */
const MOST_NOTES = 100;
const LONGEST_NOTE = 200;

/** Adds a note to those that are known, unless there are too many. */
export function addNote(notes: Set<string>, text: string): void {
  if (notes.size < MOST_NOTES) notes.add(text.slice(0, LONGEST_NOTE));
}

const NOBODY: Caller = { name: "", owner: "" };

export function begin(request: Request, gateway: Gateway): Journey {
  const started = gateway.now();
  const since = gateway.monotonic();
  const left = new AbortController();
  const notes = new Set<string>();
  let hider: { caller: Caller; hide: Hide } | undefined;
  const hide: Hide = (text) => {
    const { caller } = journey;
    if (hider?.caller !== caller) hider = { caller, hide: hiderFor(journey) };
    return hider.hide(text);
  };
  const id = `req_${gateway.newId()}`;
  const journey: Journey = {
    gateway,
    request,
    id,
    started,
    renewals: gateway.renewals(),
    elapsed: () => Math.round(gateway.monotonic() - since),
    protocol: gateway.registry.fallback(request.headers),
    clientWire: "",
    caller: NOBODY,
    entry: {
      time: new Date(started).toISOString(),
      id,
      method: request.method,
      // Of a request whose host is none there is perhaps no path.
      path: URL.parse(request.url)?.pathname ?? "",
    },
    notes,
    note: (text) => addNote(notes, hide(text)),
    attempts: new Map(),
    asked: 0,
    estimate: 0,
    isMetered: false,
    said: 0,
    signal: AbortSignal.any([request.signal, left.signal, gateway.signal]),
    leave: () => left.abort(clientClosed()),
    hasLeft: () => request.signal.aborted || left.signal.aborted,
    atEnd: [],
    hide,
  };
  return journey;
}

/**
 * Lets a request run a model, which all requests that do may take too much of: the gateway's room, and what the caller's key
 * may use. `tokens`: what it is sure to use. Throws `unavailable` or `rate_limit`; what is refused has used nothing.
 */
export async function admit(journey: Journey, tokens: number): Promise<void> {
  const { gateway, caller, entry, atEnd } = journey;
  atEnd.push(gateway.load.enter(gateway.limits));
  const account = gateway.admission(caller);
  // Without the store a key is judged by what is known here: the log says why.
  const failure = await account?.ready?.();
  if (failure !== undefined) entry.cause ??= failure;
  const permit = account?.admit(tokens);
  journey.estimate = tokens;
  journey.isMetered = permit !== undefined;
  if (!permit) return;
  atEnd.push(() => {
    permit.charge(chargeOf(journey) - tokens);
    permit.release();
  });
}

export function clientClosed(): GatewayError {
  return new GatewayError("client_closed", "The client closed the connection");
}

/** Of a client that takes nothing of its answer: the log tells it from one that left. */
export function clientStalled(limitMs: number): GatewayError {
  const cause = new Error(`The client took nothing of its answer for ${limitMs / 1000} s`);
  return new GatewayError("client_closed", "The client did not read its answer", { cause });
}

/** Whoever comes again finds another gateway, or this one restarted. */
export function shuttingDown(): GatewayError {
  return new GatewayError("unavailable", "The gateway is shutting down", { retryAfter: "1" });
}

/** What is said to the client, in order. */
export function notesOf({ notes, attempt }: Journey): string[] {
  return [...new Set([...notes, ...attempt?.notes ?? []])];
}

export function isStrict({ request }: Journey): boolean {
  return request.headers.get("x-laneway-strict")?.toLowerCase() === "true";
}

export function refuseIfStrict(journey: Journey, notes = notesOf(journey)): void {
  if (notes.length === 0 || !isStrict(journey)) return;
  const message = `Cannot serve the request as it is: ${formatNotes(notes)}`;
  throw new GatewayError("invalid_request", message, { tryNextTarget: true });
}

export function record(error: GatewayError, { entry }: Journey): void {
  entry.error = error.code;
  entry.upstreamStatus = error.details.upstreamStatus;
  entry.cause = error.cause;
}

/** Headers of every answer, and the log entry of those that are whole. */
export function finish(response: Response, journey: Journey): Response {
  const { gateway, request, id, entry, countedBy, protocol, allowance } = journey;
  // The name that each of the SDKs reads.
  for (const name of ["x-request-id", "request-id"]) response.headers.set(name, id);
  // What a message quotes of a request is text, whatever a browser would make of it.
  response.headers.set("x-content-type-options", "nosniff");
  const notes = notesOf(journey);
  if (notes.length > 0) response.headers.set("x-laneway-notes", formatNotes(notes));
  const told = response.ok ? whoAnswers(journey) : whoFailed(journey);
  if (told !== undefined) response.headers.set("x-laneway-target", formatNotes([told]));
  if (countedBy && response.ok) response.headers.set("x-laneway-tokens", countedBy);
  const left = allowance && protocol.serializeAllowance?.(allowance(), gateway.now());
  for (const [name, value] of Object.entries(left ?? {})) response.headers.set(name, value);
  const isStream = entry.stream && response.ok;
  if (!isStream && entry.status === undefined) closeLog(journey, response.status);
  return request.method === "HEAD" ? withoutBody(response) : response;
}

/** The target, whom it chose to serve, and how many were asked where it was not the first. */
function whoAnswers({ begun, attempt, asked }: Journey): string | undefined {
  if (!begun || !attempt) return undefined;
  const { target, provider } = attempt;
  const more = [provider && `provider=${provider}`, asked > 1 && `attempts=${asked}`].filter(Boolean);
  return [target, ...more].join("; ");
}

/** That no target served, and how many were asked, where any was. */
function whoFailed({ asked }: Journey): string | undefined {
  return asked > 0 ? `none; attempts=${asked}` : undefined;
}

export function closeLog(journey: Journey, status: number): void {
  const { gateway, entry, attempt, asked, atEnd } = journey;
  if (entry.status !== undefined) return;
  entry.status = status;
  for (const end of atEnd.splice(0)) end();
  const notes = notesOf(journey);
  gateway.log({
    ...entry as LogEntry,
    ...(attempt && { target: attempt.target }),
    ...(attempt?.provider !== undefined && { provider: attempt.provider }),
    ...(asked > 1 && { attempts: asked }),
    durationMs: journey.elapsed(),
    ...(notes.length > 0 && { notes }),
  });
}
