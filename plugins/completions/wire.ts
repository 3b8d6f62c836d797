/** The shapes of the completions wire, as both sides send them. */
import { z } from "zod";
import { CHAT_SAMPLING } from "../shared/sampling.ts";
import { double, name } from "../shared/shapes.ts";

export const WIRE = "completions";

/** The most completions of one request, and the most prompts. */
export const MOST_CHOICES = 128;
export const MOST_PROMPTS = 2_048;
/** The most completions of all prompts together, those included that `best_of` leaves out. */
export const MOST_COMPLETIONS = 2_048;
/** The most characters that an echo repeats, as many as an answer may have by default. Each token id counts as one. */
export const MOST_ECHOED = 8_388_608;

const count = double(z.int().min(1).max(MOST_CHOICES)).nullish();

export const requestFields = {
  model: name,
  suffix: z.string().nullish(),
  max_tokens: double(z.int().min(0)).nullish(),
  ...CHAT_SAMPLING.shape,
  n: count,
  best_of: count,
  echo: z.boolean().nullish(),
  /** Some clients send the switch of the chat wire. */
  logprobs: z.union([double(z.int().min(0).max(20)), z.boolean()]).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(64)]).nullish(),
  seed: double(z.int()).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
};
export const requestSchema = z.looseObject(requestFields);
export type CompletionsRequest = z.output<typeof requestSchema>;
export const REQUEST_KEYS: ReadonlySet<string> = new Set([...Object.keys(requestFields), "prompt"]);

const tokens = z.number().nullish().catch(undefined);

/** The answer of a server, or one chunk of it. Servers of fill-in-the-middle have the choices of the chat wire. */
export const answerSchema = z.looseObject({
  choices: z.array(z.looseObject({
    index: z.int().nullish(),
    text: z.string().nullish(),
    message: z.looseObject({ content: z.unknown().optional() }).nullish(),
    delta: z.looseObject({ content: z.unknown().optional() }).nullish(),
    logprobs: z.unknown().optional(),
    finish_reason: z.string().nullish(),
  })).nullish(),
  usage: z.looseObject({
    prompt_tokens: tokens,
    completion_tokens: tokens,
    total_tokens: tokens,
    prompt_tokens_details: z.looseObject({ cached_tokens: tokens }).nullish().catch(undefined),
  }).nullish().catch(undefined),
});
export const CHOICE_KEYS: ReadonlySet<string> = new Set([
  "index",
  "text",
  "message",
  "delta",
  "logprobs",
  "finish_reason",
]);
export const ANSWER_KEYS: ReadonlySet<string> = new Set(["id", "object", "created", "model", "choices", "usage"]);
