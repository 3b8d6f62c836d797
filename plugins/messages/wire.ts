/**
 * The shapes of the messages wire, as both sides send them. Requests come from clients, whose newer fields and betas must
 * never fail: what is not known rides through. Answers come from upstreams and are taken as loosely as sense allows.
 */
import { z } from "zod";
import { EFFORTS } from "../../src/canonical/generate.ts";
import { asObject, isJsonObject } from "../../src/canonical/json.ts";
import { MESSAGES_SAMPLING } from "../shared/sampling.ts";
import { effort, foreignChoice, json, otherThan } from "../shared/shapes.ts";

export const WIRE = "messages";
/** Clients of this wire always say which version they speak. */
export const VERSION_HEADER = "anthropic-version";

const source = z.union([
  z.looseObject({ type: z.literal("base64"), media_type: z.string(), data: z.string() }),
  z.looseObject({ type: z.literal("text"), media_type: z.string().optional(), data: z.string() }),
  z.looseObject({ type: z.literal("content"), content: z.union([z.string(), z.array(json)]) }),
  z.looseObject({ type: z.literal("url"), url: z.string() }),
  z.looseObject({ type: z.literal("file"), file_id: z.string() }),
]);
export type Source = z.output<typeof source>;

const textBlock = z.looseObject({ type: z.literal("text"), text: z.string() });

const RESULT_BLOCKS = ["text", "image", "document"];
const knownResultBlock = z.discriminatedUnion("type", [
  textBlock,
  z.looseObject({ type: z.literal("image"), source }),
  z.looseObject({ type: z.literal("document"), source, title: z.string().nullish() }),
]);
const resultBlock = z.union([knownResultBlock, otherThan(RESULT_BLOCKS, "Unknown type of block")]);

const KNOWN_BLOCKS = [...RESULT_BLOCKS, "thinking", "redacted_thinking", "tool_use", "tool_result"];
const knownBlock = z.discriminatedUnion("type", [
  ...knownResultBlock.options,
  z.looseObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.string().nullish() }),
  z.looseObject({ type: z.literal("redacted_thinking"), data: z.string() }),
  z.looseObject({ type: z.literal("tool_use"), id: z.string(), name: z.string(), input: z.unknown() }),
  z.looseObject({
    type: z.literal("tool_result"),
    tool_use_id: z.string(),
    content: z.union([z.string(), z.array(resultBlock)]).nullish(),
    is_error: z.boolean().nullish(),
  }),
]);
const block = z.union([knownBlock, otherThan(KNOWN_BLOCKS, "Unknown type of block")]);
export type KnownBlock = z.output<typeof knownBlock>;
export type Block = z.output<typeof block>;

export function isKnownBlock(candidate: Block): candidate is KnownBlock {
  return KNOWN_BLOCKS.includes(candidate.type);
}

const content = z.union([z.string(), z.array(block)]);
export type Content = z.output<typeof content>;

const message = z.looseObject({
  role: z.enum(["user", "assistant", "system"]),
  /** Absent where a system turn only adds or removes tools. */
  content: content.nullish(),
});
export type WireMessage = z.output<typeof message>;

/** A function in the form of the chat or the responses wire, which clients mix in, in this wire's. */
function toolInOwnForm(tool: unknown): unknown {
  if (!isJsonObject(tool) || tool.type !== "function") return tool;
  const { type: _, function: nested, ...outer } = tool;
  const { parameters, ...definition } = isJsonObject(nested) ? { ...outer, ...nested } : outer;
  return { ...definition, input_schema: parameters };
}

export const toolSchema = z.preprocess(
  toolInOwnForm,
  z.looseObject({
    type: z.string().nullish(),
    /** Absent on server tools that are named by their type alone. */
    name: z.string().nullish(),
    description: z.string().nullish(),
    input_schema: json.nullish(),
    /** As another protocol of tools spells it, from which clients copy their tools. */
    inputSchema: json.nullish(),
    strict: z.boolean().nullish(),
    defer_loading: z.boolean().nullish(),
  }).refine(({ type, name }) => name || (type && type !== "custom"), {
    error: "Missing name of the tool",
    path: ["name"],
    abort: true,
  }),
);
export type WireTool = z.output<typeof toolSchema>;

/** Modes and tools as other wires write them. */
function inOwnForm(value: unknown): unknown {
  const { mode, name } = foreignChoice(value);
  if (mode) return { ...asObject(value), type: mode === "required" ? "any" : mode };
  return name === undefined ? value : { ...asObject(value), type: "tool", name };
}
const toolChoice = z.preprocess(
  inOwnForm,
  z.looseObject({
    type: z.enum(["auto", "any", "tool", "none"]),
    name: z.string().optional(),
    disable_parallel_tool_use: z.boolean().nullish(),
  }).refine(({ type, name }) => type !== "tool" || name !== undefined, {
    error: "Missing name of the tool",
    path: ["name"],
    abort: true,
  }),
);
export type WireToolChoice = z.output<typeof toolChoice>;

const format = z.looseObject({ type: z.string(), schema: json.nullish() });
export type WireFormat = z.output<typeof format>;

/** The fields that the canonical form models; all others ride through. */
const requestFields = {
  model: z.string().min(1).max(512),
  /** 0 warms a cache and generates nothing. Absent in requests to count tokens. */
  max_tokens: z.int().min(0).nullish(),
  messages: z.array(message).min(1),
  system: z.union([z.string(), z.array(textBlock)]).nullish(),
  stream: z.boolean().nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  ...MESSAGES_SAMPLING.shape,
  thinking: z.looseObject({
    type: z.enum(["enabled", "adaptive", "disabled", "between_tools"]),
    budget_tokens: z.int().positive().nullish(),
  }).nullish(),
  output_config: z.looseObject({
    effort: effort(z.enum(EFFORTS).exclude(["none", "minimal"])).nullish(),
    format: format.nullish(),
  }).nullish(),
  /** The older name of `output_config.format`. */
  output_format: format.nullish(),
  tools: z.array(toolSchema).nullish(),
  tool_choice: toolChoice.nullish(),
};
export const requestSchema = z.looseObject(requestFields);
export type MessagesRequest = z.output<typeof requestSchema>;
export const REQUEST_KEYS: ReadonlySet<string> = new Set(Object.keys(requestFields));

// Answers of upstreams

/** A count. A value that is none is left out, because it says nothing of the others. */
const tokens = z.int().min(0).nullish().catch(undefined);
const usageFields = {
  input_tokens: tokens,
  output_tokens: tokens,
  cache_creation_input_tokens: tokens,
  cache_read_input_tokens: tokens,
  output_tokens_details: z.looseObject({ thinking_tokens: tokens }).nullish().catch(undefined),
};
const usage = z.looseObject(usageFields);
export type WireUsage = z.output<typeof usage>;
export const USAGE_KEYS: ReadonlySet<string> = new Set(Object.keys(usageFields));

const responseFields = {
  id: z.unknown().optional(),
  type: z.unknown().optional(),
  role: z.unknown().optional(),
  model: z.string().nullish(),
  content: z.array(z.looseObject({ type: z.string() })).nullish(),
  stop_reason: z.string().nullish(),
  stop_sequence: z.string().nullish(),
  // Counts that make no sense are not worth the answer.
  usage: usage.nullish().catch(undefined),
};
export const responseSchema = z.looseObject(responseFields);
export type MessagesResponse = z.output<typeof responseSchema>;
export const RESPONSE_KEYS: ReadonlySet<string> = new Set(Object.keys(responseFields));

/** One event of a stream: whichever fields its type has. */
export const eventSchema = z.looseObject({
  type: z.string(),
  message: responseSchema.optional(),
  index: z.int().optional(),
  content_block: z.looseObject({ type: z.string() }).optional(),
  delta: z.looseObject({
    type: z.string().optional(),
    text: z.string().optional(),
    thinking: z.string().optional(),
    signature: z.string().optional(),
    partial_json: z.string().optional(),
    stop_reason: z.string().nullish(),
    stop_sequence: z.string().nullish(),
  }).optional(),
  usage: usage.nullish().catch(undefined),
});
export type WireEvent = z.output<typeof eventSchema>;
