/**
 * The shapes of the responses wire, as both sides send them. Requests come from clients, whose newer fields must never fail:
 * what is not known rides through. Answers come from upstreams and are taken as loosely as sense allows.
 */
import { z } from "zod";
import { EFFORTS } from "../../src/canonical/generate.ts";
import { asObject, isJsonObject, type JsonObject, withField } from "../../src/canonical/json.ts";
import { RESPONSES_SAMPLING } from "../shared/sampling.ts";
import {
  effort,
  foreignChoice,
  json,
  KNOWN_CONTENT,
  knownContent,
  name,
  otherThan,
  textOptions,
} from "../shared/shapes.ts";

export const WIRE = "responses";

// Content

/** Newer kinds of content, and those of other wires that clients mix in; anything else is a mistake. */
const OTHER_CONTENT = /^(input_|output_|image$|image_url$|document$|file$)/;
const content = z.union([knownContent, otherThan(KNOWN_CONTENT, "Unknown type of content", OTHER_CONTENT)]);
export type KnownContent = z.output<typeof knownContent>;
export type ContentPart = z.output<typeof content>;

export function isKnownContent(part: ContentPart): part is KnownContent {
  return KNOWN_CONTENT.includes(part.type);
}

const contents = z.union([z.string(), z.array(content)]);
export type Contents = z.output<typeof contents>;

// Tools

const grammar = z.looseObject({ type: z.string(), syntax: z.string().nullish(), definition: z.string().nullish() });
const functionTool = z.looseObject({
  type: z.literal("function"),
  name,
  description: z.string().nullish(),
  parameters: json.nullish(),
  strict: z.boolean().nullish(),
  defer_loading: z.boolean().nullish(),
});
const customTool = z.looseObject({
  type: z.literal("custom"),
  name,
  description: z.string().nullish(),
  format: grammar.nullish(),
});
const KNOWN_INNER = ["function", "custom"];
const innerTool = z.union([
  z.discriminatedUnion("type", [functionTool, customTool]),
  otherThan(KNOWN_INNER, "Unknown type of tool", /./),
]);
const namespaceTool = z.looseObject({
  type: z.literal("namespace"),
  name,
  description: z.string().nullish(),
  tools: z.array(innerTool),
});
const knownTool = z.discriminatedUnion("type", [functionTool, customTool, namespaceTool]);
const KNOWN_TOOLS = [...KNOWN_INNER, "namespace"];
/** A tool in the form of the chat or the messages wire, which clients mix in, in this wire's. */
function toolInOwnForm(tool: unknown): unknown {
  if (!isJsonObject(tool)) return tool;
  const { type, input_schema, ...outer } = tool;
  const nested = KNOWN_INNER.map((kind) => tool[kind]).find(isJsonObject);
  if (nested && (KNOWN_INNER.includes(String(type)) || !type)) {
    const { function: _, custom: isCustom, ...rest } = outer;
    return { ...rest, ...nested, type: isCustom ? "custom" : "function" };
  }
  if (!isJsonObject(input_schema) || type && type !== "custom") return tool;
  return { ...outer, type: "function", parameters: input_schema };
}

const tool = z.preprocess(
  toolInOwnForm,
  z.union([knownTool, otherThan(KNOWN_TOOLS, "Unknown type of tool", /./)]),
);
export type CustomTool = z.output<typeof customTool>;
export type FunctionTool = z.output<typeof functionTool>;
export type KnownTool = z.output<typeof knownTool>;
export type WireTool = z.output<typeof tool>;

export function isKnownTool(candidate: WireTool): candidate is KnownTool {
  return KNOWN_TOOLS.includes(candidate.type);
}

const toolReference = z.looseObject({ type: z.string(), name: z.string().nullish() });
/** Modes and tools as other wires write them. */
function inOwnForm(value: unknown): unknown {
  const { mode, name } = foreignChoice(value);
  return mode ??
    (name === undefined || asObject(value).type === "function" && asObject(value).name === name
      ? value
      : { type: "function", name });
}
const toolChoice = z.preprocess(
  inOwnForm,
  z.union([
    z.enum(["none", "auto", "required"]),
    z.looseObject({
      type: z.literal("allowed_tools"),
      mode: z.enum(["auto", "required"]),
      tools: z.array(toolReference),
    }),
    toolReference.refine(({ type }) => type !== "allowed_tools", { error: "Invalid choice of tools", abort: true }),
  ]),
);
export type WireToolChoice = z.output<typeof toolChoice>;

// Items

const id = z.string().nullish();
const status = z.string().nullish();
const texts = z.array(z.looseObject({ type: z.string().nullish(), text: z.string() }));

const KNOWN_ITEMS = [
  "message",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "reasoning",
  "item_reference",
  "additional_tools",
  "tool_search_output",
] as const;
const message = z.looseObject({
  type: z.literal("message"),
  id,
  role: z.enum(["user", "assistant", "system", "developer"]),
  content: contents.nullish(),
  status,
});
const knownItem = z.discriminatedUnion("type", [
  message,
  z.looseObject({
    type: z.literal("function_call"),
    id,
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    namespace: z.string().nullish(),
    status,
  }),
  z.looseObject({ type: z.literal("function_call_output"), id, call_id: z.string(), output: contents, status }),
  z.looseObject({
    type: z.literal("custom_tool_call"),
    id,
    call_id: z.string(),
    name: z.string(),
    input: z.string(),
    namespace: z.string().nullish(),
    status,
  }),
  z.looseObject({ type: z.literal("custom_tool_call_output"), id, call_id: z.string(), output: contents, status }),
  z.looseObject({
    type: z.literal("reasoning"),
    id,
    summary: texts.nullish(),
    content: texts.nullish(),
    encrypted_content: z.string().nullish(),
    status,
  }),
  z.looseObject({ type: z.literal("item_reference"), id: z.string() }),
  z.looseObject({ type: z.literal("additional_tools"), id, tools: z.array(tool) }),
  z.looseObject({ type: z.literal("tool_search_output"), id, tools: z.array(tool) }),
]);
const unknownItem = otherThan(KNOWN_ITEMS, "Unknown type of item", /./);
/** Clients leave the type away where the other fields tell it. */
export const item = z.preprocess(
  (value) => isJsonObject(value) && (value.type === undefined || value.type === null) ? typed(value) : value,
  z.union([knownItem, unknownItem]),
);
export type KnownItem = z.output<typeof knownItem>;
export type Item = z.output<typeof item>;

function typed(value: JsonObject): JsonObject {
  if (value.role !== undefined) return withField(value, "type", "message");
  return Object.keys(value).join() === "id" || value.type === null && typeof value.id === "string"
    ? withField(value, "type", "item_reference")
    : value;
}

export function isKnownItem(candidate: Item): candidate is KnownItem {
  return (KNOWN_ITEMS as readonly string[]).includes(candidate.type);
}

// Requests

export type WireFormat = NonNullable<z.output<typeof textOptions>["format"]>;

/** The fields that the canonical form models, or that the gateway answers itself; all others ride through. */
const requestFields = {
  model: z.string().min(1).max(512),
  input: z.union([z.string(), z.array(item)]).nullish(),
  instructions: z.union([z.string(), z.array(item)]).nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: z.looseObject({ effort: effort(z.enum(EFFORTS)).nullish(), summary: z.string().nullish() }).nullish(),
  text: textOptions.nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  ...RESPONSES_SAMPLING.shape,
  prompt_cache_key: z.string().nullish(),
  metadata: json.nullish(),
  store: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.unknown().optional(),
  prompt: z.unknown().optional(),
  background: z.boolean().nullish(),
  truncation: z.enum(["auto", "disabled"]).nullish(),
  include: z.array(z.string()).nullish(),
  stream_options: json.nullish(),
  /** Which installation and session of an agent asks: not for upstreams. */
  client_metadata: z.unknown().optional(),
};
export const requestSchema = z.looseObject(requestFields);
export type ResponsesRequest = z.output<typeof requestSchema>;
export const REQUEST_KEYS: ReadonlySet<string> = new Set(Object.keys(requestFields));

// Conversations

const items = z.array(item).max(20);
const metadata = z.record(z.string(), z.string()).nullish();
export const conversationSchema = z.looseObject({ items: items.nullish(), metadata });
export const itemsSchema = z.looseObject({ items });
export const metadataSchema = z.looseObject({ metadata });

// What upstreams answer

/** A count. A value that is none is left out, because it says nothing of the others. */
const tokens = z.int().min(0).nullish().catch(undefined);
const usage = z.looseObject({
  input_tokens: tokens,
  output_tokens: tokens,
  total_tokens: tokens,
  input_tokens_details: z.looseObject({ cached_tokens: tokens, cache_write_tokens: tokens }).nullish().catch(undefined),
  output_tokens_details: z.looseObject({ reasoning_tokens: tokens }).nullish().catch(undefined),
});
export type WireUsage = z.output<typeof usage>;

const outputItem = z.looseObject({ type: z.string() });
export type OutputItem = z.output<typeof outputItem>;

export const responseSchema = z.looseObject({
  model: z.string().nullish(),
  status: z.string().nullish(),
  output: z.array(outputItem).nullish(),
  // Counts that make no sense are not worth the answer.
  usage: usage.nullish().catch(undefined),
  incomplete_details: z.looseObject({ reason: z.string().nullish() }).nullish(),
  error: z.unknown().optional(),
});
export type WireResponse = z.output<typeof responseSchema>;

/** One event of a stream: whichever fields its type has. */
export const eventSchema = z.looseObject({
  type: z.string().optional(),
  response: responseSchema.nullish(),
  item: outputItem.nullish(),
  item_id: z.string().nullish(),
  output_index: z.int().nullish(),
  content_index: z.int().nullish(),
  summary_index: z.int().nullish(),
  delta: z.unknown().optional(),
  text: z.string().nullish(),
  refusal: z.string().nullish(),
  arguments: z.unknown().optional(),
  input: z.unknown().optional(),
});
export type WireEvent = z.output<typeof eventSchema>;
