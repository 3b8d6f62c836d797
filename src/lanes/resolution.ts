import type { Effort } from "../canonical/generate.ts";
import type { Modality } from "../canonical/models.ts";
import type { Destination } from "../contract/destination.ts";

/** What a model can take; nothing where it is not known. */
export interface Limits {
  /** The levels of reasoning effort that the model knows; empty for none. */
  efforts?: Effort[];
  /** Tokens of input and output together. */
  contextLength?: number;
  maxOutputTokens?: number;
  inputModalities?: readonly Modality[];
}

/** What a model name means for one operation. */
export interface Resolution extends Limits {
  /** In order of preference. */
  targets: readonly Destination[];
  /** After what silence of a streamed answer's target the next one is asked too, in milliseconds. */
  hedgeAfterMs?: number;
}
