/** One request, step by step: match, admit, read, parse, recall, resolve, call, remember, serialize. */
import type { Speech, SpeechEvent } from "./canonical/audio.ts";
import { Collector } from "./canonical/collect.ts";
import { hearForeign, noteForeign } from "./canonical/foreign.ts";
import type { GenerateEvent, GenerateResponse, Message, Usage } from "./canonical/generate.ts";
import { withoutForeignReasoning } from "./canonical/reasoning.ts";
import { holdsSealed, openReasoning, type Sealing, sealReasoning, sealStream } from "./canonical/sealing.ts";
import { repairCalls, repairResponse } from "./canonical/repair_calls.ts";
import type { JsonValue } from "./canonical/json.ts";
import {
  type Input,
  type ModelOperation,
  type OperationName,
  type Output,
  type StreamEvent,
  TASK_OF,
} from "./canonical/operations.ts";
import { withUpstreamNames } from "./canonical/tool_names.ts";
import {
  type Count,
  type CountedBy,
  countFiles,
  estimateInputTokens,
  estimateTextTokens,
  TOKENS_PER_FILE,
} from "./canonical/usage.ts";
import type { AnswerContext, Context, Exchange, WireRequest } from "./contract/context.ts";
import type { Driver, Target } from "./contract/driver.ts";
import type { ServerSentEvent } from "./contract/frame.ts";
import type { AnyProtocol, Protocol } from "./contract/protocol.ts";
import type { Registry } from "./contract/registry.ts";
import { GatewayError, toGatewayError } from "./errors.ts";
import type { Authenticate } from "./http/auth.ts";
import { type BodyLimits, readJsonBody } from "./http/body.ts";
import { checkHeaders } from "./http/headers.ts";
import { formatNotes } from "./http/notes.ts";
import { passOn, streamResponse, withoutBody } from "./http/respond.ts";
import { methodNotAllowed, type Service } from "./http/service.ts";
import type { Uploads } from "./http/uploads.ts";
import { conversationKey, homeFirst, type Homes, targetName } from "./lanes/affinity.ts";
import { fit } from "./lanes/fit.ts";
import type { Destination, Lane, Resolution } from "./lanes/lane.ts";
import { preferFormat } from "./lanes/speech.ts";
import type { LogEntry } from "./observe/log.ts";
import type { Continuity, Recalled } from "./state/continuity.ts";
import type { LoadedSealer, Sealer } from "./state/seal.ts";
import type { Calibration } from "./tokens/calibration.ts";
import type { ExactCounts } from "./tokens/exact.ts";
import type { Tokenizers } from "./tokens/tokenizers.ts";
import type { Ask } from "./upstream/call.ts";
import { explain } from "./upstream/explain.ts";
import { answerInForm, streamInForm } from "./upstream/form.ts";
import { guard } from "./upstream/guard.ts";
import { type Fate, firstAnswer, firstStream } from "./upstream/retry.ts";
import { answer, stream } from "./upstream/run.ts";
import type { Fetch, Upstream } from "./upstream/send.ts";
import { speak } from "./upstream/speak.ts";

/** All that a request's journey needs; made once, by `app.ts`. */
export interface Gateway {
  /** What operators ask, apart from every lane. */
  service: Service;
  registry: Registry;
  lanes: ReadonlyMap<string, Lane>;
  /** Where conversations were answered last. */
  homes: Homes;
  /** In which clients of any protocol say which conversation a request belongs to. */
  sessionHeaders: readonly string[];
  upstreams: ReadonlyMap<string, Upstream>;
  /** By name; for the places behind an upstream, which may speak otherwise than it does. */
  drivers: ReadonlyMap<string, Driver>;
  authenticate: Authenticate;
  continuity: Continuity;
  sealer(): Promise<LoadedSealer>;
  calibration: Calibration;
  /** What upstreams counted. */
  upstreamCounts: ExactCounts;
  /** What was counted by models' own vocabularies. */
  tokenizerCounts: ExactCounts;
  tokenizers: Tokenizers;
  bodyLimits: BodyLimits;
  uploads: Uploads;
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
  /** What tells its conversation from others, where it matters which target answers it. */
  conversation?: string;
  /** Whether the target of the entry has begun to answer. */
  begun?: true;
  /** Each once, in order. */
  notes: Set<string>;
  /** What the target that was asked last is asked, in tokens; nothing where it is no conversation. */
  counted?: Counted;
  /** Who counted the tokens that the answer's beginning tells. */
  countedBy?: CountedBy;
  notesBeforeTarget?: number;
  /** Aborted when the client is gone or the gateway stops: nobody waits for the answer any more. */
  signal: AbortSignal;
  leave(): void;
  hasLeft(): boolean;
  /** Gives back the memory that is set aside for what the client sent; called once, at the end. */
  release(): void;
}

/** A conversation's tokens as the gateway counts them for one target. */
interface Counted extends Count {
  /** By the length of its texts alone. */
  estimate: number;
  /** Whether all of it is text: what a picture costs says nothing of the rest. */
  isText: boolean;
  /** Whether the upstream's answer was read with it. */
  used: boolean;
}

/** How long an upstream may count, in milliseconds. */
const COUNT_MS = 2_000;

/** A request full of things to leave out must not fill the log with them. */
const MOST_NOTES = 100;
const LONGEST_NOTE = 200;

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
    journey.clientWire = protocol.name;
    const named = "lane" in match.params ? findLane(match.params.lane, caller.lanes, gateway) : undefined;
    journey.entry.lane = named?.name;
    const body = await readBody(protocol, journey);
    const query = new URL(request.url).searchParams;
    const wire = { body, headers: request.headers, params: match.params, query };
    const lane = named ?? laneOf(protocol, wire, caller.lanes, journey);
    journey.entry.lane = lane.name;
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
    note: (text) => void (notes.size < MOST_NOTES && notes.add(text.slice(0, LONGEST_NOTE))),
    signal: AbortSignal.any([request.signal, left.signal, gateway.signal]),
    leave: () => left.abort(clientClosed()),
    hasLeft: () => request.signal.aborted || left.signal.aborted,
    release: () => {},
  };
}

async function readBody({ body }: AnyProtocol, journey: Journey): Promise<unknown> {
  const { request, gateway } = journey;
  switch (body) {
    case "none":
      return undefined;
    case "json":
      return await readJsonBody(request, gateway.bodyLimits);
    case "form": {
      const { fields, release } = await gateway.uploads.read(request);
      journey.release = release;
      return fields;
    }
    default:
      return body satisfies never;
  }
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

/** The lane of a request whose path names none: the one whose own model it asks for, else one that takes any. */
function laneOf(
  protocol: AnyProtocol,
  wire: WireRequest,
  opened: readonly string[] | undefined,
  journey: Journey,
): Lane {
  const input = protocol.parse(wire, journey);
  const model = "model" in input ? input.model : "";
  const task = TASK_OF[protocol.operation] ?? "chat";
  const all = [...journey.gateway.lanes.values()];
  const own = all.filter((lane) => lane.takes(model, task) === "own");
  const fitting = own.length > 0 ? own : all.filter((lane) => lane.takes(model, task) === "any");
  if (fitting.length === 0) {
    throw new GatewayError("model_not_found", `Cannot find model "${model}" in any lane`, { param: "model" });
  }
  const lane = fitting.find(({ name }) => !opened || opened.includes(name));
  if (!lane) throw new GatewayError("permission", `This key opens no lane that may have model "${model}"`);
  return lane;
}

/** Parses what came in and answers it: the lane what is its own to know, an upstream the rest. */
async function perform(protocol: AnyProtocol, wire: WireRequest, lane: Lane, journey: Journey): Promise<Response> {
  const { gateway } = journey;
  switch (protocol.operation) {
    case "listModels": {
      const exchange = openExchange(protocol, protocol.parse(wire, journey), wire, journey);
      const { task } = exchange.input;
      const models = await lane.list(journey.note);
      return protocol.serialize(task ? models.filter((model) => model.task === task) : models, exchange);
    }
    case "getModel": {
      const input = protocol.parse(wire, journey);
      journey.entry.model = input.model;
      return protocol.serialize(await lane.get(input.model), openExchange(protocol, input, wire, journey));
    }
    case "generate": {
      const asked = protocol.parse(wire, journey);
      journey.entry.stream = asked.stream;
      const { input, messages } = await recall(asked, journey);
      const resolution = atHome(await resolve(protocol, input.model, lane, journey), input, lane, journey);
      if (input.relay) return relay(protocol, input.relay, wire, resolution, journey);
      const fitted = fit(input, resolution, journey.note);
      const exchange = openExchange(protocol, fitted, wire, journey);
      if (wantsExplanation(wire)) return explainAll("generate", fitted, resolution.targets, journey);
      if (!fitted.stream) return generateWhole(protocol, exchange, messages, resolution, journey);
      const attempt = (target: Destination) => generateStream(ask("generate", fitted, target, journey));
      const store = (response: GenerateResponse) => remember(response, exchange, messages, journey);
      const sealing = sealingFor(protocol, exchange, journey);
      const through = (events: AsyncGenerator<GenerateEvent>) => {
        const heard = hearForeign(events, protocol.name, sealing !== undefined, journey.note);
        const kept = exchange.stored ? remembering(heard, store) : heard;
        return sealing ? sealStream(kept, sealing) : kept;
      };
      const events = firstStream(resolution.targets, attempt, fateIn(journey));
      return respondWithStream(protocol, exchange, events, journey, through);
    }
    case "countTokens": {
      const { input } = await recall(protocol.parse(wire, journey), journey);
      const { targets: [target] } = await resolve(protocol, input.model, lane, journey);
      if (!target) throw new Error(`Model "${input.model}" has no target`);
      const { inputTokens, by } = await countExactly(input, target, journey);
      journey.countedBy = by;
      return protocol.serialize({ inputTokens }, openExchange(protocol, input, wire, journey));
    }
    case "embed":
    case "rerank":
      return serveWhole(protocol, wire, lane, journey);
    case "speak": {
      const exchange = openExchange(protocol, protocol.parse(wire, journey), wire, journey);
      const { input } = exchange;
      const { targets } = await resolve(protocol, input.model, lane, journey);
      const preferred = preferFormat(targets, input.format);
      if (wantsExplanation(wire)) return explainAll("speak", input, preferred, journey);
      const attempt = (target: Destination) => speak(ask("speak", input, target, journey));
      const start = async () => admit(await firstAnswer(preferred, attempt, fateIn(journey)), journey);
      // No server says how many tokens its speech was; what it was made of is known.
      const usage: SpeechUsage = { inputTokens: estimateTextTokens(input.text), outputTokens: 0, estimated: true };
      journey.entry.usage = usage;
      if (input.stream) return respondWithStream(protocol, exchange, toEvents(start, usage), journey);
      return protocol.serialize(deliver(await start(), journey), exchange);
    }
    case "transcribe": {
      const exchange = openExchange(protocol, protocol.parse(wire, journey), wire, journey);
      const { input } = exchange;
      const { targets } = await resolve(protocol, input.model, lane, journey);
      if (wantsExplanation(wire)) return explainAll("transcribe", input, targets, journey);
      if (!input.stream) {
        const output = await runWhole(protocol, exchange, targets, journey);
        if (output.usage && "inputTokens" in output.usage) journey.entry.usage = output.usage;
        return protocol.serialize(output, exchange);
      }
      const attempt = (target: Destination) => stream(ask("transcribe", input, target, journey));
      const events = firstStream(targets, attempt, fateIn(journey));
      return respondWithStream(protocol, exchange, events, journey);
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

function resolve<K extends OperationName>(
  protocol: Protocol<K>,
  model: string,
  lane: Lane,
  journey: Journey,
): Promise<Resolution> {
  journey.entry.model = model;
  return lane.resolve(model, protocol.operation);
}

/** The targets in the order in which this conversation asks them. One that has no choice needs no memory of its last one. */
function atHome(resolution: Resolution, input: Input<"generate">, lane: Lane, journey: Journey): Resolution {
  const { gateway, owner, request } = journey;
  const { targets } = resolution;
  const policiesOf = (upstream: string) => gateway.upstreams.get(upstream)?.providers?.policies;
  if (targets.length < 2 && !targets.some(({ upstream }) => policiesOf(upstream))) return resolution;
  const scope = [owner, lane.name, input.model];
  journey.conversation = conversationKey(scope, input, request.headers, gateway.sessionHeaders);
  return { ...resolution, targets: homeFirst(targets, gateway.homes.of(journey.conversation), policiesOf) };
}

/** Who answers is remembered for the conversation; who fails is not asked first again. */
function fateIn(journey: Journey): Fate<Destination> {
  const { gateway: { homes }, entry, conversation } = journey;
  return {
    onServed(where) {
      journey.begun = true;
      if (conversation === undefined) return;
      homes.keep(conversation, { target: targetName(where), provider: entry.provider });
    },
    onFailed(where) {
      if (conversation !== undefined) homes.forget(conversation, targetName(where));
    },
  };
}

/** An operation whose answers come whole, and whose cost is what goes in. */
async function serveWhole<K extends "embed" | "rerank">(
  protocol: Protocol<K>,
  wire: WireRequest,
  lane: Lane,
  journey: Journey,
): Promise<Response> {
  const exchange = openExchange(protocol, protocol.parse(wire, journey), wire, journey);
  const { targets } = await resolve(protocol, exchange.input.model, lane, journey);
  if (wantsExplanation(wire)) return explainAll(protocol.operation, exchange.input, targets, journey);
  const output = await runWhole(protocol, exchange, targets, journey);
  journey.entry.usage = { ...output.usage, outputTokens: 0 };
  return protocol.serialize(output, exchange);
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

async function runWhole<K extends ModelOperation>(
  { operation }: Protocol<K>,
  { input }: Exchange<K>,
  targets: readonly Destination[],
  journey: Journey,
): Promise<Output<K>> {
  return await firstAnswer(targets, (target) => answer(ask(operation, input, target, journey)), fateIn(journey));
}

function generateStream(asked: Ask<"generate">): AsyncIterable<GenerateEvent> {
  const events = streamInForm(asked);
  return asked.target.repairArguments ? repairCalls(events, asked.input, asked.context.note) : events;
}

async function generateAnswer(asked: Ask<"generate">): Promise<GenerateResponse> {
  const response = await answerInForm(asked);
  return asked.target.repairArguments ? repairResponse(response, asked.input, asked.context.note) : response;
}

async function generateWhole(
  protocol: Protocol<"generate">,
  exchange: Exchange<"generate">,
  messages: Message[],
  { targets }: Resolution,
  journey: Journey,
): Promise<Response> {
  const attempt = (target: Destination) => generateAnswer(ask("generate", exchange.input, target, journey));
  const output = await firstAnswer(targets, attempt, fateIn(journey));
  journey.entry.usage = output.usage;
  learn(output.usage, journey);
  await remember(output, exchange, messages, journey);
  const sealing = sealingFor(protocol, exchange, journey);
  for (const told of [output, ...output.content]) noteForeign(told, protocol.name, sealing !== undefined, journey.note);
  const content = sealing ? await sealReasoning(output.content, sealing) : output.content;
  return protocol.serialize({ ...output, content }, exchange);
}

/** The request with all that it builds on, from the gateway's memory and out of what the client keeps sealed. */
async function recall(asked: Input<"generate">, journey: Journey): Promise<Recalled> {
  const { input, messages } = await journey.gateway.continuity.recall(asked, journey.owner);
  if (!holdsSealed(input.messages)) return { input, messages };
  const sealer = await sealerFor(journey);
  const open = (sealed: Message[]) =>
    openReasoning(sealed, ({ data, origin }) => sealer.open(data, origin, journey.owner), journey.note);
  return { input: { ...input, messages: open(input.messages) }, messages: open(messages) };
}

/** How the answer's reasoning is sealed, where the protocol has a place for that. */
function sealingFor(
  { reasoning }: Protocol<"generate">,
  { wire }: Exchange<"generate">,
  journey: Journey,
): Sealing | undefined {
  const place = reasoning?.(wire);
  const { entry, owner, clientWire } = journey;
  return place && {
    ...place,
    wire: clientWire,
    async seal({ opaque, ...thought }) {
      const sealer = await sealerFor(journey);
      const bound = opaque && { opaque: { ...opaque, target: entry.target } };
      return sealer.seal({ ...thought, ...bound }, clientWire, owner);
    },
  };
}

/** Without the store's key, what is sealed opens until this process ends: the log says why. */
async function sealerFor({ gateway, entry }: Journey): Promise<Sealer> {
  const { sealer, failure } = await gateway.sealer();
  if (failure !== undefined) entry.cause ??= failure;
  return sealer;
}

/** A request that its own wire alone knows goes to the upstreams that speak it, and to no other. */
async function relay(
  protocol: Protocol<"generate">,
  input: Input<"relay">,
  wire: WireRequest,
  { targets }: Resolution,
  journey: Journey,
): Promise<Response> {
  const speaking = targets.filter((where) => upstreamOf(where, journey.gateway).driver.name === input.wire);
  if (speaking.length === 0 || !protocol.relay) {
    const message =
      `Cannot serve "${input.field}": no upstream of model "${input.model}" speaks the protocol that has it`;
    throw new GatewayError("invalid_request", message, { param: input.field });
  }
  const relayed: Protocol<"relay"> = { ...protocol, ...protocol.relay, operation: "relay", parse: () => input };
  const exchange = openExchange(relayed, input, wire, journey);
  if (wantsExplanation(wire)) return explainAll("relay", input, speaking, journey);
  if (input.stream) {
    const attempt = (target: Destination) => stream(ask("relay", input, target, journey));
    return respondWithStream(relayed, exchange, firstStream(speaking, attempt, fateIn(journey)), journey);
  }
  const output = await runWhole(relayed, exchange, speaking, journey);
  journey.entry.usage = output.usage;
  return relayed.serialize(output, exchange);
}

/** Speech that is not what was wanted is refused where the client is strict. */
function admit(speech: Speech, journey: Journey): Speech {
  try {
    refuseIfStrict(journey);
    return speech;
  } catch (refusal) {
    if (speech.audio instanceof ReadableStream) speech.audio.cancel().catch(() => {}); // nobody hears it any more
    throw refusal;
  }
}

/** What comes as the upstream makes it goes out so, and its log entry waits for the end. */
function deliver(speech: Speech, journey: Journey): Speech {
  const { audio } = speech;
  if (!(audio instanceof ReadableStream)) return speech;
  journey.entry.firstEventMs = journey.gateway.now() - journey.started;
  journey.entry.stream = true;
  return {
    ...speech,
    audio: passOn(audio, {
      onLeave: journey.leave,
      onFailure: (thrown) => record(toGatewayError(thrown), journey),
      onEnd: () => closeLog(journey, journey.hasLeft() ? clientClosed().status : 200),
    }),
  };
}

type SpeechUsage = Extract<SpeechEvent, { type: "finish" }>["usage"];

async function* toEvents(start: () => Promise<Speech>, usage: SpeechUsage): AsyncGenerator<SpeechEvent> {
  const { audio } = await start();
  if (audio instanceof Uint8Array) yield { type: "audio", bytes: audio };
  else for await (const bytes of audio) yield { type: "audio", bytes };
  yield { type: "finish", usage };
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

/** The operations whose answers can be told step by step. */
type Streamed = "generate" | "relay" | "speak" | "transcribe";

/**
 * The commit point of a stream: its head goes out with the upstream's first event, so that a failure before it has a proper
 * status; an upstream that is silent for long is not waited for, because proxies and clients give up on a silent gateway.
 */
async function respondWithStream<K extends Streamed>(
  protocol: Protocol<K>,
  exchange: Exchange<K>,
  told: AsyncIterable<StreamEvent<K>>,
  journey: Journey,
  through = (events: AsyncGenerator<StreamEvent<K>>): AsyncGenerator<StreamEvent<K>> => events,
): Promise<Response> {
  const { gateway, notes, entry } = journey;
  entry.stream = true;
  let ending = false;
  let finished = false;
  const guarded = guard(told, (event) => {
    if (event.type !== "error") {
      entry.firstEventMs ??= gateway.now() - journey.started;
      journey.begun = true;
    }
    if (event.type === "finish") {
      if ("usage" in event) {
        entry.usage = event.usage;
        learn(event.usage, journey);
      }
      finished = true;
    } else if (event.type === "start") journey.countedBy = journey.counted?.used ? journey.counted.by : "upstream";
    else if (event.type === "error") record(event.error, journey);
    else return;
    ending = true;
  });
  const events = through(guarded);
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

async function* resume<E>(first: Promise<IteratorResult<E>>, rest: AsyncIterable<E>): AsyncGenerator<E> {
  const { done, value } = await first;
  if (done) return;
  yield value;
  yield* rest;
}

function ask<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  where: Destination,
  journey: Journey,
): Ask<K> {
  const { gateway, signal, entry, notes } = journey;
  const upstream = upstreamOf(where, gateway);
  entry.target = targetName(where);
  delete entry.provider;
  // What was changed for a target that failed does not hold for the next one.
  journey.notesBeforeTarget ??= notes.size;
  for (const note of [...notes].slice(journey.notesBeforeTarget)) notes.delete(note);
  const target: Target = { ...upstream.quirks, ...where, model: where.pinned ?? where.model };
  const readable = "messages" in input ? withoutForeignReasoning(input, entry.target, journey.note) : input;
  const counted = "messages" in readable ? count(readable, entry.target, gateway) : undefined;
  journey.counted = counted;
  const context: AnswerContext = {
    clientWire: journey.clientWire,
    note: journey.note,
    get inputTokens() {
      if (!counted) return 0;
      counted.used = true;
      return counted.inputTokens;
    },
  };
  const { fetch } = gateway;
  const onDescribed = () => refuseIfStrict(journey);
  const onHead = (headers: Headers) => {
    const provider = providerIn(headers, upstream);
    if (provider !== undefined) entry.provider = provider;
  };
  return { operation, input: readable, target, upstream, context, fetch, signal, onDescribed, onHead };
}

/** Who served, as an upstream that chooses among providers says it: an id, and nothing that would not fit into a model's name. */
function providerIn(headers: Headers, { providers }: Upstream): string | undefined {
  const provider = providers && headers.get(providers.servedBy);
  return provider && /^[\w.-]{1,64}$/.test(provider) ? provider : undefined;
}

/** At once. A client that had the same conversation counted a moment ago is told the same. */
function count(input: Input<"countTokens">, target: string, gateway: Gateway): Counted {
  const estimate = estimateInputTokens(input);
  return { ...countKnown(input, target, estimate, gateway), estimate, isText: countFiles(input) === 0, used: false };
}

function countKnown(
  input: Input<"countTokens">,
  target: string,
  estimate: number,
  { calibration, upstreamCounts, tokenizerCounts }: Gateway,
): Count {
  const text = () => textOf(input);
  const byUpstream = upstreamCounts.known(target, text);
  if (byUpstream !== undefined) return { inputTokens: byUpstream, by: "upstream" };
  const byTokenizer = tokenizerCounts.known(target, text);
  if (byTokenizer !== undefined) return { inputTokens: byTokenizer, by: "tokenizer" };
  return calibration.count(target, estimate);
}

/** What of a request goes into its count. */
function textOf({ messages, tools, toolChoice, outputSchema, thinking }: Input<"countTokens">): JsonValue {
  return [messages, tools, toolChoice, outputSchema, thinking] as JsonValue;
}

/** As exactly as it can be had soon. Nothing that goes wrong on the way costs the client its count. */
async function countExactly(input: Input<"countTokens">, where: Destination, journey: Journey): Promise<Count> {
  const { gateway } = journey;
  // What of the request an upstream could not be told is no news to a client that only counts, and many counts ask nobody.
  const quiet = { ...journey, entry: { ...journey.entry }, note: () => {} };
  const asked = { ...ask("countTokens", input, where, quiet), signal: gateway.signal, onDescribed: () => {} };
  const place = targetName(where);
  const text = textOf(asked.input);
  const learnt = (inputTokens: number, by: CountedBy): Count => {
    learn({ inputTokens, outputTokens: 0 }, quiet);
    return { inputTokens, by };
  };
  if (asked.target.counter) {
    const told = await gateway.upstreamCounts.of(place, text, () => askForCount(asked));
    journey.entry.target = place;
    if (told !== undefined) return learnt(told, "upstream");
  }
  const tokenize = countByTokenizer(asked, gateway.tokenizers);
  const counted = tokenize && await gateway.tokenizerCounts.of(place, text, tokenize);
  if (counted !== undefined) return learnt(counted, "tokenizer");
  return quiet.counted ?? count(asked.input, place, gateway);
}

async function askForCount(asked: Ask<"countTokens">): Promise<number> {
  const timeouts = { ...asked.upstream.timeouts, wholeMs: COUNT_MS };
  return (await answer({ ...asked, upstream: { ...asked.upstream, timeouts } })).inputTokens;
}

/** How the model itself would count, where its tokenizer can be had. What a picture costs stands in no template. */
function countByTokenizer(
  { input, target, upstream, context }: Ask<"countTokens">,
  tokenizers: Tokenizers,
): (() => Promise<number>) | undefined {
  const { tokenizers: service, driver } = upstream;
  if (service === undefined || !driver.prompt) return undefined;
  return async () => {
    const prompt = driver.prompt!(withUpstreamNames(input), target, context);
    return await tokenizers.count(service, target.model, prompt) + countFiles(input) * TOKENS_PER_FILE;
  };
}

/** What an upstream counted makes the next counts of the same model better. */
function learn(usage: Usage | undefined, { gateway, entry, counted }: Journey): void {
  if (!usage || usage.estimated || !counted?.isText || entry.target === undefined) return;
  gateway.calibration.learn(entry.target, counted.estimate, usage.inputTokens);
}

/** The upstream, spoken to as the place behind it is. */
function upstreamOf(
  { upstream: name, driver: spoken, path, guessed, pinned }: Destination,
  { upstreams, drivers }: Gateway,
): Upstream {
  const upstream = upstreams.get(name);
  const driver = spoken === undefined ? upstream?.driver : drivers.get(spoken);
  if (!upstream || !driver) throw new GatewayError("internal", `Upstream "${name}" is not configured`);
  if (pinned !== undefined) return { ...upstream, driver: lenient(driver) };
  if (path === undefined) return upstream;
  return { ...upstream, driver: guessed ? unsure(driver) : driver, baseUrl: `${upstream.baseUrl}/${path}` };
}

/** Of a place that was only guessed, "no such model" says nothing of the model. */
function unsure(driver: Driver): Driver {
  return {
    ...driver,
    parseError(reply) {
      const error = driver.parseError(reply);
      if (error.code !== "model_not_found") return error;
      const message = "Cannot find out where the model is: the catalog does not answer, and it is not where most are";
      return new GatewayError("unavailable", message, error.details);
    },
  };
}

/** What one provider refuses may be well with another one. */
function lenient(driver: Driver): Driver {
  return {
    ...driver,
    parseError(reply) {
      const { code, message, details } = driver.parseError(reply);
      return new GatewayError(code, message, { ...details, elsewhere: true });
    },
  };
}

function refuseIfStrict({ notes, request }: Journey): void {
  if (notes.size > 0 && request.headers.get("x-laneway-strict")?.toLowerCase() === "true") {
    const message = `Cannot serve the request as it is: ${formatNotes([...notes])}`;
    throw new GatewayError("invalid_request", message, { elsewhere: true });
  }
}

function wantsExplanation({ headers }: WireRequest): boolean {
  return headers.get("x-laneway-explain")?.toLowerCase() === "true";
}

/** What a request would become: its targets in their order, each with the calls that it would get and what they leave out. */
function explainAll<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  targets: readonly Destination[],
  journey: Journey,
): Response {
  const { entry, notes } = journey;
  entry.stream = false;
  const told = targets.map((where) => {
    const asked = { ...ask(operation, input, where, journey), onDescribed: () => {} };
    return { ...explain(asked), target: entry.target, notes: [...notes] };
  });
  return Response.json({ object: "explanation", operation, lane: entry.lane, model: input.model, targets: told });
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
  const { request, notes, id, entry, begun, countedBy } = journey;
  // The name that each of the SDKs reads.
  for (const name of ["x-request-id", "request-id"]) response.headers.set(name, id);
  if (notes.size > 0) response.headers.set("x-laneway-notes", formatNotes([...notes]));
  if (begun && response.ok) response.headers.set("x-laneway-target", formatNotes([whoAnswers(entry)]));
  if (countedBy && response.ok) response.headers.set("x-laneway-tokens", countedBy);
  const isStream = entry.stream && response.ok;
  if (!isStream && entry.status === undefined) closeLog(journey, response.status);
  return request.method === "HEAD" ? withoutBody(response) : response;
}

/** The target, and whom it chose to serve. */
function whoAnswers({ target = "", provider }: Partial<LogEntry>): string {
  return provider === undefined ? target : `${target}; provider=${provider}`;
}

function closeLog({ gateway, started, entry, notes, release }: Journey, status: number): void {
  if (entry.status !== undefined) return;
  entry.status = status;
  release();
  gateway.log({
    ...entry as LogEntry,
    durationMs: gateway.now() - started,
    ...(notes.size > 0 && { notes: [...notes] }),
  });
}
