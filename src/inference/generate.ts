/** A conversation's next turn: parse → recall → resolve → prepare → call → serialize. */
import type { CompactionRequest } from "../canonical/compaction.ts";
import { estimateInputTokens } from "../canonical/estimate.ts";
import type { GenerateEvent, GenerateRequest, GenerateResponse } from "../canonical/generate.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { Exchange } from "../contract/context.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import type { Protocol } from "../contract/protocol.ts";
import type { AddedTurn } from "../state/continuity.ts";
import { fitAnswer } from "../lanes/clamp.ts";
import { checkSize } from "../http/size.ts";
import { type FailoverPlan, firstAnswer } from "../routing/failover.ts";
import { firstStream } from "../routing/first_stream.ts";
import type { HostedOffer } from "../transforms/hosted_history.ts";
import { transformed } from "../transforms/apply.ts";
import { noteLostEventFields, noteLostFields } from "../transforms/lost_fields.ts";
import { repairCalls, repairResponse } from "../transforms/repair_calls.ts";
import { sealSteps, sealStepStream } from "../transforms/hosted_sealing.ts";
import { sealReasoning, sealStream } from "../transforms/sealing.ts";
import type { Attempt } from "../upstream/attempt.ts";
import { answerWithSchema, streamWithSchema } from "../upstream/structured_output.ts";
import type { EventSource } from "../util/event_source.ts";
import { runSliced, runStep } from "../util/sliced_work.ts";
import { admit } from "./admit.ts";
import type { Passage } from "./answer_loop.ts";
import { openAttempt } from "./attempt.ts";
import { runInBackground, startedAtOnce } from "./background.ts";
import { maskAnswer } from "./mask_secrets.ts";
import { type Compacting, compactStream, compactWhole, isDue, planCompaction } from "./compact.ts";
import { learn } from "./counting.ts";
import { explainAll, wantsExplanation } from "./explain.ts";
import { answerFailed, noteFailed, targetsThatRun, toolsNeeded } from "./failed_tools.ts";
import { type Affinity, planFailover, withAffinity } from "./failover_plan.ts";
import { answerHosted, type Hosted, offeredBy, planHosted, streamHosted, toolsBeside } from "./hosted.ts";
import { forgetConversation, type Incoming, openExchange } from "./incoming.ts";
import { recall, remember, remembering, sealingFor } from "./recall.ts";
import { type ModelRequest, prepareForModel, type Step } from "./prepare.ts";
import { relay } from "./relay.ts";
import { resolve } from "./resolve.ts";
import { respondWithStream } from "./stream_response.ts";
import { traced, tracedStream } from "./traced.ts";

/** A conversation to be answered, with the messages that this turn added and its targets. */
interface Turn {
  incoming: Incoming<"generate">;
  exchange: Exchange<"generate">;
  added: AddedTurn;
  plan: Affinity;
  /** The conversation's tokens, estimated. */
  estimate: number;
  /** Present if the gateway runs tools for the model. */
  hosted?: Hosted;
  /** Present if the conversation is shortened first. */
  compacting?: Compacting;
}

export function generate(asked: Incoming<"generate">): Promise<Response> {
  const isInBackground = asked.input.recall?.background && !wantsExplanation(asked.wire);
  return isInBackground ? runInBackground(asked, answer) : answer(asked);
}

async function answer(asked: Incoming<"generate">): Promise<Response> {
  const { protocol, wire, lane, context } = asked;
  context.requestLog.entry.stream = asked.input.stream;
  await checkSize(asked.input, context.gateway.guards.limits);
  const recalled = await recall(asked.input, context, asked.conversationCache);
  const { added } = recalled;
  const resolved = await resolve("generate", recalled.input.model, lane, context);
  const sorted = await runStep(() => withAffinity(resolved, recalled.input, lane, context));
  const shortening = planCompaction(protocol, recalled.input, sorted.targets, context);
  const { targets, compaction } = shortening;
  const all = withTargets(sorted, targets);
  const { input = shortening.input, hosted } = planHosted(protocol, shortening, wire, context) ?? {};
  const incoming = { ...asked, input };
  const needed = hosted ? [] : toolsNeeded(protocol, input, wire);
  const able = targetsThatRun(needed, all.targets, context);
  if (able.length === 0) {
    const exchange = openExchange(incoming, input);
    const failed = protocol.failTools?.(needed, exchange);
    if (failed) {
      noteFailed(needed, context);
      if (wantsExplanation(wire)) return explainAll("generate", input, [], context);
      await asked.begin?.(exchange, added.messages);
      return await answerFailed(failed, protocol, exchange, added, context);
    }
  }
  const chosen = able.length === 0 ? all : withTargets(all, able);
  if (input.relay) return relay(incoming, input.relay, chosen);
  const steps: Step[] | undefined = wantsExplanation(wire) ? [] : undefined;
  const { exchange, request, estimate } = await prepareExchange(incoming, chosen, compaction, steps);
  if (steps) {
    const { targets } = fitAnswer(request, estimate, chosen, context.note);
    return explainAll("generate", request, targets, context, {
      steps,
      beside: toolsBeside(protocol, wire),
      ...await offeredBy(hosted),
    });
  }
  await admit(context, estimate);
  await asked.begin?.(exchange, added.messages);
  const isDueNow = compaction && !hosted?.isBegun && isDue(compaction, request, estimate, chosen, context);
  const compacting = isDueNow ? { compaction, protocol, exchange, context } : undefined;
  const turn = { incoming, exchange, added, plan: chosen, estimate, compacting, hosted };
  return request.stream ? generateStream(turn) : generateWhole(turn);
}

function withTargets(plan: Affinity, targets: Affinity["targets"]): Affinity {
  return targets === plan.targets ? plan : { ...plan, targets };
}

/**
 * The request as its model takes it. The limit of the answer is not clamped if the conversation may still be shortened,
 * because the room for the answer is not known yet.
 */
function prepareExchange(
  incoming: Incoming<"generate">,
  chosen: Affinity,
  compaction: CompactionRequest | undefined,
  steps: Step[] | undefined,
): Prepared | Promise<Prepared> {
  const { input, context } = incoming;
  const { maxOutputTokens } = input;
  const isOpen = compaction !== undefined && !steps;
  const bounded = isOpen ? { ...input, maxOutputTokens: undefined } : input;
  const open = (prepared: ModelRequest): Prepared => {
    const request = isOpen ? { ...prepared.request, maxOutputTokens } : prepared.request;
    return { request, estimate: prepared.estimate, exchange: openExchange(incoming, request) };
  };
  const prepared = runStep(() => prepareForModel(bounded, chosen, context.note, steps));
  return prepared instanceof Promise ? prepared.then(open) : open(prepared);
}

interface Prepared extends ModelRequest {
  exchange: Exchange<"generate">;
}

async function generateWhole(
  { incoming, exchange, added, plan, estimate, compacting, hosted }: Turn,
): Promise<Response> {
  const { protocol, wire, context } = incoming;
  const { gateway, requestLog, hide, note } = context;
  const beside = toolsBeside(protocol, wire);
  const askOnce = (input: GenerateRequest, estimate: number, offer?: HostedOffer) => {
    const { request, targets } = fitAnswer(input, estimate, plan, note);
    const attempt = (target: PlannedTarget) => {
      const asked = runStep(() =>
        openAttempt("generate", request, target, context, { estimate, hosted: offer, beside })
      );
      return asked instanceof Promise ? asked.then(answerAt) : answerAt(asked);
    };
    return firstAnswer(planFailover(targets, context, { conversation: plan.conversation }), traced(attempt, context));
  };
  const answer = hosted ? (input: GenerateRequest) => answerHosted(hosted, input, context, askOnce) : askOnce;
  const answered = await (compacting ? compactWhole(compacting, answer) : answer(exchange.input, estimate));
  const output = await runStep(() => maskAnswer<"generate">(answered, hide));
  requestLog.settle(
    output.usage,
    () => estimateInputTokens({ messages: [{ role: "assistant", content: output.content }] }),
  );
  learn(output.usage, requestLog.attempt, gateway.counting);
  await remember(output, exchange, added, context, incoming.conversationCache);
  const sealing = sealingFor(protocol, exchange, context);
  const isKept = sealing !== undefined || exchange.stored;
  await runStep(() => [output, ...output.content].forEach((one) => noteLostFields(one, protocol.wire, isKept, note)));
  for (const part of output.content) {
    const open = sealing?.toOpen(part);
    if (open) await open();
  }
  const content = sealing ? sealSteps(sealReasoning(output.content, sealing), sealing) : output.content;
  return protocol.serialize({ ...output, content }, exchange);
}

function answerAt(asked: Attempt<"generate">): Promise<GenerateResponse> {
  const answered = answerWithSchema(asked);
  if (!asked.target.repairArguments) return answered;
  return answered.then((response) => runSliced(repairResponse(response, asked.input, asked.context.note)));
}

function generateStream({ incoming, exchange, added, plan, estimate, compacting, hosted }: Turn): Promise<Response> {
  const { protocol, wire, context } = incoming;
  const beside = toolsBeside(protocol, wire);
  const openOnce = (input: GenerateRequest, estimate: number, offer?: HostedOffer) => {
    const { request, targets } = fitAnswer(input, estimate, plan, context.note);
    const attempt = (target: PlannedTarget, signal: AbortSignal) =>
      streamAt(openAttempt("generate", request, target, context, { signal, estimate, hosted: offer, beside }));
    const failover = planFailover(targets, context, plan);
    const asksAgain = compacting !== undefined || hosted !== undefined;
    return firstStream(asksAgain ? failover : forgetting(failover, exchange, protocol), tracedStream(attempt, context));
  };
  const open = hosted ? (input: GenerateRequest) => streamHosted(hosted, input, context, openOnce) : openOnce;
  const source = compacting ? compactStream(compacting, open) : open(exchange.input, estimate);
  const events = incoming.begin ? startedAtOnce(source, exchange.input, estimate) : source;
  return respondWithStream(protocol, exchange, events, context, passageOf(incoming, exchange, added, hosted));
}

/** The plan, changed so that the conversation is let go of once an answer begins. */
function forgetting(
  plan: FailoverPlan<PlannedTarget>,
  exchange: Exchange<"generate">,
  protocol: Protocol<"generate">,
): FailoverPlan<PlannedTarget> {
  return {
    ...plan,
    onServed(target) {
      plan.onServed(target);
      forgetConversation(exchange, protocol);
    },
  };
}

/**
 * The steps that events pass on their way to the client: foreign fields are noted, the answer is stored, its reasoning
 * is sealed.
 */
function passageOf(
  { protocol, context, conversationCache }: Incoming<"generate">,
  exchange: Exchange<"generate">,
  added: AddedTurn,
  hosted: Hosted | undefined,
): Passage<GenerateEvent> {
  const sealing = sealingFor(protocol, exchange, context);
  const kept = exchange.stored || conversationCache || exchange.input.recall?.conversation !== undefined
    ? rememberingIn(exchange, added, context, conversationCache)
    : undefined;
  return {
    transforms: [
      noteLostEventFields(protocol.wire, sealing !== undefined || exchange.stored, context.note),
      ...kept?.transforms ?? [],
      ...sealing ? [sealStream(sealing)] : [],
      ...sealing && hosted ? [sealStepStream(sealing)] : [],
    ],
    before: (event) => event.type === "part-start" ? sealing?.toOpen(event.part) : kept?.before(event),
  };
}

/**
 * A function of its own: its closure holds the conversation, and `passageOf` must not hold it for answers that are not
 * stored.
 */
function rememberingIn(
  exchange: Exchange<"generate">,
  added: AddedTurn,
  context: RequestContext,
  conversationCache: Incoming<"generate">["conversationCache"],
) {
  return remembering((response) => remember(response, exchange, added, context, conversationCache));
}

function streamAt(asked: Attempt<"generate">): EventSource<GenerateEvent> {
  const { input, target, context, signal } = asked;
  const events = streamWithSchema(asked);
  return target.repairArguments
    ? transformed(events, repairCalls({ tools: input.tools }, context.note), signal)
    : events;
}
