/** Mistral's wire of fill-in-the-middle, whose answers have the form of chat completions. */
import { z } from "zod";
import type { CompleteEvent, CompleteRequest, CompleteResponse } from "../../src/canonical/complete.ts";
import { extraField } from "../../src/canonical/extra.ts";
import { copyRenamed, type JsonObject, present } from "../../src/canonical/json.ts";
import type { Usage } from "../../src/canonical/usage.ts";
import type { Exchange } from "../../src/contract/context.ts";
import type { StreamWriter } from "../../src/contract/stream.ts";
import { validate } from "../../src/contract/validate.ts";
import { serializeErrorBody } from "../shared/errors.ts";
import { CHAT_SAMPLING } from "../shared/sampling.ts";
import { double, name } from "../shared/shapes.ts";
import { parseStop } from "./parse_request.ts";
import { serializeFinish, serializeUsage } from "./serialize_response.ts";

const WIRE = "fim";

const requestFields = {
  model: name,
  prompt: z.string(),
  suffix: z.string().nullish(),
  max_tokens: double(z.int().min(0)).nullish(),
  ...CHAT_SAMPLING.shape,
  stop: z.union([z.string(), z.array(z.string()).max(64)]).nullish(),
  random_seed: double(z.int()).nullish(),
  stream: z.boolean().nullish(),
};
export const fimSchema = z.looseObject(requestFields);
const REQUEST_KEYS: ReadonlySet<string> = new Set(Object.keys(requestFields));

export function parseFim(received: unknown): CompleteRequest {
  const body = validate(fimSchema, received);
  return {
    model: body.model,
    prompts: [body.prompt],
    ...present("suffix", body.suffix),
    stream: body.stream ?? false,
    ...present("maxOutputTokens", body.max_tokens),
    ...copyRenamed(body, CHAT_SAMPLING.parsed),
    ...present("seed", body.random_seed),
    ...parseStop(body.stop),
    ...extraField(WIRE, body, REQUEST_KEYS),
  };
}

type FimExchange = Exchange<"complete">;

export function serializeFim({ choices, usage }: CompleteResponse, exchange: FimExchange): JsonObject {
  return {
    ...answer("chat.completion", exchange),
    choices: choices.map(({ text, finish }, index) => ({
      index,
      message: { role: "assistant", content: text, tool_calls: null },
      finish_reason: serializeFinish(finish),
    })),
    usage: serializeUsage(usage as Usage),
  };
}

function answer(object: string, { id, created, input }: FimExchange): JsonObject {
  return { id, object, created, model: input.model };
}

/** Writes chunks, then `[DONE]`. The last chunk has the usage. */
export function serializeFimStream(exchange: FimExchange): StreamWriter<CompleteEvent> {
  const chunk = (delta: JsonObject, finish_reason: string | null, usage?: Usage) => ({
    data: JSON.stringify({
      ...answer("chat.completion.chunk", exchange),
      choices: [{ index: 0, delta, finish_reason }],
      ...(usage && { usage: serializeUsage(usage) }),
    }),
  });
  return {
    write(event, emit) {
      switch (event.type) {
        case "delta":
          return emit(chunk({ role: "assistant", content: event.text }, null));
        case "choice-end":
          return;
        case "finish":
          emit(chunk({ content: "" }, serializeFinish(event.finish ?? { reason: "stop" }), event.usage as Usage));
          return emit({ data: "[DONE]" });
        case "error":
          return emit({ data: JSON.stringify(serializeErrorBody(event.error)) });
        default:
          event satisfies never;
      }
    },
  };
}
