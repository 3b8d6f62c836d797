/**
 * Everything that changes a conversation on its way to a target, in order: first the limits of its model, once a
 * request, then the needs of the target, once a target. Every transform is a pure function from request to request,
 * which reports what it changed. Nothing else changes the request, and a driver writes the result unchanged.
 */
import { estimateInputTokens } from "../canonical/estimate.ts";
import type { GenerateRequest, HostedTool, Message } from "../canonical/generate.ts";
import type { Intake } from "../contract/intake.ts";
import { clampEffort, clampFiles, clampOutput } from "../lanes/clamp.ts";
import type { ModelLimits } from "../config/lane_schema.ts";
import { adoptCacheHints, withoutCacheHints } from "../transforms/cache_hints.ts";
import { withUpstreamIds } from "../transforms/call_ids.ts";
import { withinBudget, withinControls, withLeastOutput } from "../transforms/controls.ts";
import { type HostedOffer, withHostedFunctions, withHostedHistory } from "../transforms/hosted_history.ts";
import { withoutHosted } from "../transforms/hosted_tools.ts";
import { withOfferedTools } from "../transforms/offered_tools.ts";
import { withFormInWords } from "../transforms/schema_prompt.ts";
import { withoutForeignReasoning, withoutReasoning, withoutUnsignedReasoning } from "../transforms/reasoning.ts";
import { withPlaceholders } from "../transforms/placeholder.ts";
import { withUpstreamNames } from "../transforms/tool_names.ts";
import { arrangeTurns, mendTurns } from "../transforms/turns.ts";
import { mendItems } from "../transforms/unpaired_items.ts";
import { type Difference, differences } from "./differences.ts";

type Note = (text: string) => void;

interface Transform<Facts> {
  /** The name that an explanation shows. */
  name: string;
  apply(request: GenerateRequest, facts: Facts, note: Note): GenerateRequest;
}

/** The effect of one transform, for an explanation. */
export interface Step {
  step: string;
  notes: string[];
  changes: Difference[];
}

export interface ModelFacts extends ModelLimits {
  /** The request's tokens, estimated when they are first needed. */
  estimate(request: GenerateRequest): number;
}

/** Transforms for the requested model, which hold for all of its targets. */
const FOR_MODEL: readonly Transform<ModelFacts>[] = [
  { name: "reasoning effort", apply: (request, { efforts }, note) => clampEffort(request, efforts, note) },
  { name: "files", apply: (request, { inputModalities }, note) => clampFiles(request, inputModalities, note) },
  { name: "length of the answer", apply: clampOutput },
];

export interface TargetFacts {
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

/** Transforms for one target. */
const FOR_TARGET: readonly Transform<TargetFacts>[] = [
  { name: "hosted tools as functions", apply: offerHosted },
  {
    name: "hosted tools",
    apply: (request, { refusedTools, refusesTool }, note) =>
      withoutHosted(request, (tool) => refusedTools.includes(tool.name) || refusesTool?.(tool) === true, note),
  },
  {
    name: "reasoning of other models",
    apply: (request, { target }, note) => withoutForeignReasoning(request, target, note),
  },
  {
    name: "refused cache hints",
    apply: (request, facts, note) => facts.refusesCacheHints ? withoutCacheHints(request, note) : request,
  },
  {
    name: "refused reasoning",
    apply: (request, facts, note) => facts.refusesReasoning ? withoutReasoning(request, note) : request,
  },
  { name: "tool names", apply: (request, { intake }) => intake ? withUpstreamNames(request) : request },
  { name: "structured output in words", apply: askInWords },
  { name: "effort of the model's family", apply: holdThinking },
  { name: "cache hints", apply: adoptHints },
  { name: "offered tools", apply: offerTools },
  {
    name: "unsigned reasoning",
    apply: (request, { intake }, note) =>
      intake?.isUnsigned ? withoutUnsignedReasoning(request, intake.isUnsigned, note) : request,
  },
  { name: "order of turns", apply: orderTurns },
  {
    name: "placeholders",
    apply: (request, { intake }, note) => intake ? withPlaceholders(request, intake.wire, note) : request,
  },
  { name: "ids of calls", apply: renameCalls },
  {
    name: "controls",
    apply: (request, { intake }, note) => intake?.lacks ? withinControls(request, intake.lacks, note) : request,
  },
  { name: "limit of the answer", apply: limitAnswer },
];

export interface ModelRequest {
  request: GenerateRequest;
  /** The request's tokens, estimated from the length of its texts. */
  estimate: number;
}

/**
 * The request as its model can take it. `steps` receives what each transform did. Throws `invalid_request` if the model
 * cannot take something that the answer depends on.
 */
export function prepareForModel(
  request: GenerateRequest,
  limits: ModelLimits,
  note: Note,
  steps?: Step[],
): ModelRequest {
  let tokens: number | undefined;
  const estimate = (one: GenerateRequest) => tokens ??= estimateInputTokens(one);
  const prepared = run(FOR_MODEL, request, { ...limits, estimate }, note, steps);
  return { request: prepared, estimate: estimate(prepared) };
}

/** The request as the target needs it. Returns the same object if nothing has to change. */
export function prepareForTarget(
  request: GenerateRequest,
  facts: TargetFacts,
  note: Note,
  steps?: Step[],
): GenerateRequest {
  return run(FOR_TARGET, request, facts, note, steps);
}

function run<Facts>(
  transforms: readonly Transform<Facts>[],
  request: GenerateRequest,
  facts: Facts,
  note: Note,
  steps?: Step[],
): GenerateRequest {
  return transforms.reduce((before, { name, apply }) => {
    if (!steps) return apply(before, facts, note);
    const notes = new Set<string>();
    const after = apply(before, facts, (text) => {
      notes.add(text);
      note(text);
    });
    const changes = differences(before, after);
    if (changes.length + notes.size > 0) steps.push({ step: name, notes: [...notes], changes });
    return after;
  }, request);
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
