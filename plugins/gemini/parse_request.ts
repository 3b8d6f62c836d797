import { type Extra, extraOf, inside } from "../../src/canonical/extra.ts";
import type { Effort, GenerateRequest, Message, OutputSchema, Thinking } from "../../src/canonical/generate.ts";
import { EFFORTS } from "../../src/canonical/generate.ts";
import { asObject, copyRenamed, type JsonObject, present } from "../../src/canonical/json.ts";
import type { WireRequest } from "../../src/contract/context.ts";
import type { ReasoningPlace } from "../../src/contract/protocol.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { GEMINI_SAMPLING } from "../shared/sampling.ts";
import { Conversation, parseInputPart } from "./parse_content.ts";
import { toJsonSchema } from "./schema.ts";
import { inOneSpelling } from "./spelling.ts";
import { parseToolChoice, parseTools } from "./tools.ts";
import {
  CALLING_KEYS,
  CONFIG_KEYS,
  countSchema,
  type GeminiRequest,
  type GenerationConfig,
  REQUEST_KEYS,
  requestSchema,
  THINKING_KEYS,
  WIRE,
} from "./wire.ts";

/** A client's request for an answer. The path says which model, and whether it is streamed. */
export function parseRequest({ body, params }: WireRequest, stream: boolean): GenerateRequest {
  return parse(validate(requestSchema, inOneSpelling(body)), params.id ?? "", stream);
}

/** What is to be counted: a conversation, or a request with all that belongs to it. */
export function parseCount({ body, params }: WireRequest): GenerateRequest {
  const counted = validate(countSchema, inOneSpelling(body));
  const request = "generateContentRequest" in counted ? counted.generateContentRequest as GeminiRequest : counted;
  return parse(request as GeminiRequest, params.id ?? "", false);
}

function parse(body: GeminiRequest, model: string, stream: boolean): GenerateRequest {
  const { contents, tools, toolConfig, generationConfig: config } = body;
  refuseUnserved(body);
  const choice = parseToolChoice(toolConfig?.functionCallingConfig);
  const thinking = parseThinking(config?.thinkingConfig);
  const outputSchema = config ? parseForm(config) : undefined;
  const extra = parseExtra(body);
  return {
    model,
    messages: [...parseInstructions(body.systemInstruction), ...new Conversation().parse(contents)],
    stream,
    ...(tools && tools.length > 0 && { tools: parseTools(tools) }),
    ...(choice && { toolChoice: choice }),
    ...(thinking && { thinking }),
    ...present("maxOutputTokens", config?.maxOutputTokens),
    ...(config && copyRenamed(config, GEMINI_SAMPLING.parsed)),
    ...(config?.stopSequences && config.stopSequences.length > 0 && { stopSequences: config.stopSequences }),
    ...(outputSchema && { outputSchema }),
    ...(extra && { extra }),
  };
}

function parseInstructions(instructions: GeminiRequest["systemInstruction"]): Message[] {
  if (!instructions) return [];
  if (typeof instructions === "string") return [{ role: "system", content: [{ type: "text", text: instructions }] }];
  const { parts, role: _, ...rest } = instructions;
  const extra = extraOf(WIRE, rest, []);
  const content = (parts ?? []).map((part, at) => parseInputPart(part, `systemInstruction.parts[${at}]`));
  return content.length > 0 ? [{ role: "system", content, ...(extra && { extra }) }] : [];
}

/** What the gateway could not keep to in its answer. */
function refuseUnserved({ cachedContent, generationConfig: config }: GeminiRequest): void {
  if (cachedContent) throw refusal("cachedContent", "the gateway keeps no contents: send them with each request");
  if ((config?.candidateCount ?? 1) !== 1) {
    throw refusal("generationConfig.candidateCount", "an answer is one candidate");
  }
  if (config?.responseLogprobs) throw refusal("generationConfig.responseLogprobs", "answers have no probabilities");
  const modality = config?.responseModalities?.find((one) => !/^(text|modality_unspecified)$/i.test(one));
  if (modality) throw refusal("generationConfig.responseModalities", "answers are text");
}

function refusal(param: string, why: string): GatewayError {
  return new GatewayError("invalid_request", `Cannot serve "${param}": ${why}`, { param });
}

function parseForm(config: GenerationConfig): OutputSchema | undefined {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config;
  if (type && type !== "application/json" && type !== "text/plain") {
    throw refusal("generationConfig.responseMimeType", "expected application/json or text/plain");
  }
  const schema = responseJsonSchema ?? (responseSchema && toJsonSchema(responseSchema));
  if (schema) return { schema };
  return type === "application/json" ? {} : undefined;
}

function parseThinking(config: GenerationConfig["thinkingConfig"]): Thinking | undefined {
  const { thinkingBudget: budget, thinkingLevel } = config ?? {};
  const level = thinkingLevel?.toLowerCase();
  const effort = EFFORTS.find((one): one is Effort => one === level);
  if (level && !effort && level !== "thinking_level_unspecified") {
    throw refusal("generationConfig.thinkingConfig.thinkingLevel", "expected MINIMAL, LOW, MEDIUM or HIGH");
  }
  if (typeof budget !== "number") return effort && { effort };
  if (budget === 0) return { enabled: false };
  return { enabled: true, ...(effort && { effort }), ...(budget > 0 && { budgetTokens: budget }) };
}

/** What the canonical form does not have, named by its path. */
function parseExtra(body: GeminiRequest): Extra | undefined {
  const { generationConfig: config, toolConfig } = body;
  const thinking = config?.thinkingConfig;
  const calling = toolConfig?.functionCallingConfig;
  const fields: JsonObject = {
    ...extraOf(WIRE, body, REQUEST_KEYS)?.fields,
    ...inside("toolConfig", toolConfig ? extraOf(WIRE, toolConfig, ["functionCallingConfig"]) : undefined),
    ...inside("functionCallingConfig", calling ? extraOf(WIRE, calling, CALLING_KEYS) : undefined),
    ...(calling?.mode === "VALIDATED" && { "functionCallingConfig.mode": "VALIDATED" }),
    ...inside("generationConfig", config ? extraOf(WIRE, config, CONFIG_KEYS) : undefined),
    ...inside("thinkingConfig", thinking ? extraOf(WIRE, thinking, THINKING_KEYS) : undefined),
  };
  return Object.keys(fields).length > 0 ? { wire: WIRE, fields } : undefined;
}

/** Thoughts are shown to who asks for them, and to nobody else; all of them travel in the signatures. */
export function reasoningPlace({ body }: WireRequest): ReasoningPlace {
  const { generationConfig, generation_config } = asObject(body);
  const { thinkingConfig } = asObject(inOneSpelling(generationConfig ?? generation_config));
  const { includeThoughts } = asObject(thinkingConfig);
  return { hidden: includeThoughts !== true, keepsOwn: false };
}
