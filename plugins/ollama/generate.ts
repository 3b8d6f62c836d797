/** The endpoint for prompts. A prompt is a turn of a conversation, unless it is raw or has a suffix: then the model goes on with it. */
import type { CompleteEvent, CompleteRequest, CompleteResponse } from "../../src/canonical/complete.ts";
import { type Extra, extraOf, inside } from "../../src/canonical/extra.ts";
import type { GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import { asObject, copyRenamed, isJsonObject, type JsonObject, present } from "../../src/canonical/json.ts";
import type { Usage } from "../../src/canonical/usage.ts";
import type { Exchange, WireRequest } from "../../src/contract/context.ts";
import type { StreamWriter } from "../../src/contract/stream.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { OLLAMA_SAMPLING } from "../shared/sampling.ts";
import { serializeErrorBody } from "./errors.ts";
import { parseRequest } from "./parse_request.ts";
import { serializeEnd, serializeResponse } from "./serialize_response.ts";
import { GENERATE_KEYS, generatedLine, generateSchema, type OllamaGenerate, OPTION_KEYS, WIRE } from "./wire.ts";

/** Whether the request is no turn. */
export function isCompletion({ body }: WireRequest): boolean {
  const { raw, suffix } = asObject(body);
  return raw === true || (typeof suffix === "string" && suffix !== "");
}

/** A prompt as the only turn of a conversation. */
export function parseGenerate(wire: WireRequest): GenerateRequest {
  const asked = validate(generateSchema, wire.body);
  refuseUnserved(asked);
  const { prompt, system, images, raw: _raw, suffix: _suffix, template: _template, context: _context, ...rest } = asked;
  const hasPrompt = Boolean(prompt) || (images?.length ?? 0) > 0;
  const messages = [
    ...system ? [{ role: "system", content: system }] : [],
    ...hasPrompt ? [{ role: "user", content: prompt ?? "", images }] : [],
  ];
  return parseRequest({ ...wire, body: { ...rest, messages: hasPrompt ? messages : [] } });
}

function refuseUnserved({ raw, template, context, system }: OllamaGenerate): void {
  const given = { template, context: context && context.length > 0 ? context : undefined, ...(raw && { system }) };
  for (const [param, value] of Object.entries(given)) {
    if (!value) continue;
    const message = raw
      ? `"raw" does not go with "${param}"`
      : `The gateway does not support "${param}": send the turns of a conversation to /api/chat`;
    throw new GatewayError("invalid_request", message, { param });
  }
}

export function parseCompletion({ body: received }: WireRequest): CompleteRequest {
  const body = validate(generateSchema, received);
  refuseUnserved(body);
  const { options, prompt, suffix, stream, images, system, format, think } = body;
  for (const [param, value] of Object.entries({ images: images?.length, system, format, think })) {
    if (value) throw new GatewayError("invalid_request", `A completion has no "${param}"`, { param });
  }
  const stops = typeof options?.stop === "string" ? [options.stop] : options?.stop?.filter((one) => one !== "") ?? [];
  const limit = options?.num_predict ?? 0;
  const extra = parseExtra(body);
  return {
    model: body.model,
    prompts: [prompt ?? ""],
    ...(suffix && present("suffix", suffix)),
    stream: stream ?? true,
    ...(limit > 0 && { maxOutputTokens: limit }),
    ...(options && copyRenamed(options, OLLAMA_SAMPLING.parsed)),
    ...(stops.length > 0 && { stopSequences: stops }),
    ...(extra && { extra }),
  };
}

/** How long a server keeps its model loaded is no part of the answer. */
function parseExtra(body: OllamaGenerate): Extra | undefined {
  const { keep_alive, ...outer } = extraOf(WIRE, body, GENERATE_KEYS)?.fields ?? {};
  const fields = {
    ...outer,
    ...inside("options", isJsonObject(body.options) ? extraOf(WIRE, body.options, OPTION_KEYS) : undefined),
  };
  if (Object.keys(fields).length === 0 && keep_alive === undefined) return undefined;
  return { wire: WIRE, fields, ...(keep_alive !== undefined && { hints: { keep_alive } }) };
}

export function serializeGenerated(output: GenerateResponse, exchange: Exchange<"generate">): JsonObject {
  return serializeResponse(output, exchange, generatedLine);
}

export function serializeCompletion(
  { choices: [choice], usage }: CompleteResponse,
  exchange: Exchange<"complete">,
): JsonObject {
  const { text = "", finish = { reason: "stop" as const } } = choice ?? {};
  const end = serializeEnd(finish, usage as Usage, exchange, 0);
  return generatedLine(exchange.input.model, exchange.now(), { content: text }, end);
}

export function serializeCompletionStream(exchange: Exchange<"complete">): StreamWriter<CompleteEvent> {
  const line = (text: string, rest?: JsonObject) => ({
    data: JSON.stringify(generatedLine(exchange.input.model, exchange.now(), { content: text }, rest)),
  });
  let beganMs: number | undefined;
  return {
    write(event, emit) {
      beganMs ??= exchange.elapsedMs();
      switch (event.type) {
        case "delta":
          return emit(line(event.text));
        case "choice-end":
          return;
        case "finish":
          return emit(
            line("", serializeEnd(event.finish ?? { reason: "stop" }, event.usage as Usage, exchange, beganMs)),
          );
        case "error":
          return emit({ data: JSON.stringify(serializeErrorBody(event.error)) });
        default:
          event satisfies never;
      }
    },
  };
}
