/**
 * The shapes of the chat completions wire, as both sides send them. Requests come from clients and are held to the
 * published schema, unknown fields kept; answers come from upstreams and are taken as loosely as sense allows.
 */
import { z } from "zod";
import { EFFORTS } from "../../src/canonical/generate.ts";
import { asObject, isJsonObject, withField } from "../../src/canonical/json.ts";
import { isInteger, isNumber, type RawNumber } from "../../src/canonical/raw_number.ts";
import { CHAT_SAMPLING } from "../shared/sampling.ts";
import { asChatTool, withoutEmptyCall } from "../shared/foreign.ts";
import { double, effort, foreignChoice, json, name, otherThan, withSchema } from "../shared/shapes.ts";

export const WIRE = "chat";

const textPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const refusalPart = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });
const imagePart = z.looseObject({
  type: z.literal("image_url"),
  /** Some clients send the address alone. */
  image_url: z.preprocess(
    (value) => typeof value === "string" ? { url: value } : value,
    z.looseObject({ url: z.string(), detail: z.string().nullish() }),
  ),
});
const audioPart = z.looseObject({
  type: z.literal("input_audio"),
  input_audio: z.looseObject({ data: z.string(), format: z.string() }),
});
const filePart = z.looseObject({
  type: z.literal("file"),
  file: z.looseObject({
    file_data: z.string().nullish(),
    file_id: z.string().nullish(),
    filename: z.string().nullish(),
  }),
});

const knownPart = z.discriminatedUnion("type", [textPart, refusalPart, imagePart, audioPart, filePart]);
const KNOWN_PARTS = ["text", "refusal", "image_url", "input_audio", "file"];
const contentPart = z.union([knownPart, otherThan(KNOWN_PARTS, "Unknown type of part")]);
export type KnownPart = z.output<typeof knownPart>;
export type ContentPart = z.output<typeof contentPart>;

export function isKnownPart(part: ContentPart): part is KnownPart {
  return KNOWN_PARTS.includes(part.type);
}
export const contentSchema = z.union([z.string(), z.array(contentPart)]);
export type Content = z.output<typeof contentSchema>;

/**
 * Some SDKs leave the type of a tool, a call or a choice away, as the hub's and Mistral's do: what stands in it tells which
 * it is. A flat one that nothing tells apart is a function.
 */
function withType<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => {
    if (!isJsonObject(value) || (value.type !== undefined && value.type !== null)) return value;
    const type = ["function", "custom", "allowed_tools"].find((one) => isJsonObject(value[one])) ??
      (typeof value.name === "string" ? "function" : undefined);
    return type === undefined ? value : withField(value, "type", type);
  }, schema);
}

/** The model's call of a function; some clients replay its arguments parsed. */
const functionCall = z.looseObject({ name: z.string(), arguments: z.union([z.string(), json]).nullish() });
export const toolCall = z.preprocess(
  withoutEmptyCall,
  withType(z.union([
    z.looseObject({ id: z.string(), type: z.literal("function"), function: functionCall.nullish() }),
    z.looseObject({
      id: z.string(),
      type: z.literal("custom"),
      custom: z.looseObject({ name: z.string(), input: z.string() }),
    }),
  ])),
);
export type ToolCall = z.output<typeof toolCall>;

const message = z.discriminatedUnion("role", [
  z.looseObject({ role: z.enum(["system", "developer"]), content: contentSchema }),
  z.looseObject({ role: z.literal("user"), content: contentSchema }),
  z.looseObject({
    role: z.literal("assistant"),
    content: contentSchema.nullish(),
    refusal: z.string().nullish(),
    reasoning_content: z.string().nullish(),
    reasoning: z.string().nullish(),
    tool_calls: z.array(toolCall).nullish(),
    function_call: functionCall.nullish(),
  }),
  z.looseObject({ role: z.literal("tool"), tool_call_id: z.string(), content: contentSchema.nullish() }),
  z.looseObject({ role: z.literal("function"), name: z.string(), content: contentSchema.nullish() }),
]);
export type ChatMessage = z.output<typeof message>;

const functionDefinition = z.looseObject({
  name,
  description: z.string().nullish(),
  parameters: json.nullish(),
  strict: z.boolean().nullish(),
});
export type FunctionDefinition = z.output<typeof functionDefinition>;
const customDefinition = z.looseObject({
  name,
  description: z.string().nullish(),
  format: z.looseObject({
    type: z.string(),
    grammar: z.looseObject({ syntax: z.string(), definition: z.string() }).optional(),
    syntax: z.string().optional(),
    definition: z.string().optional(),
  }).nullish(),
});
export type CustomDefinition = z.output<typeof customDefinition>;

/**
 * Nested is this wire's form. The flat one is that of the responses wire, which some editors mix in (Cursor). The type comes
 * first, because only the first mistake is reported.
 */
const knownTool = z.union([
  z.looseObject({ type: z.literal("function"), function: functionDefinition }),
  z.looseObject({ type: z.literal("function"), ...functionDefinition.shape, function: z.undefined().optional() }),
  z.looseObject({ type: z.literal("custom"), custom: customDefinition }),
  z.looseObject({ type: z.literal("custom"), ...customDefinition.shape, custom: z.undefined().optional() }),
]);
const KNOWN_TOOLS = ["function", "custom"];
const tool = z.preprocess(asChatTool, withType(z.union([knownTool, otherThan(KNOWN_TOOLS, "Unknown type of tool")])));
export type KnownTool = z.output<typeof knownTool>;
export type ChatTool = z.output<typeof tool>;

export function isKnownTool(candidate: ChatTool): candidate is KnownTool {
  return KNOWN_TOOLS.includes(candidate.type);
}

const named = z.looseObject({ name: z.string() });
const UNNAMED = { error: "Missing name of the tool", path: ["name"], abort: true };
const reference = z.looseObject({
  type: z.string(),
  function: named.optional(),
  custom: named.optional(),
  name: z.string().optional(),
});
const isNamed = ({ type, function: fn, custom, name }: z.output<typeof reference>) =>
  !["function", "custom"].includes(type) || (fn ?? custom)?.name !== undefined || name !== undefined;
const toolReference = withType(reference.refine(isNamed, UNNAMED));
const allowedTools = z.looseObject({ mode: z.enum(["auto", "required"]), tools: z.array(toolReference) });
/** Modes and tools as other wires write them. */
function inOwnForm(value: unknown): unknown {
  const { mode, name } = foreignChoice(value);
  return mode ?? (asObject(value).type === "tool" ? { type: "function", name } : value);
}
const toolChoice = z.preprocess(
  inOwnForm,
  withType(z.union([
    z.enum(["none", "auto", "required"]),
    z.looseObject({ type: z.literal("allowed_tools"), allowed_tools: allowedTools }),
    z.looseObject({ type: z.literal("allowed_tools"), ...allowedTools.shape }),
    reference.extend({ type: z.enum(["function", "custom"]) }).refine(isNamed, UNNAMED),
  ])),
);
export type ToolReference = z.output<typeof reference>;
export type ChatToolChoice = z.output<typeof toolChoice>;

const responseFormat = z.preprocess(
  withSchema,
  z.union([
    z.discriminatedUnion("type", [
      z.looseObject({ type: z.literal("text") }),
      z.looseObject({ type: z.literal("json_object") }),
      z.looseObject({
        type: z.literal("json_schema"),
        json_schema: z.looseObject({
          name: z.string().nullish(),
          description: z.string().nullish(),
          schema: json.nullish(),
          strict: z.boolean().nullish(),
        }),
      }),
    ]),
    otherThan(["text", "json_object", "json_schema"], "Unknown type of format"),
  ]),
);
export type ResponseFormat = z.output<typeof responseFormat>;

/** The fields that the canonical form models, and those that need a check; all others ride through. */
const requestFields = {
  model: z.string().min(1).max(512),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  functions: z.array(functionDefinition).nullish(),
  function_call: z.union([z.enum(["none", "auto"]), named]).nullish(),
  reasoning_effort: effort(z.enum(EFFORTS)).nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  ...CHAT_SAMPLING.shape,
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  seed: z.custom<number | RawNumber>((value) => isNumber(value) && isInteger(value), {
    params: { expected: "whole number" },
  }).meta({ type: "integer" }).nullish(),
  response_format: responseFormat.nullish(),
  verbosity: z.enum(["low", "medium", "high"]).nullish(),
  prompt_cache_key: z.string().nullish(),
  metadata: json.nullish(),
  n: z.int().nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().nullish(),
  modalities: z.array(z.string()).nullish(),
  audio: json.nullish(),
};
export const requestSchema = z.looseObject(requestFields);
export type ChatRequest = z.output<typeof requestSchema>;
export const REQUEST_KEYS: ReadonlySet<string> = new Set(Object.keys(requestFields));

// Answers of upstreams

/** A count. A value that is none is left out, because it says nothing of the others. */
const tokens = z.int().min(0).nullish().catch(undefined);
const usage = z.looseObject({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  total_tokens: tokens,
  prompt_tokens_details: z.looseObject({
    cached_tokens: tokens,
    cache_write_tokens: tokens,
    /** Alibaba's name for tokens written to the cache. */
    cache_creation_input_tokens: tokens,
  }).nullish().catch(undefined),
  completion_tokens_details: z.looseObject({ reasoning_tokens: tokens }).nullish().catch(undefined),
  /** DeepSeek's name for cached tokens. */
  prompt_cache_hit_tokens: tokens,
  /** And Moonshot's place for them. */
  cached_tokens: tokens,
});
export type ChatUsage = z.output<typeof usage>;

const deltaFields = {
  role: z.string().nullish(),
  /** A list of parts is Mistral's form, with its thinking among them. */
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  reasoning_text: z.string().nullish(),
  annotations: z.array(z.looseObject({ type: z.string() })).nullish(),
  tool_calls: z.array(z.looseObject({
    index: z.int().nullish(),
    id: z.string().nullish(),
    type: z.string().nullish(),
    function: z.looseObject({ name: z.string().nullish(), arguments: z.union([z.string(), json]).nullish() }).nullish(),
    custom: z.looseObject({ name: z.string().nullish(), input: z.string().nullish() }).nullish(),
  })).nullish(),
  function_call: z.looseObject({
    name: z.string().nullish(),
    arguments: z.union([z.string(), json]).nullish(),
  }).nullish(),
};
const delta = z.looseObject(deltaFields);
/** An increment of a streamed message, or a whole one: the same fields. */
export type ChatDelta = z.output<typeof delta>;
export type ToolCallFragment = NonNullable<ChatDelta["tool_calls"]>[number];
export const DELTA_KEYS: ReadonlySet<string> = new Set(Object.keys(deltaFields));

const choiceFields = {
  index: z.int().nullish(),
  delta: delta.nullish(),
  message: delta.nullish(),
  finish_reason: z.string().nullish(),
  /** vLLM: the stop string that matched, or a token id. */
  stop_reason: z.union([z.string(), double()]).nullish(),
  /** Where Moonshot counts a stream. */
  usage: usage.nullish().catch(undefined),
  /** Where litellm keeps what its own schema does not have. */
  provider_specific_fields: z.looseObject({ stop_reason: z.unknown() }).nullish().catch(undefined),
};
const choice = z.looseObject(choiceFields);
export type ChatChoice = z.output<typeof choice>;
export const CHOICE_KEYS: ReadonlySet<string> = new Set([
  ...Object.keys(choiceFields).slice(0, 4),
  "logprobs",
  "usage",
]);

const answerFields = {
  id: z.unknown().optional(),
  object: z.unknown().optional(),
  created: z.unknown().optional(),
  model: z.string().nullish(),
  choices: z.array(choice).nullish(),
  // Counts that make no sense are not worth the answer.
  usage: usage.nullish().catch(undefined),
};
/** A whole answer or one chunk of a stream. */
export const answerSchema = z.looseObject(answerFields);
export type ChatAnswer = z.output<typeof answerSchema>;
export const ANSWER_KEYS: ReadonlySet<string> = new Set(Object.keys(answerFields));
