/** Goes on with an answer that broke off after the client had seen some of it. Loaded with the first one that does. */
import type { GenerateEvent, GenerateRequest, OutputPart } from "../canonical/generate.ts";
import type { Usage } from "../canonical/usage.ts";
import type { Prefill, Target } from "../contract/driver.ts";
import { type PlannedTarget, targetName } from "../contract/planned_target.ts";
import { isFailure, toGatewayError } from "../errors.ts";
import { firstStream } from "../routing/first_stream.ts";
import { transformed } from "../transforms/apply.ts";
import { JoinedRest } from "../transforms/continuation.ts";
import { cutText, DirectSeam, QuotedSeam, RepeatedSeam, type Seam } from "../transforms/seam.ts";
import {
  type Continuing,
  continuingOf,
  forOtherTarget,
  type Shown,
  withRequestToGoOn,
  withUnfinishedTurn,
} from "../transforms/unfinished_answer.ts";
import { placeOf } from "../upstream/attempt.ts";
import { UNFINISHED } from "../upstream/call_fields.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { EventSource } from "../util/event_source.ts";
import { CHARACTERS_PER_TOKEN } from "./counting.ts";
import { withTurnsOf } from "./facts.ts";
import type { BrokenAnswer } from "./inference.ts";

/** The most continuations of one request. */
const MOST = 2;

/** How an answer goes on, and where. */
interface GoingOn {
  /** For an answer that is as much shorter as was seen. */
  request: GenerateRequest;
  continuing: Continuing;
  ways: readonly Way[];
}

/** How the answer goes on, or why it cannot: for the log. */
function goingOnFrom(answer: BrokenAnswer, request: GenerateRequest): GoingOn | string {
  const { asking: { context: { requestLog, signal } }, shown } = answer;
  if (signal.aborted) return "nobody waits for it";
  if (requestLog.continued >= MOST) return `it went on ${MOST} times`;
  if (requestLog.areCallsSpent()) return "it took all calls that it may take";
  const { protocol, exchange } = answer.asking;
  const continuing = continuingOf(shown, request, protocol.reasoning?.(exchange.wire)?.hidden === true);
  if (typeof continuing === "string") return continuing;
  // A complete call may be running already.
  if (continuing.calls.length > 0 && answer.asking.hosted) return "the gateway runs a tool of it";
  const rest = shortened(request, shown);
  if (!rest) return "it has as many tokens as it may";
  const ways = waysOf(answer, rest, continuing);
  return ways.length === 0 ? "no target continues answers" : { request: rest, continuing, ways };
}

/** Whether the answer could go on if it broke off now. */
export function canGoOn(answer: BrokenAnswer, request: GenerateRequest): boolean {
  return typeof goingOnFrom(answer, request) !== "string";
}

/** The rest of the answer. Throws the failure that broke it off if it cannot go on. */
export async function continueAnswer(
  answer: BrokenAnswer,
  request: GenerateRequest,
  thrown: unknown,
): Promise<EventSource<GenerateEvent>> {
  const { requestLog, gateway: { observe: { meter } }, signal } = answer.asking.context;
  const { code: reason } = toGatewayError(thrown);
  const count = (outcome: "continued" | "failed" | "refused") =>
    meter?.count({ type: "continuation", reason, outcome });
  for (let failure = thrown; isBreak(failure) && !signal.aborted;) {
    const goingOn = goingOnFrom(answer, request);
    if (typeof goingOn === "string") {
      requestLog.explain(new Error(`The answer cannot go on: ${goingOn}`, { cause: failure }));
      if (failure === thrown) count("refused");
      break;
    }
    try {
      const rest = await begin(answer, goingOn, thrown);
      count("continued");
      return rest;
    } catch (again) {
      // An answer whose client left has not failed.
      if (!signal.aborted) count("failed");
      failure = again;
    }
  }
  throw thrown;
}

/** Asks for the rest, and waits for its first new event. */
async function begin(
  answer: BrokenAnswer,
  goingOn: GoingOn,
  thrown: unknown,
): Promise<EventSource<GenerateEvent>> {
  const { asking: { context: { requestLog, note } }, shown, served } = answer;
  const before = requestLog.attempt;
  requestLog.continued++;
  requestLog.capture?.event("broke off", targetName(served), toGatewayError(thrown).code);
  const rest = restFrom(answer, goingOn);
  try {
    const first = await rest.next();
    const target = requestLog.attempt?.target;
    note(`continued at ${target} after ${lengthOf(shown.content)} characters: ${wordsFor(thrown)}`);
    return resumed(first, rest);
  } catch (failure) {
    requestLog.attempt = before;
    requestLog.explain(failure);
    throw failure;
  }
}

/** Whether the upstream failed in a way that says nothing about the request. */
function isBreak(thrown: unknown): boolean {
  const { details } = toGatewayError(thrown);
  return isFailure(thrown) && !details.own && details.retryable !== false;
}

function wordsFor(thrown: unknown): string {
  const { code, message } = toGatewayError(thrown);
  if (code === "upstream_timeout") return "no further event";
  if (code !== "upstream_error") return "overload";
  return /connection/i.test(message) ? "connection broken" : "failure of the upstream";
}

/** How a target is asked to go on: with the turn of the assistant, or in words. Absent if it is asked anew. */
type Way = { target: PlannedTarget; prefill?: Prefill; inWords?: true };

/** For a server that continues a turn according to the configuration alone. */
const UNKNOWN: Prefill = { repeats: "perhaps" };

/** The targets that may go on, in the order in which they are tried. The one that broke off is first, but last the second time. */
function waysOf({ asking, served }: BrokenAnswer, request: GenerateRequest, { turn }: Continuing): Way[] {
  const { plan, lane, context: { gateway: { upstreams, drivers }, requestLog, caller } } = asking;
  const setting = caller.continuation ?? plan.continuation ?? lane.continuing.continuation;
  const others = setting === "any" ? plan.targets.filter((one) => one !== served) : [];
  const targets = requestLog.continued === 0 ? [served, ...others] : [...others, served];
  return targets.flatMap((target): Way[] => {
    const upstream = upstreams.get(target.upstream);
    const driver = target.driver === undefined ? upstream?.driver : drivers.get(target.driver);
    if (!upstream || !driver || upstream.continuation === "off") return [];
    if (turn.length === 0) return [{ target }];
    if (upstream.continuation === "instruction") return [{ target, inWords: true }];
    const own = { ...upstream.quirks, ...target, model: target.pinned ?? target.model };
    if (refusesTurns(upstream, own, caller.owner)) return [];
    const prefill = driver.prefill?.(own, request) ?? (upstream.continuation === "prefill" ? UNKNOWN : undefined);
    return prefill ? [{ target, prefill }] : [];
  });
}

function refusesTurns(upstream: Upstream, target: Target & Pick<PlannedTarget, "path">, key: string): boolean {
  const { baseUrl, refusals } = upstream;
  const own = target.path === undefined ? upstream : { ...upstream, baseUrl: `${baseUrl}/${target.path}` };
  return refusals.names(placeOf({ upstream: own, target }), key).includes(UNFINISHED);
}

function restFrom(answer: BrokenAnswer, { request, continuing, ways }: GoingOn): EventSource<GenerateEvent> {
  const { asking, shown, served } = answer;
  return firstStream(answer.planFor(ways.map(({ target }) => target)), (target, signal) => {
    const way = ways.find((one) => one.target === target)!;
    const from = target === served ? continuing : forOtherTarget(continuing);
    const input = inputFor(way, from, request);
    const inference = {
      ...asking,
      input,
      wire: asking.exchange.wire,
      added: { messages: [] },
      facts: withTurnsOf(asking.facts, input),
      estimate: asking.estimate + tokensIn(continuing.text),
    };
    return transformed(answer.askAt(inference, target, signal), joinedRest(way, continuing, shown), signal);
  });
}

/** A function of its own, because the closure lives as long as the answer. */
function joinedRest(way: Way, continuing: Continuing, shown: Shown): JoinedRest {
  return new JoinedRest({
    shown,
    seam: seamFor(way, continuing),
    continuing,
    usage: (usage) => wholeUsage(usage, continuing, shown),
  });
}

/** The request for an answer that is as much shorter as was seen. `undefined` if nothing is left. */
function shortened(request: GenerateRequest, { content }: Shown): GenerateRequest | undefined {
  const { maxOutputTokens } = request;
  if (maxOutputTokens === undefined) return request;
  const left = maxOutputTokens - tokensOf(content);
  return left > 0 ? { ...request, maxOutputTokens: left } : undefined;
}

function inputFor({ prefill, inWords }: Way, continuing: Continuing, request: GenerateRequest): GenerateRequest {
  const { messages } = request;
  if (prefill) {
    return { ...request, messages: withUnfinishedTurn(messages, continuing, cutText(continuing.text).sent) };
  }
  return inWords ? { ...request, messages: withRequestToGoOn(messages, continuing) } : request;
}

function seamFor({ prefill, inWords }: Way, { text }: Continuing): Seam {
  if (inWords) return new QuotedSeam(text);
  const cut = cutText(text);
  if (prefill?.repeats) return new RepeatedSeam(cut, prefill.repeats === "perhaps");
  return new DirectSeam(prefill ? cut.again : text);
}

/** The usage for the client: its own prompt, and the output of all calls. Calls that broke off never said theirs. */
function wholeUsage(rest: Usage, { turn, text }: Continuing, { content }: Shown): Usage {
  const { inputTokens, outputTokens, cachedInputTokens, reportedCost: _, ...others } = rest;
  const own = Math.max(1, inputTokens - (turn.length === 0 ? 0 : tokensIn(text)));
  return {
    ...others,
    inputTokens: own,
    outputTokens: outputTokens + tokensOf(content),
    ...(cachedInputTokens !== undefined && { cachedInputTokens: Math.min(cachedInputTokens, own) }),
    estimated: true,
  };
}

function tokensOf(content: readonly OutputPart[]): number {
  return Math.ceil(lengthOf(content) / CHARACTERS_PER_TOKEN);
}

function tokensIn(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

function lengthOf(content: readonly OutputPart[]): number {
  let length = 0;
  for (const part of content) {
    length += "text" in part ? part.text.length : part.type === "tool-call" ? part.input.length : 0;
  }
  return length;
}

/** The source including its first events. */
function resumed<E>(first: readonly E[] | undefined, source: EventSource<E>): EventSource<E> {
  let pending = first;
  return {
    next() {
      const events = pending;
      pending = undefined;
      return events ? Promise.resolve(events) : source.next();
    },
    cancel: () => source.cancel(),
  };
}
