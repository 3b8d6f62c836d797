/**
 * Everything that changes a conversation on its way to a target, in its order: what its model can take, once for each request,
 * then what the target wants, once for each target. Every transform is a pure function from a request to a request, which
 * reports what it changed; nothing changes the request elsewhere. A driver writes the result as it is.
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
import { withFormInWords } from "../transforms/output_form.ts";
import { withoutForeignReasoning, withoutReasoning, withoutUnsignedReasoning } from "../transforms/reasoning.ts";
import { withPlaceholders } from "../transforms/placeholder.ts";
import { withUpstreamNames } from "../transforms/tool_names.ts";
import { arrangeTurns, mendTurns } from "../transforms/turns.ts";
import { mendItems } from "../transforms/unpaired_items.ts";
import { type Difference, differences } from "./differences.ts";

type Note = (text: string) => void;

interface Transform<Facts> {
  /** For people who read an explanation. */
  name: string;
  apply(request: GenerateRequest, facts: Facts, note: Note): GenerateRequest;
}

/** What one transform did, for an explanation. */
export interface Step {
  step: string;
  notes: string[];
  changes: Difference[];
}

export interface ModelFacts extends ModelLimits {
  /** The request's tokens, estimated. Made when it is first needed, and carried from there. */
  estimate(request: GenerateRequest): number;
}

/** What the model that was asked for can take, whoever serves it. */
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
  /** How its model is offered hosted tools that the gateway runs; nothing where it runs none. */
  hosted?: HostedOffer;
  /** The hosted tools that it refuses, by name. */
  refusedTools: readonly string[];
  /** Whether it gets this hosted tool although it does not run it. */
  refusesTool?(tool: HostedTool): boolean;
  refusesCacheHints: boolean;
  /** Whether it refuses all reasoning of earlier turns. */
  refusesReasoning: boolean;
  /**
   * Present where the form of the answer is asked for in words: the turns that correct an answer which had not that form, none
   * at the first try.
   */
  corrections?: readonly Message[];
  /** How its driver takes conversations; nothing where it takes the canonical form itself. */
  intake?: Intake;
  /** How many tokens a budget pays the answer, if the client set no limit. */
  answerLimit?: number;
  /** How many it may have by the limits of its model. */
  answerRoom?: number;
}

/** What one target wants. */
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
  /** The request's tokens by the length of its texts alone: they are charged, compared and counted with. */
  estimate: number;
}

/**
 * The request as its model can take it. `steps` is given what each transform did. Throws `invalid_request` where the answer
 * would be about what the model cannot take.
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

/** The request as the target wants it; the same one where it is that already. */
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

/** Without an offer, what hosted tools did goes in words to all but servers that know it in its own. */
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

/** Hints of a client of the same wire stand where its servers want them. */
function adoptHints(request: GenerateRequest, { intake, clientWire }: TargetFacts, note: Note): GenerateRequest {
  return intake?.takesCacheHints && intake.wire !== clientWire ? adoptCacheHints(request, intake.wire, note) : request;
}

/** The tools that the upstream can offer its model. Throws where the answer depends on one that it cannot. */
function offerTools(request: GenerateRequest, { intake, clientWire }: TargetFacts, note: Note): GenerateRequest {
  if (!intake || !request.tools) return request;
  const { wire, namesAllowedTools, knowsDeferredTools } = intake;
  return withOfferedTools(request, {
    wire,
    isNarrowed: !namesAllowedTools,
    showsDeferred: knowsDeferredTools && clientWire === wire,
  }, note);
}

/** A client of the same wire has put its turns in order; only what every server would refuse is mended. */
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
