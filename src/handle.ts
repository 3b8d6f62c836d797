/** One request, step by step: match, admit, read, parse, recall, resolve, call, remember, serialize. */
import { Collector } from "./canonical/collect.ts";
import type { GenerateEvent, GenerateResponse, Message } from "./canonical/generate.ts";
import { withoutForeignReasoning } from "./canonical/reasoning.ts";
import type { Input, ModelOperation, OperationName, Output } from "./canonical/operations.ts";
import { estimateInputTokens } from "./canonical/usage.ts";
import type { Context, Exchange, WireRequest } from "./contract/context.ts";
import type { Target } from "./contract/driver.ts";
import type { ServerSentEvent } from "./contract/frame.ts";
import type { AnyProtocol, Protocol } from "./contract/protocol.ts";
import type { Registry } from "./contract/registry.ts";
import { GatewayError, toGatewayError } from "./errors.ts";
import type { Authenticate } from "./http/auth.ts";
import { readJsonBody } from "./http/body.ts";
import { checkHeaders } from "./http/headers.ts";
import { formatNotes } from "./http/notes.ts";
import { streamResponse, withoutBody } from "./http/respond.ts";
import { methodNotAllowed, type Service } from "./http/service.ts";
import { fit } from "./lanes/fit.ts";
import type { Lane, Resolution } from "./lanes/lane.ts";
import type { LogEntry } from "./observe/log.ts";
import type { Continuity } from "./state/continuity.ts";
import { guard } from "./upstream/guard.ts";
import { firstAnswer, firstStream } from "./upstream/retry.ts";
import { answer, type Ask, stream } from "./upstream/run.ts";
import type { Fetch, Upstream } from "./upstream/send.ts";

/** All that a request's journey needs; made once, by `app.ts`. */
export interface Gateway {
  /** What operators ask, apart from every lane. */
  service: Service;
  registry: Registry;
  lanes: ReadonlyMap<string, Lane>;
  upstreams: ReadonlyMap<string, Upstream>;
  authenticate: Authenticate;
  continuity: Continuity;
  bodyLimits: { limitBytes: number; timeoutMs: number };
  pace: Pace;
  fetch: Fetch;
  /** Milliseconds since the epoch. */
  now(): number;
  /** A new random id, without a prefix. */
  newId(): string;
  log(entry: LogEntry): void;
  /** Aborted when the gateway stops without waiting. */
  signal: AbortSignal;
}

export interface Pace {
  /** Silence of the upstream after which the client gets its response head, in milliseconds. */
  headAfterMs: number;
  /** Silence towards the client after which a keep-alive goes out, in milliseconds. */
  keepAliveMs: number;
  /** How long a request waits for the store, in milliseconds. */
  storeMs: number;
}

/** What is known of a request on its way; it ends as the log entry. */
interface Journey extends Context {
  clientWire: string;
  request: Request;
  gateway: Gateway;
  id: string;
  /** Whose stored answers the request may build on. */
  owner: string;
  started: number;
  entry: Partial<LogEntry>;
  /** Each once, in order. */
  notes: Set<string>;
  notesBeforeTarget?: number;
  /** Aborted when the client is gone or the gateway stops: nobody waits for the answer any more. */
  signal: AbortSignal;
  leave(): void;
  hasLeft(): boolean;
}

/** A request full of things to leave out must not fill the log with them. */
const MOST_NOTES = 100;

export async function handle(request: Request, peer: Deno.Addr | undefined, gateway: Gateway): Promise<Response> {
  const journey = begin(request, gateway);
  let protocol = gateway.registry.fallback(request.headers);
  try {
    const service = gateway.service(request);
    if (service) return service;
    const match = gateway.registry.match(request);
    if (match) protocol = match.protocol;
    journey.entry.protocol = match?.protocol.name;
    checkHeaders(request.headers);
    const caller = gateway.authenticate(request, peer);
    journey.entry.key = caller.name;
    journey.owner = caller.owner;
    if (request.headers.get("upgrade")?.toLowerCase() === "websocket") {
      throw new GatewayError("upgrade_required", "The gateway does not serve WebSockets: use HTTP");
    }
    if (!match) throw new GatewayError("not_found", `Cannot find the path "${new URL(request.url).pathname}"`);
    if ("allow" in match) throw methodNotAllowed(request.method, match.allow);
    const lane = findLane(match.params.lane, caller.lanes, gateway);
    journey.entry.lane = lane.name;
    const body = protocol.body === "json" ? await readJsonBody(request, gateway.bodyLimits) : undefined;
    const query = new URL(request.url).searchParams;
    const wire = { body, headers: request.headers, params: match.params, query };
    journey.clientWire = protocol.name;
    const response = await perform(protocol, wire, lane, journey);
    return finish(response, journey);
  } catch (thrown) {
    const error = journey.hasLeft() ? clientClosed() : toGatewayError(thrown);
    record(error, journey);
    const response = protocol.serializeError(error, { requestId: journey.id });
    closeLog(journey, response.status);
    return finish(response, journey);
  }
}

function begin(request: Request, gateway: Gateway): Journey {
  const started = gateway.now();
  const left = new AbortController();
  const notes = new Set<string>();
  const id = `req_${gateway.newId()}`;
  return {
    clientWire: "",
    request,
    gateway,
    id,
    owner: "",
    started,
    entry: {
      time: new Date(started).toISOString(),
      id,
      method: request.method,
      path: new URL(request.url).pathname,
    },
    notes,
    note: (text) => void (notes.size < MOST_NOTES && notes.add(text)),
    signal: AbortSignal.any([request.signal, left.signal, gateway.signal]),
    leave: () => left.abort(clientClosed()),
    hasLeft: () => request.signal.aborted || left.signal.aborted,
  };
}

function findLane(name: string | undefined, opened: readonly string[] | undefined, { lanes }: Gateway): Lane {
  const lane = lanes.get(name ?? "");
  if (!lane) {
    const known = [...lanes.keys()].map((one) => `"${one}"`).join(", ");
    throw new GatewayError("not_found", `Cannot find lane "${name}": this gateway has ${known}`);
  }
  if (opened && !opened.includes(lane.name)) {
    throw new GatewayError("permission", `This key does not open lane "${lane.name}"`);
  }
  return lane;
}

/** Parses what came in and answers it: the lane what is its own to know, an upstream the rest. */
async function perform(protocol: AnyProtocol, wire: WireRequest, lane: Lane, journey: Journey): Promise<Response> {
  const { gateway } = journey;
  switch (protocol.operation) {
    case "listModels": {
      const exchange = openExchange(protocol, protocol.parse(wire, journey), wire, journey);
      return protocol.serialize(await lane.list(journey.note), exchange);
    }
    case "getModel": {
      const input = protocol.parse(wire, journey);
      journey.entry.model = input.model;
      return protocol.serialize(await lane.get(input.model), openExchange(protocol, input, wire, journey));
    }
    case "generate": {
      const asked = protocol.parse(wire, journey);
      journey.entry.stream = asked.stream;
      const { input, messages } = await gateway.continuity.recall(asked, journey.owner);
      const resolution = await resolve(protocol, input.model, lane, journey);
      const fitted = fit(input, resolution, journey.note);
      const exchange = openExchange(protocol, fitted, wire, journey);
      return fitted.stream
        ? generateStream(protocol, exchange, messages, resolution, journey)
        : generateWhole(protocol, exchange, messages, resolution, journey);
    }
    case "countTokens": {
      const { input } = await gateway.continuity.recall(protocol.parse(wire, journey), journey.owner);
      await resolve(protocol, input.model, lane, journey);
      const inputTokens = estimateInputTokens(input);
      return protocol.serialize({ inputTokens }, openExchange(protocol, input, wire, journey));
    }
    case "embed": {
      const input = protocol.parse(wire, journey);
      const resolution = await resolve(protocol, input.model, lane, journey);
      const output = await runWhole(protocol, input, resolution, journey);
      return protocol.serialize(output, openExchange(protocol, input, wire, journey));
    }
    case "getResponse": {
      const input = protocol.parse(wire, journey);
      const stored = await gateway.continuity.find(input.id, journey.owner) ?? cannotFind(input.id);
      return protocol.serialize(stored, openExchange(protocol, input, wire, journey));
    }
    case "deleteResponse": {
      const input = protocol.parse(wire, journey);
      if (!await gateway.continuity.forget(input.id, journey.owner)) cannotFind(input.id);
      return protocol.serialize(input, openExchange(protocol, input, wire, journey));
    }
    case "cancelResponse": {
      const { id } = protocol.parse(wire, journey);
      if (!await gateway.continuity.find(id, journey.owner)) cannotFind(id);
      throw new GatewayError("invalid_request", "Cannot cancel a response that was not made in the background");
    }
    default:
      return protocol satisfies never;
  }
}

function resolve(protocol: AnyProtocol, model: string, lane: Lane, journey: Journey): Promise<Resolution> {
  journey.entry.model = model;
  return lane.resolve(model, protocol.operation);
}

function cannotFind(id: string): never {
  throw new GatewayError("not_found", `Response with id '${id}' not found`, { param: "id" });
}

function openExchange<K extends OperationName>(
  { idPrefix = "" }: Protocol<K>,
  input: Input<K>,
  wire: WireRequest,
  { gateway, started, clientWire, note }: Journey,
): Exchange<K> {
  return {
    id: idPrefix + gateway.newId(),
    created: toSeconds(started),
    input,
    wire,
    clientWire,
    note,
    now: () => toSeconds(gateway.now()),
    stored: "memory" in input && input.memory?.keep !== undefined,
    frames: { sent: 0 },
  };
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

function runWhole<K extends ModelOperation>(
  { operation }: Protocol<K>,
  input: Input<K>,
  { targets }: Resolution,
  journey: Journey,
): Promise<Output<K>> {
  return firstAnswer(targets, (target) => answer(ask(operation, input, target, journey)));
}

async function generateWhole(
  protocol: Protocol<"generate">,
  exchange: Exchange<"generate">,
  messages: Message[],
  resolution: Resolution,
  journey: Journey,
): Promise<Response> {
  const output = await runWhole(protocol, exchange.input, resolution, journey);
  journey.entry.usage = output.usage;
  await remember(output, exchange, messages, journey);
  return protocol.serialize(output, exchange);
}

/** Before the client hears of the answer's end, so that it can go on from there at once. A store that fails costs no answer. */
async function remember(
  response: GenerateResponse,
  exchange: Exchange<"generate">,
  messages: Message[],
  { gateway, entry, owner, note }: Journey,
): Promise<void> {
  const { id, created, input } = exchange;
  const { keep, previous } = input.memory ?? {};
  if (!keep) return;
  const facts = { id, previous, created, completed: exchange.now(), model: input.model };
  try {
    await gateway.continuity.remember({ ...facts, messages, response, keep }, entry.target ?? "", owner);
  } catch (cause) {
    exchange.stored = false;
    entry.cause = cause;
    note("could not store the response");
  }
}

/** The same in a stream: the last event waits until the answer is stored. */
async function* remembering(
  events: AsyncIterable<GenerateEvent>,
  store: (response: GenerateResponse) => Promise<void>,
): AsyncGenerator<GenerateEvent> {
  const collector = new Collector();
  for await (const event of events) {
    const response = event.type === "error" ? undefined : collector.add(event);
    if (response) await store(response);
    yield event;
  }
}

/**
 * The commit point of a stream: its head goes out with the upstream's first event, so that a failure before it has a proper
 * status; an upstream that is silent for long is not waited for, because proxies and clients give up on a silent gateway.
 */
async function generateStream(
  protocol: Protocol<"generate">,
  exchange: Exchange<"generate">,
  messages: Message[],
  { targets }: Resolution,
  journey: Journey,
): Promise<Response> {
  const { gateway, notes } = journey;
  let ending = false;
  let finished = false;
  const guarded = guard(
    firstStream(targets, (target) => stream(ask("generate", exchange.input, target, journey))),
    (event) => {
      if (event.type !== "error") journey.entry.firstEventMs ??= gateway.now() - journey.started;
      if (event.type === "finish") {
        journey.entry.usage = event.usage;
        finished = true;
      } else if (event.type === "error") record(event.error, journey);
      else return;
      ending = true;
    },
  );
  const events = exchange.stored
    ? remembering(guarded, (response) => remember(response, exchange, messages, journey))
    : guarded;
  const first = events.next();
  const early = await Promise.race([first, silence(first, gateway.pace.headAfterMs)]);
  if (early?.value?.type === "error") throw early.value.error;

  if (!protocol.serializeStream) throw new GatewayError("unsupported", `"${protocol.name}" does not stream`);
  const frames = protocol.serializeStream(resume(first, events), exchange);
  let said = notes.size;
  return streamResponse(frames, {
    keepAlive: () => protocol.keepAlive?.(exchange.frames),
    keepAliveMs: gateway.pace.keepAliveMs,
    interject(): ServerSentEvent | undefined {
      if (!ending || said === notes.size) return undefined;
      const late = [...notes].slice(said);
      said = notes.size;
      return { comment: `notes: ${formatNotes(late)}` };
    },
    onLeave: journey.leave,
    onEnd() {
      // An SDK leaves with the last frame, before the connection ends.
      closeLog(journey, journey.hasLeft() && !finished ? clientClosed().status : 200);
      // A client may leave before the serializer has begun, which then would not end them.
      void events.return(undefined);
    },
  });
}

/** Nothing, after `ms`; cut short by what it waits for, so that no timer is left. */
async function silence(until: Promise<unknown>, ms: number): Promise<undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([until, new Promise((resolve) => timer = setTimeout(resolve, ms))]);
  clearTimeout(timer);
}

async function* resume(
  first: Promise<IteratorResult<GenerateEvent>>,
  rest: AsyncIterable<GenerateEvent>,
): AsyncGenerator<GenerateEvent> {
  const { done, value } = await first;
  if (done) return;
  yield value;
  yield* rest;
}

function ask<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  where: Resolution["targets"][number],
  journey: Journey,
): Ask<K> {
  const { gateway, signal, entry, notes } = journey;
  const upstream = gateway.upstreams.get(where.upstream);
  if (!upstream) throw new GatewayError("internal", `Upstream "${where.upstream}" is not configured`);
  entry.target = `${where.upstream}/${where.model}`;
  // What was changed for a target that failed does not hold for the next one.
  journey.notesBeforeTarget ??= notes.size;
  for (const note of [...notes].slice(journey.notesBeforeTarget)) notes.delete(note);
  const target: Target = { ...where, systemMessages: upstream.systemMessages };
  const readable = "messages" in input ? withoutForeignReasoning(input, entry.target, journey.note) : input;
  return { operation, input: readable, target, upstream, context: journey, fetch: gateway.fetch, signal, onDescribed };

  function onDescribed(): void {
    if (journey.notes.size > 0 && journey.request.headers.get("x-laneway-strict")?.toLowerCase() === "true") {
      const message = `Cannot serve the request as it is: ${formatNotes([...journey.notes])}`;
      throw new GatewayError("invalid_request", message);
    }
  }
}

function clientClosed(): GatewayError {
  return new GatewayError("client_closed", "The client closed the connection");
}

function record(error: GatewayError, { entry }: Journey): void {
  entry.error = error.code;
  entry.upstreamStatus = error.details.upstreamStatus;
  entry.cause = error.cause;
}

/** Headers of every answer, and the log entry of those that are whole. */
function finish(response: Response, journey: Journey): Response {
  const { request, notes, id, entry } = journey;
  // The name that each of the SDKs reads.
  for (const name of ["x-request-id", "request-id"]) response.headers.set(name, id);
  if (notes.size > 0) response.headers.set("x-laneway-notes", formatNotes([...notes]));
  const isStream = entry.stream && response.ok;
  if (!isStream && entry.status === undefined) closeLog(journey, response.status);
  return request.method === "HEAD" ? withoutBody(response) : response;
}

function closeLog({ gateway, started, entry, notes }: Journey, status: number): void {
  if (entry.status !== undefined) return;
  entry.status = status;
  gateway.log({
    ...entry as LogEntry,
    durationMs: gateway.now() - started,
    ...(notes.size > 0 && { notes: [...notes] }),
  });
}
