/** A conversation that became too long continues from a summary of its earlier turns. */
import type { Extra } from "./extra.ts";

/** How a request wants its conversation shortened. */
export interface CompactionRequest {
  /**
   * `now`: the summary is the answer. Otherwise the conversation is summarized before the answer if it has this many
   * tokens. Without a number, the model's context window decides.
   */
  when: "now" | { inputTokens?: number };
  covers: Covered;
  /** The prompt for the summary, instead of the gateway's own. */
  instructions?: string;
  /** Whether the client wants to receive the summary first, and then requests the answer itself. */
  pauses?: boolean;
  /** Fields of the compaction request that the gateway does not know. */
  unknown?: string[];
  /** The `extra` of the request, if the gateway makes the summary. */
  extra?: Extra;
}

/** Which earlier turns a summary replaces: all except the instructions, or only the model's own and its tool results. */
export type Covered = "all" | "answers";

/** A summary that the gateway wrote and the client keeps. */
export interface SealedSummary {
  data: string;
  covers: Covered;
}
