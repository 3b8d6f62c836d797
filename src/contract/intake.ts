/**
 * How servers of one kind take a conversation. The core prepares the request by it, so that a driver writes what it is given:
 * what changes a request for a target is in one list (`src/operations/prepare.ts`).
 */
import type { GenerateRequest, Message, ReasoningPart, Thinking } from "../canonical/generate.ts";

/** Which ids of calls a server takes, and how long one may be. */
export interface IdRule {
  taken: RegExp;
  length: number;
}

export interface Intake {
  /** The wire whose parts, hints and reasoning are its own. */
  wire: string;
  /** Whether hints of where a prefix ends, given on another wire, are understood. */
  takesCacheHints: boolean;
  /** Where results of tools stand: right after the turn that called for them, or anywhere after it. */
  results: "after-calls" | "anywhere";
  /** Turns that are the upstream's own affair, as they came. */
  isWhole?(message: Message): boolean;
  callIds: IdRule;
  /** Whether the tools that a choice allows can be named beside the others; else the model is offered those alone. */
  namesAllowedTools: boolean;
  /** Whether it summarizes conversations that become too long, for clients of its own wire that ask for it. */
  compacts?: boolean;
  /** Whether it knows tools that its model is not shown before the conversation brings them up. Its own wire's clients ask so. */
  knowsDeferredTools: boolean;
  /** The request's thinking, held to the levels of its model's family; as it is where absent. `note` is given every change. */
  holdThinking?(request: GenerateRequest, note: (text: string) => void): Thinking | undefined;
  /** Whether reasoning of earlier turns is refused, because nobody has signed it; none is where absent. */
  isUnsigned?(part: ReasoningPart): boolean;
  /** Whether it takes what hosted tools did in the words of its own wire. */
  knowsSteps?: boolean;
  /** The least that an answer may be limited to, in tokens. On some wires 0 warms a cache. */
  leastOutputTokens?: number;
  /** The controls that the wire has no field for, and what notes call them. */
  lacks?: Readonly<Partial<Record<Control, string>>>;
}

/** What steers an answer, and can be left out. */
export type Control =
  | "presencePenalty"
  | "frequencyPenalty"
  | "topK"
  | "stopSequences"
  | "seed"
  | "verbosity"
  | "cacheKey"
  | "metadata";
