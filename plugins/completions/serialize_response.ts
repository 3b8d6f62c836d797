import type { CompleteResponse, Completion, TokenLogprobs } from "../../src/canonical/complete.ts";
import { type Extra, fieldsFor } from "../../src/canonical/extra.ts";
import type { Finish } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Usage } from "../../src/canonical/usage.ts";
import type { Exchange } from "../../src/contract/context.ts";
import { WIRE } from "./wire.ts";

type CompletionExchange = Exchange<"complete">;

/** A whole answer, under the model name that the client knows. */
export function serializeResponse(
  { choices, usage, extra }: CompleteResponse,
  exchange: CompletionExchange,
): JsonObject {
  return {
    ...answer(exchange, choices.map(serializeChoice), extra),
    usage: serializeUsage(usage as Usage),
  };
}

/** The fields that an answer and each of its chunks have. */
export function answer({ id, created, input }: CompletionExchange, choices: JsonObject[], extra?: Extra): JsonObject {
  return { id, object: "text_completion", created, model: input.model, choices, ...fieldsFor(WIRE, extra) };
}

function serializeChoice({ text, finish, logprobs, extra }: Completion, index: number): JsonObject {
  return {
    text,
    index,
    logprobs: logprobs ? serializeLogprobs(logprobs) : null,
    finish_reason: serializeFinish(finish),
    ...fieldsFor(WIRE, extra),
  };
}

export function serializeLogprobs({ tokens, logprobs, alternatives, offsets }: TokenLogprobs): JsonObject {
  return { tokens, token_logprobs: logprobs, top_logprobs: alternatives, text_offset: offsets };
}

/** A word that no other wire has is passed on. */
export function serializeFinish({ reason, raw }: Finish): string {
  switch (reason) {
    case "length":
      return "length";
    case "content-filter":
      return "content_filter";
    case "other":
      return raw ?? "stop";
    default:
      return "stop";
  }
}

export function serializeUsage({ inputTokens, outputTokens, cachedInputTokens }: Usage): JsonObject {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cachedInputTokens !== undefined && { prompt_tokens_details: { cached_tokens: cachedInputTokens } }),
  };
}
