/**
 * How servers of one kind accept a conversation. The core prepares the request accordingly, so that a driver writes it
 * as it is. Every change to a request for a target is in one list (`src/inference/target_stages.ts`).
 */
import type { GenerateRequest, Message, ReasoningPart, Thinking } from "../canonical/generate.ts";
import type { SamplingParameter } from "../canonical/sampling.ts";

/** Which call ids a server accepts, and how long one may be. */
export interface IdRule {
  taken: RegExp;
  length: number;
}

export interface Intake {
  /** The wire whose parts, cache hints and reasoning it understands. */
  wire: string;
  /** Whether it understands cache hints that were set on another wire. */
  takesCacheHints: boolean;
  /** Where tool results may appear: directly after the turn that called the tools, or anywhere later. */
  results: "after-calls" | "anywhere";
  /** Whether a turn must be passed to the upstream unchanged. */
  isWhole?(message: Message): boolean;
  callIds: IdRule;
  /** Whether a request can list all tools and name the allowed ones. If not, the model is offered only those. */
  namesAllowedTools: boolean;
  /** Whether it summarizes conversations that become too long, for clients of its own wire that request it. */
  compacts?: boolean;
  /**
   * Whether it supports deferred tools, which its model sees only once the conversation mentions them. Clients of its
   * own wire request them.
   */
  knowsDeferredTools: boolean;
  /** Whether it searches the request's deferred tools itself, for clients of its own wire that ask for the search. */
  searchesTools?: boolean;
  /**
   * The request's thinking, restricted to the levels of its model's family, with each change reported to `note`.
   * If absent, the thinking stays unchanged.
   */
  holdThinking?(request: GenerateRequest, note: (text: string) => void): Thinking | undefined;
  /** Whether reasoning of earlier turns is refused for lack of a signature. If absent, none is refused. */
  isUnsigned?(part: ReasoningPart): boolean;
  /** Whether it accepts the steps of hosted tools in its own wire's format. */
  knowsSteps?: boolean;
  /** The smallest output limit that it accepts, in tokens. On some wires 0 warms a cache. */
  leastOutputTokens?: number;
  /** The controls for which the wire has no field, with their names in notes. */
  lacks?: Readonly<Partial<Record<Control, string>>>;
}

/** The parameters that steer an answer and can be left out. */
export type Control =
  | SamplingParameter
  | "stopSequences"
  | "seed"
  | "verbosity"
  | "cacheKey"
  | "metadata";
