import type { GatewayError } from "../errors.ts";
import type { Extra } from "./extra.ts";
import type { Finish } from "./generate.ts";
import type { JsonObject } from "./json.ts";
import type { SamplingParameters } from "./sampling.ts";
import type { ReportedUsage } from "./usage.ts";

/** A request to continue texts, without turns and without a chat template. */
export interface CompleteRequest extends SamplingParameters {
  model: string;
  /** Texts, or token ids of the model itself. Each gets completions of its own. */
  prompts: (string | number[])[];
  /** The text after the gap: the completion fills what is between the prompt and it. */
  suffix?: string;
  /** Other files that the model may learn from. */
  files?: { name?: string; text: string }[];
  /** The beginning of the text in the gap. The completion goes on after it. */
  begin?: string;
  stream: boolean;
  /** How many completions each prompt gets. By default one. */
  count?: number;
  /** From how many completions the server picks them. */
  bestOf?: number;
  /** Whether each completion begins with its prompt. */
  echo?: boolean;
  /** How many alternatives of each token to return with their log probabilities. */
  logprobs?: number;
  /** 0 asks for no text, such as to have the server read the prompt. */
  maxOutputTokens?: number;
  seed?: number;
  stopSequences?: string[];
  extra?: Extra;
}

export interface CompleteResponse {
  model: string;
  /** All completions of the first prompt, then those of the next. */
  choices: Completion[];
  usage: ReportedUsage;
  extra?: Extra;
}

export interface Completion {
  text: string;
  finish: Finish;
  logprobs?: TokenLogprobs;
  extra?: Extra;
}

/** The tokens of a completion and how likely they were. All lists have one entry for each token. */
export interface TokenLogprobs {
  tokens: string[];
  /** `null` for the first token of a prompt. */
  logprobs: (number | null)[];
  /** The alternatives of each token. */
  alternatives: (JsonObject | null)[];
  /** The position of each token in the text, in characters. */
  offsets: number[];
}

export type CompleteEvent =
  /** `index`: the position among all completions. */
  | { type: "delta"; index: number; text: string; logprobs?: TokenLogprobs; extra?: Extra }
  /** A completion is over. */
  | { type: "choice-end"; index: number; finish: Finish; extra?: Extra }
  | { type: "finish"; usage: ReportedUsage; finish?: Finish; extra?: Extra }
  | { type: "error"; error: GatewayError };
