/** Attributes of spans, named by OpenTelemetry's conventions for generative AI. */
import { type Attributes, type AttributeValue, type Span, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import type { GenerateRequest } from "../canonical/generate.ts";
import type { ModelOperation } from "../canonical/operations.ts";
import type { ReportedUsage } from "../canonical/usage.ts";

/** Makes a whole number for the runtime's exporter. */
type Integer = (value: number) => AttributeValue;

export interface SpanFacts {
  version: string;
  /** The route of each protocol, by its name: `/:lane/v1/messages`. */
  routes: ReadonlyMap<string, string>;
  /** Whether the texts of clients and models are recorded. */
  content: boolean;
}

/** Everything that all spans share. */
export interface SpanWorld extends SpanFacts {
  maker: Tracer;
  integer: Integer;
  /** Whether the runtime makes spans of its own. */
  isAutomatic: boolean;
}

/** The attributes that have a value. */
export function present(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

/** Sets no message, because it may quote the client. */
export function fail(span: Span, error: string | undefined): void {
  if (error !== undefined) span.setAttribute("error.type", error);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

export const OPERATION_NAME: Readonly<Record<ModelOperation, string>> = {
  generate: "chat",
  relay: "chat",
  complete: "text_completion",
  decide: "decide",
  countTokens: "count_tokens",
  embed: "embeddings",
  rerank: "rerank",
  speak: "speech",
  transcribe: "transcription",
  draw: "image_generation",
};

export function usageAttributes(usage: ReportedUsage, integer: Integer): Attributes {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  const count = (tokens: number | undefined) =>
    tokens !== undefined && Number.isSafeInteger(tokens) ? integer(tokens) : undefined;
  return {
    "gen_ai.usage.input_tokens": count(inputTokens),
    "gen_ai.usage.output_tokens": count(outputTokens),
    "gen_ai.usage.cache_read.input_tokens": count(cachedInputTokens),
    "gen_ai.usage.cache_write.input_tokens": count(cacheWriteTokens),
    "gen_ai.usage.reasoning.output_tokens": count(reasoningTokens),
  };
}

/** The parameters of a request, without its content. */
export function controlAttributes(input: GenerateRequest, integer: Integer): Attributes {
  const { maxOutputTokens, temperature, topP, topK, seed, thinking } = input;
  const whole = (value: number | undefined) =>
    value !== undefined && Number.isSafeInteger(value) ? integer(value) : undefined;
  return {
    "gen_ai.request.max_tokens": whole(maxOutputTokens),
    "gen_ai.request.temperature": number(temperature),
    "gen_ai.request.top_p": number(topP),
    "gen_ai.request.top_k": whole(topK),
    "gen_ai.request.seed": whole(seed),
    "gen_ai.request.reasoning.level": thinking?.effort,
  };
}

function number(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** The address of an upstream. */
export function serverAttributes(baseUrl: string | undefined, integer: Integer): Attributes {
  const url = baseUrl === undefined ? null : URL.parse(baseUrl);
  if (!url) return {};
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  return { "server.address": url.hostname, "server.port": integer(port) };
}
