/** The stages that change a conversation for one of its targets. A driver writes the result as it is. */
import type { GenerateRequest, HostedTool, Message } from "../canonical/generate.ts";
import type { Intake } from "../contract/intake.ts";
import { adoptCacheHints, withoutCacheHints } from "../transforms/cache_hints.ts";
import { withUpstreamIds } from "../transforms/call_ids.ts";
import { withinBudget, withinControls, withLeastOutput } from "../transforms/controls.ts";
import { type HostedOffer, withHostedFunctions, withHostedHistory } from "../transforms/hosted_history.ts";
import { withoutHosted } from "../transforms/hosted_tools.ts";
import { withOfferedTools } from "../transforms/offered_tools.ts";
import { withPlaceholders } from "../transforms/placeholder.ts";
import { withoutForeignReasoning, withoutReasoning, withoutUnsignedReasoning } from "../transforms/reasoning.ts";
import { withFormInWords } from "../transforms/schema_prompt.ts";
import { withUpstreamNames } from "../transforms/tool_names.ts";
import { arrangeTurns, mendTurns } from "../transforms/turns.ts";
import { mendItems } from "../transforms/unpaired_items.ts";
import { FACT, type Facts } from "./facts.ts";
import type { Note, Stage } from "./inference.ts";
import { beginStep, type Step } from "./steps.ts";

export interface TargetFacts {
  /** The facts about the request. */
  facts: Facts;
  /** `upstream/model`. */
  target: string;
  clientWire: string;
  systemMessages: "first" | "anywhere";
  /** How the model is offered the hosted tools that the gateway runs. Absent if it runs none. */
  hosted?: HostedOffer;
  /** The names of the hosted tools that the target refuses. */
  refusedTools: readonly string[];
  /** Whether this hosted tool would reach the target although the target does not run it. */
  refusesTool?(tool: HostedTool): boolean;
  refusesCacheHints: boolean;
  /** Whether the target refuses all reasoning of earlier turns. */
  refusesReasoning: boolean;
  /**
   * Present if the form of the answer is requested in words. The turns correct an answer that did not have the form;
   * the first try has none.
   */
  corrections?: readonly Message[];
  /** How the driver takes conversations. Absent if it takes the canonical form itself. */
  intake?: Intake;
  /** The most tokens of the answer that a budget pays for, if the client set no limit. */
  answerLimit?: number;
  /** The most tokens of the answer by the limits of its model. */
  answerRoom?: number;
}

/** The stages for one target, in order. Each is a pure function from request to request that notes what it changed. */
export const TARGET_STAGES: readonly Preparing[] = [
  preparing("hosted tools as functions", FACT.hostedSteps | FACT.offered, offerHosted),
  preparing("refused hosted tools", FACT.hostedTools, refuseHosted),
  preparing(
    "reasoning of other models",
    FACT.reasoning,
    (request, { target }, note) => withoutForeignReasoning(request, target, note),
  ),
  preparing("refused cache hints", FACT.refusedHints, (request, _, note) => withoutCacheHints(request, note)),
  preparing("refused reasoning", FACT.refusedReasoning, (request, _, note) => withoutReasoning(request, note)),
  preparing(
    "tool names",
    FACT.tools | FACT.calls,
    (request, { intake }) => intake ? withUpstreamNames(request) : request,
  ),
  preparing("structured output in words", FACT.worded, askInWords),
  preparing("effort of the model's family", FACT.heldThinking, holdThinking),
  preparing("cache hints", FACT.adoptedHints, adoptHints),
  preparing("offered tools", FACT.tools | FACT.offered, offerTools),
  preparing(
    "unsigned reasoning",
    FACT.reasoning,
    (request, { intake }, note) =>
      intake?.isUnsigned ? withoutUnsignedReasoning(request, intake.isUnsigned, note) : request,
  ),
  preparing("order of turns", FACT.calls | FACT.opaque | FACT.arranged, orderTurns),
  preparing(
    "placeholders",
    FACT.opaque,
    (request, { intake }, note) => intake ? withPlaceholders(request, intake.wire, note) : request,
  ),
  preparing("ids of calls", FACT.calls, renameCalls),
  preparing(
    "controls",
    FACT.lackedControls,
    (request, { intake }, note) => intake?.lacks ? withinControls(request, intake.lacks, note) : request,
  ),
  preparing("limit of the answer", FACT.limitedAnswer, limitAnswer),
];

/** A stage that changes conversations for one target. It is called by each attempt. */
interface Preparing extends Stage {
  needs: Facts;
  prepare(request: GenerateRequest, facts: TargetFacts, note: Note): GenerateRequest;
}

function preparing(name: string, needs: Facts, prepare: Preparing["prepare"]): Preparing {
  return { name, operations: ["generate", "countTokens"], needs, prepare };
}

/**
 * The request as the target needs it. Returns the same object if nothing has to change. `steps` receives what each
 * stage changed.
 */
export function prepareForTarget(
  request: GenerateRequest,
  facts: TargetFacts,
  note: Note,
  steps?: Step[],
): GenerateRequest {
  let bits = facts.facts | factsOfTarget(request, facts);
  // Their steps are written as calls.
  if (bits & (FACT.hostedSteps | FACT.offered)) bits |= FACT.calls | FACT.tools;
  let prepared = request;
  for (const { name, needs, prepare } of TARGET_STAGES) {
    if (!(needs & bits)) continue;
    const before = prepared;
    const step = steps && beginStep(name, note, steps);
    prepared = prepare(before, facts, step?.note ?? note);
    step?.end(before, prepared);
  }
  return prepared;
}

function factsOfTarget({ maxOutputTokens }: GenerateRequest, facts: TargetFacts): Facts {
  const { intake, clientWire, hosted, refusesCacheHints, refusesReasoning, corrections, answerLimit } = facts;
  let bits = hosted ? FACT.offered : 0;
  if (refusesCacheHints) bits |= FACT.refusedHints;
  if (refusesReasoning) bits |= FACT.refusedReasoning;
  if (corrections) bits |= FACT.worded;
  if (answerLimit !== undefined) bits |= FACT.limitedAnswer;
  if (!intake) return bits;
  const { wire, results, takesCacheHints, lacks, leastOutputTokens } = intake;
  if (intake.holdThinking) bits |= FACT.heldThinking;
  if (wire !== clientWire) bits |= takesCacheHints ? FACT.arranged | FACT.adoptedHints : FACT.arranged;
  if (results === "anywhere") bits |= FACT.arranged;
  if (lacks) bits |= FACT.lackedControls;
  return leastOutputTokens !== undefined && maxOutputTokens !== undefined ? bits | FACT.limitedAnswer : bits;
}

function refuseHosted(request: GenerateRequest, { refusedTools, refusesTool }: TargetFacts, note: Note) {
  return withoutHosted(request, (tool) => refusedTools.includes(tool.name) || refusesTool?.(tool) === true, note);
}

/**
 * Without an offer, earlier steps of hosted tools are written as text, except for servers that know such steps
 * themselves.
 */
function offerHosted(request: GenerateRequest, { hosted, intake }: TargetFacts, note: Note): GenerateRequest {
  if (hosted) return withHostedFunctions(request, hosted, note);
  if (!intake) return request;
  const own = intake.knowsSteps ? intake.wire : undefined;
  return withMessages(request, withHostedHistory(request.messages, [], note, own));
}

function askInWords(request: GenerateRequest, { corrections }: TargetFacts, note: Note): GenerateRequest {
  if (!corrections) return request;
  note("asked for response_format by instruction");
  const worded = withFormInWords(request);
  return corrections.length > 0 ? { ...worded, messages: [...worded.messages, ...corrections] } : worded;
}

function holdThinking(request: GenerateRequest, { intake }: TargetFacts, note: Note): GenerateRequest {
  const thinking = intake?.holdThinking ? intake.holdThinking(request, note) : request.thinking;
  return thinking === request.thinking ? request : { ...request, thinking };
}

/** A client of the target's own wire has put its cache hints where the target wants them, so they are left alone. */
function adoptHints(request: GenerateRequest, { intake, clientWire }: TargetFacts, note: Note): GenerateRequest {
  return intake?.takesCacheHints && intake.wire !== clientWire ? adoptCacheHints(request, intake.wire, note) : request;
}

/** The tools that the upstream can offer its model. Throws if the answer depends on one that it cannot offer. */
function offerTools(request: GenerateRequest, { intake, clientWire }: TargetFacts, note: Note): GenerateRequest {
  if (!intake || !request.tools) return request;
  const { wire, namesAllowedTools, knowsDeferredTools } = intake;
  return withOfferedTools(request, {
    wire,
    isNarrowed: !namesAllowedTools,
    showsDeferred: knowsDeferredTools && clientWire === wire,
  }, note);
}

/** A client of the target's own wire has put its turns in order. Only what every server would refuse is mended. */
function orderTurns(
  request: GenerateRequest,
  { intake, clientWire, systemMessages }: TargetFacts,
  note: Note,
): GenerateRequest {
  if (!intake) return request;
  const { wire, results, isWhole = () => false } = intake;
  const { messages } = request;
  if (clientWire !== wire) return withMessages(request, arrangeTurns(messages, { wire, systemMessages }, note));
  return withMessages(
    request,
    results === "anywhere" ? mendItems(messages, isWhole, note) : mendTurns(messages, note),
  );
}

function limitAnswer(request: GenerateRequest, { intake, answerLimit, answerRoom }: TargetFacts, note: Note) {
  return answerLimit === undefined
    ? withLeastOutput(request, intake?.leastOutputTokens, note)
    : withinBudget(request, answerLimit, { answerRoom }, note);
}

function renameCalls(request: GenerateRequest, { intake }: TargetFacts): GenerateRequest {
  return intake ? withMessages(request, withUpstreamIds(request.messages, intake.callIds)) : request;
}

function withMessages(request: GenerateRequest, messages: readonly Message[]): GenerateRequest {
  return messages === request.messages ? request : { ...request, messages: messages as Message[] };
}
