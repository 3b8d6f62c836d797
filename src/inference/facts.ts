/**
 * The facts about a request, as a set of bits: computed in one pass once it is parsed, and again where a stage changes
 * its turns. A stage is called only if the request has one of the facts that the stage `needs`.
 */
import type { GenerateRequest, OutputPart, ToolResultPart } from "../canonical/generate.ts";

export const FACT = {
  /** Calls of tools, or their results. */
  calls: 1 << 0,
  files: 1 << 1,
  reasoning: 1 << 2,
  /** Parts that only their own wire knows. */
  opaque: 1 << 3,
  /** Steps of hosted tools in earlier turns. */
  hostedSteps: 1 << 4,
  tools: 1 << 5,
  /** Tools that a server runs, in the list of tools or beside it. */
  hostedTools: 1 << 6,
  outputSchema: 1 << 7,
  /** It continues stored answers, or a conversation that a socket keeps. */
  continues: 1 << 8,
  /** Its answer is kept. */
  kept: 1 << 9,
  /** The conversation may have to be shortened: by a summary, or by clearing parts of it. */
  compaction: 1 << 10,
  relay: 1 << 11,
  /** Its answer is made in the background. */
  background: 1 << 12,
  /** The model's levels of effort are known. */
  efforts: 1 << 13,
  /** The model's modalities are known. */
  modalities: 1 << 14,
  /** The lengths of the model's answers or of its context are known. */
  lengths: 1 << 15,
  /** There are several targets, or an upstream that chooses among providers. */
  choice: 1 << 16,
  /** The attempt has a span. */
  traced: 1 << 17,
  /** The target's calls are repaired. */
  repaired: 1 << 18,
  /** The target's family restricts thinking. */
  heldThinking: 1 << 19,
  /** The target takes cache hints of other wires than the client's. */
  adoptedHints: 1 << 20,
  /** The target refuses cache hints. */
  refusedHints: 1 << 21,
  /** The target refuses reasoning of earlier turns. */
  refusedReasoning: 1 << 22,
  /** The output schema is requested in the prompt. */
  worded: 1 << 23,
  /** The target speaks another wire than the client, or one on which results may be anywhere. */
  arranged: 1 << 24,
  /** The target's wire lacks fields for some controls. */
  lackedControls: 1 << 25,
  /** The target, or a budget, limits the length of the answer. */
  limitedAnswer: 1 << 26,
  /** The model is offered tools that the gateway runs. */
  offered: 1 << 27,
  /** The client prefers an error to an answer with notes. */
  strict: 1 << 28,
  /** The protocol has a field for sealed reasoning. */
  sealed: 1 << 29,
  /** The gateway or the caller has secrets that an answer might repeat. */
  secrets: 1 << 30,
  /** The configuration has stages of plugins. */
  staged: 1 << 31,
} as const;

/** Bits of `FACT`. */
export type Facts = number;

type PartType = OutputPart["type"] | ToolResultPart["type"];

const OF_PART: Record<PartType, Facts> = {
  text: 0,
  refusal: 0,
  file: FACT.files,
  reasoning: FACT.reasoning,
  opaque: FACT.opaque,
  hosted: FACT.hostedSteps,
  "tool-call": FACT.calls,
  "tool-result": FACT.calls,
};

/** The bits that the turns of a conversation set. */
const OF_TURNS = Object.values(OF_PART).reduce((all, one) => all | one, 0);

/** The facts about a conversation. Those about its model, targets and client are added where they become known. */
export function factsOf(request: GenerateRequest): Facts {
  const { tools, outputSchema, recall, compaction, editing, relay } = request;
  let facts = factsOfTurns(request);
  if (tools) {
    facts |= FACT.tools;
    for (const { type } of tools) if (type === "hosted") facts |= FACT.hostedTools;
  }
  if (outputSchema) facts |= FACT.outputSchema;
  if (compaction || editing) facts |= FACT.compaction;
  if (relay) facts |= FACT.relay;
  if (!recall) return facts;
  const { previous, references, conversation, keep } = recall;
  if (conversation !== undefined || keep) facts |= FACT.kept;
  return previous !== undefined || references?.length || conversation !== undefined ? facts | FACT.continues : facts;
}

function factsOfTurns({ messages }: Pick<GenerateRequest, "messages">): Facts {
  let facts = 0;
  for (const { role, content } of messages) {
    if (role === "tool") facts |= FACT.calls;
    for (const part of content) {
      facts |= OF_PART[part.type];
      if (part.type === "tool-result") { for (const { type } of part.content) facts |= OF_PART[type]; }
    }
  }
  return facts;
}

/** The facts once the conversation has other turns. */
export function withTurnsOf(facts: Facts, request: Pick<GenerateRequest, "messages">): Facts {
  return facts & ~OF_TURNS | factsOfTurns(request);
}
