/** llama.cpp's wires: infill, and its own form of completions. */
import { z } from "zod";
import type { CompleteEvent, CompleteRequest, CompleteResponse } from "../../src/canonical/complete.ts";
import { type Extra, extraOf, fieldsFor } from "../../src/canonical/extra.ts";
import type { Finish } from "../../src/canonical/generate.ts";
import { asList, asObject, copyRenamed, isJsonObject, type JsonObject, present } from "../../src/canonical/json.ts";
import type { Usage } from "../../src/canonical/usage.ts";
import type { Exchange } from "../../src/contract/context.ts";
import type { StreamWriter } from "../../src/contract/stream.ts";
import { validate } from "../../src/contract/validate.ts";
import { CHAT_SAMPLING } from "../shared/sampling.ts";
import { double, name } from "../shared/shapes.ts";
import { serializeInfillErrorBody } from "./errors.ts";
import { parseStop } from "./parse_request.ts";

export const INFILL = "infill";

const requestFields = {
  model: name,
  /** Goes after the mark of the gap. */
  prompt: z.string().nullish(),
  input_prefix: z.string(),
  input_suffix: z.string(),
  input_extra: z.array(z.looseObject({ filename: z.string().nullish(), text: z.string() })).nullish(),
  /** Less than 0 means as many tokens as there is room for. */
  n_predict: double(z.int()).nullish(),
  ...CHAT_SAMPLING.shape,
  seed: double(z.int()).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(64)]).nullish(),
  stream: z.boolean().nullish(),
  /** The fields of the answer that the client wants, such as `timings/prompt_ms`. */
  response_fields: z.array(z.string()).nullish(),
};
export const infillSchema = z.looseObject(requestFields);
const REQUEST_KEYS: ReadonlySet<string> = new Set(Object.keys(requestFields));
/** They are about the server's caches and times, and change nothing of the text. */
const HINTS: ReadonlySet<string> = new Set([
  "cache_prompt",
  "id_slot",
  "n_cache_reuse",
  "t_max_prompt_ms",
  "t_max_predict_ms",
]);

export function parseInfill(received: unknown): CompleteRequest {
  const body = validate(infillSchema, received);
  const { input_extra: files, n_predict: most, seed } = body;
  const extra = parseExtra(body);
  return {
    model: body.model,
    prompts: [body.input_prefix],
    suffix: body.input_suffix,
    ...(files && files.length > 0 && {
      files: files.map(({ filename, text }) => ({ ...present("name", filename), text })),
    }),
    ...(body.prompt && { begin: body.prompt }),
    stream: body.stream ?? false,
    ...(most !== null && most !== undefined && most >= 0 && { maxOutputTokens: most }),
    ...copyRenamed(body, CHAT_SAMPLING.parsed),
    // The server draws one for less than 0.
    ...(seed !== null && seed !== undefined && seed >= 0 && { seed }),
    ...parseStop(body.stop),
    ...(extra && { extra }),
  };
}

/** An empty list of samplers asks for no sampling, which matters only where no text is wanted. */
function parseExtra(body: z.output<typeof infillSchema>): Extra | undefined {
  const { fields = {} } = extraOf(INFILL, body, REQUEST_KEYS) ?? {};
  const entries = Object.entries(fields);
  const isHint = ([name, value]: [string, unknown]) => HINTS.has(name) || Array.isArray(value) && value.length === 0;
  if (entries.length === 0) return undefined;
  return {
    wire: INFILL,
    fields: Object.fromEntries(entries.filter((entry) => !isHint(entry))),
    hints: Object.fromEntries(entries.filter(isHint)),
  };
}

type InfillExchange = Exchange<"complete">;

export function serializeInfill(
  { choices: [choice], usage, extra }: CompleteResponse,
  exchange: InfillExchange,
): JsonObject {
  const { text = "", finish = { reason: "stop" as const } } = choice ?? {};
  return chosen({ ...ending(finish, usage as Usage, exchange), ...fieldsFor(INFILL, extra), content: text }, exchange);
}

/** The fields of the end of an answer. The server's own figures come from its answer, if it has this wire. */
function ending(finish: Finish, { inputTokens, outputTokens }: Usage, exchange: InfillExchange): JsonObject {
  const ms = Math.max(0.001, exchange.elapsedMs());
  const { reason, stopSequence } = finish;
  return {
    index: 0,
    content: "",
    model: exchange.input.model,
    stop: true,
    stop_type: reason === "length" ? "limit" : stopSequence === undefined ? "eos" : "word",
    stopping_word: stopSequence ?? "",
    tokens_predicted: outputTokens,
    tokens_evaluated: inputTokens,
    truncated: false,
    timings: {
      prompt_n: inputTokens,
      prompt_ms: 0,
      predicted_n: outputTokens,
      predicted_ms: ms,
      predicted_per_token_ms: ms / Math.max(1, outputTokens),
      predicted_per_second: outputTokens / ms * 1000,
    },
  };
}

/** The fields that the client wants, each under its whole path. Those that are not there are left out. */
function chosen(answer: JsonObject, { wire }: InfillExchange): JsonObject {
  const wanted = asList(asObject(wire.body).response_fields).filter((path) => typeof path === "string");
  if (wanted.length === 0) return answer;
  const found: JsonObject = {};
  for (const path of wanted) {
    let value: unknown = answer;
    for (const key of path.split("/")) {
      value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    }
    if (value !== undefined) found[path] = value as JsonObject[string];
  }
  return found;
}

/** Writes a frame for each piece, and one with the figures. There is no `[DONE]`. */
export function serializeInfillStream(exchange: InfillExchange): StreamWriter<CompleteEvent> {
  return {
    write(event, emit) {
      switch (event.type) {
        case "delta":
          return emit({ data: JSON.stringify({ index: 0, content: event.text, stop: false }) });
        case "choice-end":
          return;
        case "finish": {
          const end = ending(event.finish ?? { reason: "stop" }, event.usage as Usage, exchange);
          return emit({ data: JSON.stringify(chosen({ ...end, ...fieldsFor(INFILL, event.extra) }, exchange)) });
        }
        case "error":
          return emit({ data: JSON.stringify(serializeInfillErrorBody(event.error)) });
        default:
          event satisfies never;
      }
    },
  };
}
