/** One request, step by step: match, admit, read, parse, recall, resolve, call, remember, serialize. */
import { hearForeign, noteForeign } from "./transforms/foreign.ts";
import { estimateInputsTokens } from "./canonical/embed.ts";
import type { GenerateEvent, GenerateResponse, Message } from "./canonical/generate.ts";
import { type Input, type ModelOperation, type OperationName, type Output, TASK_OF } from "./canonical/operations.ts";
import { repairCalls, repairResponse } from "./transforms/repair_calls.ts";
import type { ModelInfo, Task } from "./canonical/models.ts";
import { pairsOf } from "./canonical/rerank.ts";
import { sealReasoning, sealStream } from "./transforms/sealing.ts";
import type { StoredAnswer } from "./canonical/stored.ts";
import { estimateInputTokens, estimateTextTokens } from "./canonical/estimate.ts";
import { finish as finishWork, step } from "./util/work.ts";
import type { Exchange, WireRequest } from "./contract/context.ts";
import type { AnyProtocol, Protocol } from "./contract/protocol.ts";
import type { Peer } from "./platform/platform.ts";
import { GatewayError, toGatewayError } from "./errors.ts";
import type { Caller } from "./http/auth.ts";
import { checkHeaders } from "./http/headers.ts";
import { checkHost } from "./http/host.ts";
import { findLostPath, type LostPath } from "./http/lost_path.ts";
import { methodNotAllowed } from "./http/service.ts";
import { checkSize } from "./http/size.ts";
import { ask, roadAlong, wireOf } from "./journey/attempt.ts";
import { weighRelayed, withoutCarriedSecrets, withoutSecretsIn } from "./journey/carried.ts";
import { settle } from "./journey/charge.ts";
import { countExactly, estimateOf, learn } from "./journey/count.ts";
import { answerFailed, targetsThatRun, tellFailed, toolsNeeded } from "./journey/failed_tools.ts";
import { explainAll, wantsExplanation } from "./journey/explain.ts";
import type { Gateway } from "./journey/gateway.ts";
import { admit, begin, clientClosed, closeLog, finish, type Journey, record, shuttingDown } from "./journey/journey.ts";
import { recall, remember, remembering, sealingFor } from "./journey/memory.ts";
import { withoutSecrets } from "./journey/secrets.ts";
import { acceptSpeech, deliverSpeech, speechEvents, type SpeechUsage } from "./journey/speech.ts";
import { respondWithStream } from "./journey/stream.ts";
import { conversationKey, homeFirst } from "./routing/session_affinity.ts";
import { fits } from "./lanes/patterns.ts";
import { answerRoom, fit } from "./lanes/clamp.ts";
import type { Destination } from "./contract/destination.ts";
import type { Lane, Resolution } from "./lanes/lane.ts";
import { similarNames } from "./lanes/similar.ts";
import { preferFormat } from "./lanes/speech.ts";
import type { Ask } from "./upstream/call.ts";
import { answerInForm, streamInForm } from "./upstream/structured_output.ts";
import { firstAnswer, firstStream } from "./routing/failover.ts";
import { answer, stream } from "./upstream/run.ts";
import { speak } from "./upstream/speak.ts";

export async function handle(request: Request, peer: Peer | undefined, gateway: Gateway): Promise<Response> {
  const journey = begin(request, gateway);
  try {
    checkHost(request);
    const service = gateway.service(request);
    if (service) return service;
    const match = gateway.registry.match(request);
    const lost = match ? undefined : findLostPath(request, gateway.registry, gateway.lanes.keys());
    if (match ?? lost) journey.protocol = (match ?? lost)!.protocol;
    journey.entry.protocol = match?.protocol.name;
    checkHeaders(request.headers, gateway.limits.headerBytes);
    const caller = await gateway.authenticate(request, peer);
    journey.entry.key = caller.name;
    journey.caller = caller;
    journey.allowance = gateway.admission(caller)?.allowance;
    if (request.headers.get("upgrade")?.toLowerCase() === "websocket") {
      throw new GatewayError("upgrade_required", "The gateway does not serve WebSockets: use HTTP");
    }
    if (!match) throw notServed(request, lost, caller, gateway);
    const { protocol } = match;
    journey.clientWire = protocol.wire;
    const named = "lane" in match.params ? findLane(match.params.lane, caller.lanes, gateway) : undefined;
    journey.entry.lane = named?.name;
    if ("allow" in match) {
      await checkNamed(protocol, match.params, named, journey);
      throw methodNotAllowed(request.method, match.allow);
    }
    if (runsModel(protocol) && !wantsExplanation(request)) gateway.load.check(gateway.limits);
    const body = await readBody(protocol, journey).catch((thrown) => {
      // Deno (2.9.6) breaks off every body that is still on its way when its server is to shut down, or gives way to another.
      const isBrokenOff = gateway.draining.aborted || gateway.renewals() > journey.renewals;
      throw isBrokenOff && toGatewayError(thrown).code === "client_closed" ? shuttingDown() : thrown;
    });
    const query = new URL(request.url).searchParams;
    const wire = { body, headers: request.headers, params: match.params, query };
    const lane = named ?? laneOf(protocol, wire, caller.lanes, journey);
    journey.entry.lane = lane.name;
    const response = await perform(protocol, wire, lane, journey);
    return finish(response, journey);
  } catch (thrown) {
    const error = journey.hasLeft() ? clientClosed() : withoutSecrets(await explained(thrown, journey), journey);
    record(error, journey);
    const response = journey.protocol.serializeError(error, { requestId: journey.id });
    closeLog(journey, response.status);
    return finish(response, journey);
  }
}

/** What to ask instead, by the lanes that the caller may use. */
function notServed(request: Request, lost: LostPath | undefined, { lanes }: Caller, gateway: Gateway): GatewayError {
  const { pathname } = new URL(request.url);
  const known = [...gateway.lanes.keys()].filter((lane) => !lanes || lanes.includes(lane));
  const lane = known.find((one) => one === lost?.lane) ?? known[0];
  const hint = lost && lane !== undefined
    ? `: use "${lost.meant(lane)}". The lanes are ${known.map((one) => `"${one}"`).join(", ")}`
    : "";
  return new GatewayError("not_found", `Cannot find the path "${pathname}"${hint}`);
}

/** A model that its upstream does not know may be known for another task, by now: catalogs are not waited for beforehand. */
async function explained(thrown: unknown, journey: Journey): Promise<GatewayError> {
  const { explainRefusal, similarModels } = journey;
  // A secret that was cut at a message's end is known by standing there.
  const error = withoutSecrets(toGatewayError(thrown), journey);
  const { code, message, details } = error;
  const isRefused = code === "model_not_found" && details.upstreamStatus !== undefined;
  const reason = isRefused ? await explainRefusal?.() : undefined;
  if (reason) return reason;
  if (code !== "model_not_found" && !(code === "permission" && details.param === "model")) return error;
  const names = await similarModels?.() ?? [];
  if (names.length === 0) return error;
  const meant = names.map((name) => `"${name}"`).join(" or ");
  return new GatewayError(code, `${message.replace(/\.$/, "")}. Did you mean ${meant}?`, details);
}

/** The models that may have been meant: of the lane's, those that the caller may ask for. */
async function similarIn(lane: Lane, model: string, task: Task | undefined, { caller }: Journey): Promise<string[]> {
  const models = await lane.list(() => {});
  return similarNames(
    model,
    models.filter((one) => (!task || one.task === task) && mayAsk(one.id, caller)).map(({ id }) => id),
  );
}

function runsModel({ operation }: AnyProtocol): boolean {
  return operation !== "countTokens" && TASK_OF[operation] !== undefined;
}

async function readBody({ body }: AnyProtocol, journey: Journey): Promise<unknown> {
  const { request, gateway } = journey;
  switch (body) {
    case "none":
      return undefined;
    case "json": {
      const { body: value, release } = await gateway.uploads.readJson(request);
      journey.atEnd.push(release);
      return value;
    }
    case "form": {
      const { fields, release } = await gateway.uploads.read(request);
      journey.atEnd.push(release);
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

/** Throws `not_found` or `model_not_found` where there is not what the path names by its id. */
async function checkNamed(
  { operation }: AnyProtocol,
  { id }: Record<string, string | undefined>,
  lane: Lane | undefined,
  journey: Journey,
): Promise<void> {
  if (id === undefined) return;
  if (operation !== "getModel") await findResponse(id, journey);
  else if (lane) await findModel(id, lane, journey);
}

async function findModel(id: string, lane: Lane, journey: Journey): Promise<ModelInfo> {
  journey.entry.model = id;
  journey.similarModels = () => similarIn(lane, id, undefined, journey);
  await checkModel(id, lane, journey.caller);
  return await lane.get(id);
}

async function findResponse(id: string, { gateway, caller }: Journey): Promise<StoredAnswer> {
  const stored = await gateway.continuity.find(id, caller.owner);
  if (!stored) throw cannotFind(id);
  return stored;
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
      const models = (await lane.list(journey.note)).filter((model) =>
        (!task || model.task === task) && mayAsk(model.id, journey.caller)
      );
      return protocol.serialize(withoutSecretsIn(models, journey.hide), exchange);
    }
    case "getModel": {
      const input = protocol.parse(wire, journey);
      const model = withoutSecretsIn(await findModel(input.model, lane, journey), journey.hide);
      return protocol.serialize(model, openExchange(protocol, input, wire, journey));
    }
    case "generate": {
      const asked = await step(() => protocol.parse(wire, journey));
      journey.entry.stream = asked.stream;
      await checkSize(asked, gateway.limits);
      const { input, messages } = await recall(asked, journey);
      const resolved = await resolve(protocol, input.model, lane, journey);
      const all = await step(() => atHome(resolved, input, lane, journey));
      const needed = toolsNeeded(protocol, input, wire);
      const able = targetsThatRun(needed, all.targets, journey);
      if (able.length === 0) {
        const open = openExchange(protocol, input, wire, journey);
        const failed = protocol.failTools?.(needed, open);
        if (failed) {
          tellFailed(needed, journey);
          if (wantsExplanation(wire)) return explainAll("generate", input, [], journey);
          return await answerFailed(failed, protocol, open, messages, journey);
        }
      }
      const chosen = able.length === 0 ? all : { ...all, targets: able };
      if (input.relay) return relay(protocol, input.relay, input, wire, chosen, journey);
      const fitted = await step(() => fit(input, chosen, journey.note));
      const room = await step(() => answerRoom(fitted, chosen));
      const resolution = { ...chosen, targets: chosen.targets.map((target) => ({ ...target, answerRoom: room })) };
      const exchange = openExchange(protocol, fitted, wire, journey);
      if (wantsExplanation(wire)) return explainAll("generate", fitted, resolution.targets, journey);
      await admit(journey, await step(() => estimateOf(fitted)));
      if (!fitted.stream) return generateWhole(protocol, exchange, messages, resolution, journey);
      const attempt = (target: Destination, signal: AbortSignal) =>
        generateStream(ask("generate", fitted, target, journey, signal));
      const store = (response: GenerateResponse) => remember(response, exchange, messages, journey);
      const sealing = sealingFor(protocol, exchange, journey);
      const through = (events: AsyncGenerator<GenerateEvent>) => {
        const heard = hearForeign(events, protocol.wire, sealing !== undefined || exchange.stored, journey.note);
        const kept = exchange.stored ? remembering(heard, store) : heard;
        return sealing ? sealStream(kept, sealing) : kept;
      };
      const events = firstStream(roadAlong(resolution.targets, journey, resolution.hedgeAfterMs), attempt);
      return respondWithStream(protocol, exchange, events, journey, through);
    }
    case "countTokens": {
      const { input } = await recall(await step(() => protocol.parse(wire, journey)), journey);
      const resolution = atHome(await resolve(protocol, input.model, lane, journey), input, lane, journey);
      const [target] = resolution.targets;
      if (!target) throw new Error(`Model "${input.model}" has no target`);
      const fitted = await step(() => fitQuietly(input, resolution));
      const { inputTokens, by } = await countExactly(fitted, target, journey);
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
      await admit(journey, estimateTextTokens(input.text));
      const attempt = (target: Destination) => speak(ask("speak", input, target, journey));
      const start = async () => acceptSpeech(await firstAnswer(roadAlong(preferred, journey), attempt), journey);
      // No server says how many tokens its speech was; what it was made of is known.
      const usage: SpeechUsage = { inputTokens: estimateTextTokens(input.text), outputTokens: 0, estimated: true };
      if (input.stream) return respondWithStream(protocol, exchange, speechEvents(start, usage), journey);
      const speech = await start();
      settle(usage, () => 0, journey);
      return protocol.serialize(deliverSpeech(speech, journey), exchange);
    }
    case "transcribe": {
      const exchange = openExchange(protocol, protocol.parse(wire, journey), wire, journey);
      const { input } = exchange;
      const { targets } = await resolve(protocol, input.model, lane, journey);
      if (wantsExplanation(wire)) return explainAll("transcribe", input, targets, journey);
      await admit(journey, 0);
      if (!input.stream) {
        const output = await runWhole(protocol, exchange, targets, journey);
        const said = estimateTextTokens(output.text);
        if (output.usage && "inputTokens" in output.usage) settle(output.usage, () => said, journey);
        else journey.said = said;
        return protocol.serialize(output, exchange);
      }
      const attempt = (target: Destination, signal: AbortSignal) =>
        stream(ask("transcribe", input, target, journey, signal));
      const events = firstStream(roadAlong(targets, journey), attempt);
      return respondWithStream(protocol, exchange, events, journey);
    }
    case "getResponse": {
      const input = protocol.parse(wire, journey);
      const stored = await findResponse(input.id, journey);
      return protocol.serialize(stored, openExchange(protocol, input, wire, journey));
    }
    case "deleteResponse": {
      const input = protocol.parse(wire, journey);
      if (!await gateway.continuity.forget(input.id, journey.caller.owner)) throw cannotFind(input.id);
      return protocol.serialize(input, openExchange(protocol, input, wire, journey));
    }
    case "cancelResponse": {
      const { id } = protocol.parse(wire, journey);
      await findResponse(id, journey);
      throw new GatewayError("invalid_request", "Cannot cancel a response that was not made in the background");
    }
    default:
      return protocol satisfies never;
  }
}

/** As it would be asked for an answer. What would be refused then is counted as it is. */
function fitQuietly(input: Input<"countTokens">, resolution: Resolution): Input<"countTokens"> {
  try {
    return fit(input, resolution, () => {});
  } catch {
    return input;
  }
}

async function resolve<K extends OperationName>(
  protocol: Protocol<K>,
  model: string,
  lane: Lane,
  journey: Journey,
): Promise<Resolution> {
  journey.entry.model = model;
  journey.similarModels = () => similarIn(lane, model, TASK_OF[protocol.operation], journey);
  await checkModel(model, lane, journey.caller);
  journey.explainRefusal = () => lane.explainRefusal(model, protocol.operation);
  return await lane.resolve(model, protocol.operation);
}

function mayAsk(model: string, { models }: Caller): boolean {
  return models === undefined || fits(model, models);
}

/** By the name that is meant, so that no wish beside it opens or closes anything. */
async function checkModel(model: string, lane: Lane, caller: Caller): Promise<void> {
  if (caller.models === undefined || mayAsk(await lane.meant(model), caller)) return;
  throw new GatewayError("permission", `This key may not ask for model "${model}"`, { param: "model" });
}

/** The targets in the order in which this conversation asks them. One that has no choice needs no memory of its last one. */
function atHome(resolution: Resolution, input: Input<"generate">, lane: Lane, journey: Journey): Resolution {
  const { gateway, caller: { owner }, request } = journey;
  const { targets } = resolution;
  const policiesOf = (upstream: string) => gateway.upstreams.get(upstream)?.providers?.policies;
  if (targets.length < 2 && !targets.some(({ upstream }) => policiesOf(upstream))) return resolution;
  const scope = [owner, lane.name, input.model];
  journey.conversation = conversationKey(scope, input, request.headers, gateway.sessionHeaders);
  return { ...resolution, targets: homeFirst(targets, gateway.homes.of(journey.conversation), policiesOf) };
}

/** An operation whose answers come whole, and whose cost is what goes in. */
async function serveWhole<K extends "embed" | "rerank">(
  protocol: Protocol<K>,
  wire: WireRequest,
  lane: Lane,
  journey: Journey,
): Promise<Response> {
  const exchange = openExchange(protocol, await step(() => protocol.parse(wire, journey)), wire, journey);
  const { targets } = await resolve(protocol, exchange.input.model, lane, journey);
  if (wantsExplanation(wire)) return explainAll(protocol.operation, exchange.input, targets, journey);
  const { input } = exchange;
  const tokens = await step(() => estimateInputsTokens("documents" in input ? pairsOf(input) : input.input));
  await admit(journey, tokens);
  const output = await runWhole(protocol, exchange, targets, journey);
  settle({ ...output.usage, outputTokens: 0 }, () => 0, journey);
  return protocol.serialize(output, exchange);
}

function cannotFind(id: string): GatewayError {
  return new GatewayError("not_found", `Response with id '${id}' not found`, { param: "id" });
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
  const attempt = (target: Destination) => answer(ask(operation, input, target, journey));
  return withoutCarriedSecrets<K>(await firstAnswer(roadAlong(targets, journey), attempt), journey.hide);
}

function generateStream(asked: Ask<"generate">): AsyncIterable<GenerateEvent> {
  const events = streamInForm(asked);
  return asked.target.repairArguments ? repairCalls(events, asked.input, asked.context.note) : events;
}

async function generateAnswer(asked: Ask<"generate">): Promise<GenerateResponse> {
  const response = await answerInForm(asked);
  if (!asked.target.repairArguments) return response;
  return await finishWork(repairResponse(response, asked.input, asked.context.note));
}

async function generateWhole(
  protocol: Protocol<"generate">,
  exchange: Exchange<"generate">,
  messages: Message[],
  { targets }: Resolution,
  journey: Journey,
): Promise<Response> {
  const attempt = async (target: Destination) =>
    generateAnswer(await step(() => ask("generate", exchange.input, target, journey)));
  const answered = await firstAnswer(roadAlong(targets, journey), attempt);
  const output = await step(() => withoutCarriedSecrets<"generate">(answered, journey.hide));
  const said = () => estimateInputTokens({ messages: [{ role: "assistant", content: output.content }] });
  settle(output.usage, said, journey);
  learn(output.usage, journey);
  await remember(output, exchange, messages, journey);
  const sealing = sealingFor(protocol, exchange, journey);
  const isKept = sealing !== undefined || exchange.stored;
  const note = () =>
    [output, ...output.content].forEach((one) => noteForeign(one, protocol.wire, isKept, journey.note));
  await step(note);
  const content = sealing ? await sealReasoning(output.content, sealing) : output.content;
  return protocol.serialize({ ...output, content }, exchange);
}

/** A request that its own wire alone knows goes to the upstreams that speak it, and to no other. */
async function relay(
  protocol: Protocol<"generate">,
  input: Input<"relay">,
  conversation: Input<"generate">,
  wire: WireRequest,
  { targets }: Resolution,
  journey: Journey,
): Promise<Response> {
  const speaking = targets.filter((where) => wireOf(where, journey.gateway) === input.wire);
  if (speaking.length === 0 || !protocol.relay) {
    const message =
      `Cannot serve "${input.field}": no upstream of model "${input.model}" speaks the protocol that has it`;
    throw new GatewayError("invalid_request", message, { param: input.field });
  }
  const relayed: Protocol<"relay"> = {
    ...protocol,
    stream: undefined,
    ...protocol.relay,
    operation: "relay",
    parse: () => input,
  };
  const exchange = openExchange(relayed, input, wire, journey);
  if (wantsExplanation(wire)) return explainAll("relay", input, speaking, journey);
  await admit(journey, await step(() => estimateOf(conversation)));
  if (input.stream) {
    const attempt = (target: Destination, signal: AbortSignal) => stream(ask("relay", input, target, journey, signal));
    return respondWithStream(relayed, exchange, firstStream(roadAlong(speaking, journey), attempt), journey);
  }
  const output = await runWhole(relayed, exchange, speaking, journey);
  settle(output.usage ?? {}, () => weighRelayed(output.body), journey);
  return relayed.serialize(output, exchange);
}
