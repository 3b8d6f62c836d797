/**
 * What the published Open Responses specification (openresponses.org, 2026-04-24) requires of an answer. Its names for the deltas
 * of reasoning, `response.reasoning.delta` and `.done`, are not in it: the vendor's SDK refuses them, so the gateway says
 * `response.reasoning_text.delta` as the vendor does.
 */
import { z } from "zod";

// Items

const itemStatus = z.enum(["in_progress", "completed", "incomplete"]);

const annotation = z.object({
  type: z.literal("url_citation"),
  url: z.string(),
  start_index: z.int(),
  end_index: z.int(),
  title: z.string(),
});
const logProb = z.object({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.int()),
  top_logprobs: z.array(z.object({ token: z.string(), logprob: z.number(), bytes: z.array(z.int()) })),
});
const part = z.discriminatedUnion("type", [
  z.object({ type: z.literal("input_text"), text: z.string() }),
  z.object({
    type: z.literal("output_text"),
    text: z.string(),
    annotations: z.array(annotation),
    logprobs: z.array(logProb).optional(),
  }),
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("summary_text"), text: z.string() }),
  z.object({ type: z.literal("reasoning_text"), text: z.string() }),
  z.object({ type: z.literal("refusal"), refusal: z.string() }),
  z.object({
    type: z.literal("input_image"),
    image_url: z.string().nullable(),
    detail: z.enum(["low", "high", "auto"]),
  }),
  z.object({ type: z.literal("input_file"), filename: z.string().optional(), file_url: z.string().optional() }),
]);
const item = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("message"),
    id: z.string(),
    status: itemStatus,
    role: z.enum(["user", "assistant", "system", "developer"]),
    content: z.array(part),
    phase: z.enum(["commentary", "final_answer"]).optional(),
  }),
  z.object({
    type: z.literal("function_call"),
    id: z.string(),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    status: itemStatus,
  }),
  z.object({
    type: z.literal("function_call_output"),
    id: z.string(),
    call_id: z.string(),
    output: z.union([z.string(), z.array(part)]),
    status: itemStatus,
  }),
  z.object({
    type: z.literal("reasoning"),
    id: z.string(),
    content: z.array(part).optional(),
    summary: z.array(part),
    encrypted_content: z.string().optional(),
  }),
]);

// The response

const toolName = z.object({ type: z.literal("function"), name: z.string().optional() });
const toolMode = z.enum(["none", "auto", "required"]);
const textOrNull = z.string().nullable();
const countOrNull = z.int().nullable();

export const response = z.object({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.int(),
  completed_at: countOrNull,
  status: z.string(),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: textOrNull,
  instructions: textOrNull,
  output: z.array(item),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(z.object({
    type: z.literal("function"),
    name: z.string(),
    description: textOrNull,
    parameters: z.record(z.string(), z.unknown()).nullable(),
    strict: z.boolean().nullable(),
  })),
  tool_choice: z.union([
    toolMode,
    toolName,
    z.object({ type: z.literal("allowed_tools"), tools: z.array(toolName), mode: toolMode }),
  ]),
  truncation: z.enum(["auto", "disabled"]),
  parallel_tool_calls: z.boolean(),
  text: z.object({
    format: z.discriminatedUnion("type", [
      z.object({ type: z.literal("text") }),
      z.object({ type: z.literal("json_object") }),
      // The specification says that the schema is null, which is more than any server holds to.
      z.object({
        type: z.literal("json_schema"),
        name: z.string(),
        description: textOrNull,
        schema: z.unknown(),
        strict: z.boolean(),
      }),
    ]),
    verbosity: z.enum(["low", "medium", "high"]).optional(),
  }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  temperature: z.number(),
  reasoning: z.object({
    effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh"]).nullable(),
    summary: z.enum(["concise", "detailed", "auto"]).nullable(),
  }).nullable(),
  // Required by the first edition only.
  user: textOrNull,
  usage: z.object({
    input_tokens: z.int(),
    output_tokens: z.int(),
    total_tokens: z.int(),
    input_tokens_details: z.object({ cached_tokens: z.int() }),
    output_tokens_details: z.object({ reasoning_tokens: z.int() }),
  }).nullable(),
  max_output_tokens: countOrNull,
  max_tool_calls: countOrNull,
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.record(z.string(), z.string()),
  safety_identifier: textOrNull,
  prompt_cache_key: textOrNull,
});

// The events

const sequence_number = z.int();
const output_index = z.int();
const item_id = z.string();
const content_index = z.int();
const summary_index = z.int();
const inItem = { sequence_number, item_id, output_index };
const inContent = { ...inItem, content_index };
const inSummary = { ...inItem, summary_index };
const delta = z.string();
const logprobs = z.array(logProb).optional();

const lifecycle = (name: string) => z.object({ type: z.literal(`response.${name}`), sequence_number, response });
export const event = z.discriminatedUnion("type", [
  lifecycle("created"),
  lifecycle("queued"),
  lifecycle("in_progress"),
  lifecycle("completed"),
  lifecycle("failed"),
  lifecycle("incomplete"),
  z.object({ type: z.literal("response.output_item.added"), sequence_number, output_index, item }),
  z.object({ type: z.literal("response.output_item.done"), sequence_number, output_index, item }),
  z.object({ type: z.literal("response.content_part.added"), ...inContent, part }),
  z.object({ type: z.literal("response.content_part.done"), ...inContent, part }),
  z.object({ type: z.literal("response.output_text.delta"), ...inContent, delta, logprobs }),
  z.object({ type: z.literal("response.output_text.done"), ...inContent, text: z.string(), logprobs }),
  z.object({ type: z.literal("response.refusal.delta"), ...inContent, delta }),
  z.object({ type: z.literal("response.refusal.done"), ...inContent, refusal: z.string() }),
  z.object({ type: z.literal("response.reasoning_text.delta"), ...inContent, delta }),
  z.object({ type: z.literal("response.reasoning_text.done"), ...inContent, text: z.string() }),
  z.object({ type: z.literal("response.reasoning_summary_part.added"), ...inSummary, part }),
  z.object({ type: z.literal("response.reasoning_summary_part.done"), ...inSummary, part }),
  z.object({ type: z.literal("response.reasoning_summary_text.delta"), ...inSummary, delta }),
  z.object({ type: z.literal("response.reasoning_summary_text.done"), ...inSummary, text: z.string() }),
  z.object({ type: z.literal("response.function_call_arguments.delta"), ...inItem, delta }),
  z.object({ type: z.literal("response.function_call_arguments.done"), ...inItem, arguments: z.string() }),
]);

export type Answer = z.output<typeof response>;
export type Event = z.output<typeof event>;
