/** Parts of earlier turns that a client no longer wants its model to read. The client's own history keeps them. */

/** One wish of a client. `type` is the client's name for it, under which its effect is reported. */
export type Edit = ClearToolUses | ClearThinking;

/** Empties the results of earlier tool calls, oldest first. */
export interface ClearToolUses {
  kind: "tool uses";
  type: string;
  /** The edit applies if the conversation has more input tokens, or more tool uses, than this. */
  trigger: { inputTokens: number } | { toolUses: number };
  /** How many of the latest tool uses stay as they are. */
  keep: number;
  /** The fewest tokens that are cleared at once, so that the beginning of the prompt seldom changes. */
  clearAtLeast?: number;
  /** The names of tools whose uses stay. */
  exclude: readonly string[];
  /** Whether the inputs of the calls are emptied too: of all tools, or of these. */
  inputs: boolean | readonly string[];
}

/** Leaves out the model's reasoning of earlier turns. */
export interface ClearThinking {
  kind: "thinking";
  type: string;
  /** How many of the latest turns with reasoning keep it. */
  keep: number | "all";
}

/** The effect of one edit. `count`: tool uses, or turns with reasoning. `inputTokens`: estimated. */
export interface AppliedEdit {
  kind: Edit["kind"];
  type: string;
  count: number;
  inputTokens: number;
}
