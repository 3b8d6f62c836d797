/**
 * One request to a model: the list of all stages that it and its answer pass, and how they pass it. Nothing else
 * changes a request on its way from its client's wire to an upstream's, or an answer on its way back. Only the fields
 * that an upstream refuses are left out after the last stage, in `src/upstream/call.ts`.
 */
import type { HostedTool } from "../canonical/generate.ts";
import type { Input, ModelOperation } from "../canonical/operations.ts";
import { isStrict } from "../context/request_context.ts";
import { checkSize } from "../http/size.ts";
import type { AddedTurn } from "../state/continuity.ts";
import { noteLostFields } from "../transforms/lost_fields.ts";
import { repairCalls } from "../transforms/repair_calls.ts";
import type { Attempt } from "../upstream/attempt.ts";
import { answer } from "../upstream/run.ts";
import { speak } from "../upstream/speak.ts";
import { stream } from "../upstream/stream.ts";
import { ADMISSION } from "./admission.ts";
import { AFFINITY } from "./affinity.ts";
import { changedAnswer, streamedAnswer, wholeAnswer } from "./answer.ts";
import { BACKGROUND, runInBackground } from "./background.ts";
import { BILLING } from "./billing.ts";
import { COMPACTION } from "./compaction.ts";
import { explainInference, explainStage, wantsExplanation } from "./explain.ts";
import { FACT, type Facts, factsOf } from "./facts.ts";
import { FAILOVER, isStreamed } from "./failover.ts";
import { HOSTED_TOOLS } from "./hosted.ts";
import { type Incoming, openExchange } from "./incoming.ts";
import type { Answer, AnswerPass, Inference, Stage } from "./inference.ts";
import { SECRETS } from "./mask_secrets.ts";
import { EFFORT, ESTIMATE, FILES, LENGTH } from "./model_limits.ts";
import { type InferredOperation, SERVE, type Serve } from "./outputs.ts";
import { NEEDED_TOOLS } from "./needed_tools.ts";
import { PLUGIN_STAGES } from "./plugin_stages.ts";
import { GIVEN_FILES, RECALL, SEALING } from "./recall.ts";
import { RELAY } from "./relay.ts";
import { MODEL } from "./resolve.ts";
import { SPEECH_FORMAT } from "./speech.ts";
import { STORAGE } from "./storage.ts";
import { STRUCTURED_OUTPUT } from "./structured_output.ts";
import { TARGET_STAGES } from "./target_stages.ts";
import { TRACING } from "./tracing.ts";

/** Refuses a conversation that is too large for any model. */
const SIZE: Stage<"generate"> = {
  name: "size",
  operations: ["generate"],
  request(inference) {
    const checked = checkSize(inference.input, inference.context.gateway.guards.limits);
    return checked ? checked.then(() => inference) : inference;
  },
};

/** Notes what the client's wire cannot express of the answer. */
const LOST_FIELDS: Stage<"generate"> = {
  name: "lost fields",
  operations: ["generate"],
  answer({ protocol, exchange, context }) {
    const isSealed = protocol.reasoning?.(exchange.wire) !== undefined;
    return {
      watch: (held) => noteLostFields(held, protocol.wire, isSealed || exchange.stored, context.note),
    };
  },
};

/** Clears the parts of the conversation that the client no longer wants read. */
const EDITING: Stage<"generate"> = {
  name: "context editing",
  operations: ["generate", "countTokens"],
  needs: FACT.compaction,
  request: (inference) => inference.input.editing ? edit(inference) : inference,
};

async function edit(inference: Inference<"generate">): Promise<Inference> {
  return await (await import("./editing.ts")).edited(inference);
}

/** Repairs the arguments of calls that are not JSON. */
const REPAIR: Stage<"generate"> = {
  name: "repair of calls",
  operations: ["generate"],
  needs: FACT.repaired,
  around(inference, ask) {
    const { input: { tools }, attempt } = inference;
    const { context: { note }, signal } = attempt!;
    return changedAnswer(
      ask(inference),
      repairCalls({ tools }, note),
      ({ content }) => content.some(({ type }) => type === "tool-call"),
      signal,
    );
  },
};

/** Requests pass the list from the top down, answers from the bottom up. */
export const STAGES: readonly Stage[] = [
  // The client's request, and the answer that it gets
  SIZE,
  ADMISSION,
  BACKGROUND,
  SEALING,
  STORAGE,
  LOST_FIELDS,
  RECALL,
  // The choice of a model, and changes for any of its targets
  MODEL,
  GIVEN_FILES,
  AFFINITY,
  SPEECH_FORMAT,
  EDITING,
  COMPACTION,
  HOSTED_TOOLS,
  NEEDED_TOOLS,
  RELAY,
  EFFORT,
  FILES,
  ESTIMATE,
  LENGTH,
  SECRETS,
  FAILOVER,
  // Once for each attempt at a target
  TRACING,
  BILLING,
  REPAIR,
  STRUCTURED_OUTPUT,
  ...TARGET_STAGES,
  PLUGIN_STAGES,
];

const BY_OPERATION: Record<ModelOperation, readonly Stage[]> = {
  generate: stagesOf("generate"),
  relay: stagesOf("relay"),
  complete: stagesOf("complete"),
  countTokens: stagesOf("countTokens"),
  embed: stagesOf("embed"),
  rerank: stagesOf("rerank"),
  speak: stagesOf("speak"),
  transcribe: stagesOf("transcribe"),
};

function stagesOf(operation: ModelOperation): Stage[] {
  return STAGES.filter(({ operations }) => operations.includes(operation));
}

/** Serves a request to a model. */
export function infer<K extends InferredOperation>(incoming: Incoming<K>): Promise<Response> {
  const { input, wire } = incoming;
  if (!("messages" in input) || !input.recall) return serve(incoming);
  const { recall: { thread, background } } = input;
  if (thread) return inThread(incoming as Incoming<"generate">);
  return background && !wantsExplanation(wire)
    ? runInBackground(incoming as Incoming<"generate">, serve)
    : serve(incoming);
}

async function inThread(incoming: Incoming<"generate">): Promise<Response> {
  return await (await import("./threads.ts")).serveThread(incoming, serve);
}

async function serve<K extends InferredOperation>(incoming: Incoming<K>): Promise<Response> {
  const passing = passFrom(0, BY_OPERATION[incoming.protocol.operation], begin(incoming));
  const inference = passing instanceof Promise ? await passing : passing;
  if (inference.steps) return explainInference(inference, inference.steps);
  inference.context.requestLog.capture?.asks(inference.input);
  // A relay has become another operation, with stages of its own.
  const stages = BY_OPERATION[inference.operation];
  const passes: AnswerPass<ModelOperation>[] = [];
  for (const stage of stages) {
    if (isNeedless(stage, inference)) continue;
    const admitted = stage.admit?.(inference);
    if (admitted) await admitted;
    const pass = stage.answer?.(inference);
    if (pass) passes.unshift(pass);
  }
  const serveAs = SERVE[inference.operation as InferredOperation] as Serve<ModelOperation>;
  return serveAs(inference, askFrom(inference, 0), passes);
}

/** The plan before the model is found. */
const UNPLANNED = { targets: [] };
const NO_TOOLS: readonly HostedTool[] = [];

function begin<K extends ModelOperation>(incoming: Incoming<K>): Inference<K> {
  const { protocol, input, wire, context } = incoming;
  const { operation } = protocol;
  const beside = protocol.toolsBeside?.(wire)?.tools ?? NO_TOOLS;
  let facts = factsOfRequest(incoming);
  if (beside.length > 0) facts |= FACT.hostedTools;
  if (operation === "generate" && "stream" in input) context.requestLog.entry.stream = input.stream;
  return {
    ...incoming,
    operation,
    exchange: openExchange(incoming, input),
    facts,
    // A client that counts tokens has no use for what the limits of a model would change.
    note: operation === "countTokens" ? () => {} : context.note,
    plan: UNPLANNED,
    added: addedIn(input),
    beside,
    estimate: 0,
    ...(wantsExplanation(wire) && { steps: [] }),
  };
}

function factsOfRequest<K extends ModelOperation>(
  { input, protocol, conversationCache, begin, context }: Incoming<K>,
): Facts {
  let facts = "messages" in input ? factsOf(input) : 0;
  if (conversationCache) facts |= FACT.continues | FACT.kept;
  if (begin) facts |= FACT.background;
  if (isStrict(context)) facts |= FACT.strict;
  if (protocol.reasoning) facts |= FACT.sealed;
  return context.gateway.secrets.length > 0 || context.caller.token !== undefined ? facts | FACT.secrets : facts;
}

const NOTHING: AddedTurn = { messages: [] };

/** The turn that the client added. */
function addedIn<K extends ModelOperation>(input: Input<K>): AddedTurn {
  if (!("messages" in input)) return NOTHING;
  const { messages, recall } = input;
  return { messages: recall ? messages.slice(recall.at) : messages };
}

/** The inference once its request has passed all stages that change it. */
export function passDown<K extends ModelOperation>(incoming: Incoming<K>): Inference | Promise<Inference> {
  return passFrom(0, BY_OPERATION[incoming.protocol.operation], begin(incoming));
}

/** Passes the request through the stages from number `from` on. It waits only for those that have to wait. */
function passFrom(from: number, stages: readonly Stage[], inference: Inference): Inference | Promise<Inference> {
  let passed = inference;
  for (let at = from; at < stages.length; at++) {
    const stage = stages[at]!;
    if (!stage.request || isNeedless(stage, passed)) continue;
    const changed = passed.steps ? explainStage(stage, passed, passed.steps) : stage.request(passed);
    if (changed instanceof Promise) return changed.then((one) => passFrom(at + 1, stages, one));
    passed = changed;
  }
  if (passed.operation !== "relay") passed.exchange.input = passed.input;
  return passed;
}

function isNeedless({ needs }: Stage, { facts }: Inference): boolean {
  return needs !== undefined && (needs & facts) === 0;
}

/** Asks the stages from number `from` on for their answer. Below the last one, the upstream is called. */
function askFrom(inference: Inference, from: number): Answer<ModelOperation> {
  const stages = BY_OPERATION[inference.operation];
  for (let at = from; at < stages.length; at++) {
    const stage = stages[at]!;
    if (stage.around && !isNeedless(stage, inference)) {
      return stage.around(inference, (changed) => askFrom(changed, at + 1));
    }
  }
  return call(inference);
}

/** Calls the upstream. */
function call({ operation, input, attempt }: Inference): Answer<ModelOperation> {
  if (!attempt) throw new Error("No target was chosen");
  if (operation === "speak") return wholeAnswer(() => speak(attempt as Attempt<"speak">));
  return isStreamed(operation, input) ? streamedAnswer(stream(attempt)) : wholeAnswer(() => answer(attempt));
}
