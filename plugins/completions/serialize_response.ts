import type { CompleteEvent, CompleteResponse, Completion, TokenLogprobs } from "../../src/canonical/complete.ts";
import { type Extra, fieldsFor } from "../../src/canonical/extra.ts";
import type { Finish } from "../../src/canonical/generate.ts";
import { asObject, type JsonObject } from "../../src/canonical/json.ts";
import type { Usage } from "../../src/canonical/usage.ts";
import type { Exchange } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamWriter } from "../../src/contract/stream.ts";
import { serializeErrorBody } from "../shared/errors.ts";
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

function answer({ id, created, input }: CompletionExchange, choices: JsonObject[], extra?: Extra): JsonObject {
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

function serializeLogprobs({ tokens, logprobs, alternatives, offsets }: TokenLogprobs): JsonObject {
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

/** Writes chunks, which have the form of a whole answer, then `[DONE]`. A failure is a frame with `error`, and nothing follows it. */
export function serializeStream(exchange: CompletionExchange): StreamWriter<CompleteEvent> {
  const { include_usage: showsUsage } = asObject(asObject(exchange.wire.body).stream_options);
  const chunk = (choice: JsonObject, extra?: Extra) =>
    frame({
      ...answer(exchange, [{ ...choice, ...fieldsFor(WIRE, extra) }]),
      ...(showsUsage === true && { usage: null }),
    });
  return {
    write(event: CompleteEvent, emit: Emit<Frame>): void {
      switch (event.type) {
        case "delta": {
          const { text, index, logprobs, extra } = event;
          const likely = logprobs ? serializeLogprobs(logprobs) : null;
          return emit(chunk({ text, index, logprobs: likely, finish_reason: null }, extra));
        }
        case "choice-end": {
          const { index, finish, extra } = event;
          return emit(chunk({ text: "", index, logprobs: null, finish_reason: serializeFinish(finish) }, extra));
        }
        case "finish":
          if (showsUsage === true) {
            emit(frame({ ...answer(exchange, []), usage: serializeUsage(event.usage as Usage) }));
          }
          return emit({ data: "[DONE]" });
        case "error":
          return emit(frame(serializeErrorBody(event.error)));
        default:
          event satisfies never;
      }
    },
  };
}

function frame(body: JsonObject): Frame {
  return { data: JSON.stringify(body) };
}
