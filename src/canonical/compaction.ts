/** A conversation that grew too long goes on from a summary of what went before. */
import type { Extra } from "./extra.ts";

/** What a request asks of whoever shortens its conversation. */
export interface CompactionRequest {
  /**
   * `now`: the summary is the answer. Otherwise it comes before the answer, where the conversation has so many tokens; nothing
   * leaves the number to the model's context window.
   */
  when: "now" | { inputTokens?: number };
  covers: Covered;
  /** What the model is asked for the summary with, in place of the gateway's own words. */
  instructions?: string;
  /** Whether the client wants to see the summary first, and to ask for the answer itself. */
  pauses?: boolean;
  /** Fields of the wish that the gateway does not know. */
  unknown?: string[];
  /** The request's `extra`, where the gateway makes the summary. */
  extra?: Extra;
}

/** What of the turns before it a summary stands for: all but the instructions, or the model's own and the results of its tools. */
export type Covered = "all" | "answers";

/** A summary that the gateway wrote and the client keeps. */
export interface SealedSummary {
  data: string;
  covers: Covered;
}
