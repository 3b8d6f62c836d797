/**
 * The requirements of the vendors' own schemas for an answer: the fields that must be there, and the words that a field
 * may have (openai 7.55 and @anthropic-ai/sdk 1.11, `resources/*.d.ts`; openai 3.54 and anthropic 2.12 for Python say
 * the same). Further fields are welcome, as they are in the SDKs; those that hold a word, a number or a list are held
 * to it.
 */
import { z } from "zod";

const count = z.int().min(0);
const text = z.string();
const required = z.string().min(1);

// Chat completions

const FINISH = z.enum(["stop", "length", "tool_calls", "content_filter", "function_call"]);
const citation = z.looseObject({
  type: z.literal("url_citation"),
  url_citation: z.looseObject({ start_index: count, end_index: count, title: text, url: text }),
});
const called = z.looseObject({ name: text, arguments: text });
const chatCall = z.discriminatedUnion("type", [
  z.looseObject({ id: text, type: z.literal("function"), function: called }),
  z.looseObject({ id: text, type: z.literal("custom"), custom: z.looseObject({ name: text, input: text }) }),
]);
const chatUsage = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z.looseObject({ cached_tokens: count.optional(), audio_tokens: count.optional() }).optional(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: count.optional() }).optional(),
});
const chatHead = { id: required, created: count, model: text };
const chatWhole = z.looseObject({
  ...chatHead,
  object: z.literal("chat.completion"),
  choices: z.tuple([z.looseObject({
    index: z.literal(0),
    finish_reason: FINISH,
    logprobs: z.looseObject({}).nullable(),
    message: z.looseObject({
      role: z.literal("assistant"),
      content: text.nullable(),
      refusal: text.nullable(),
      annotations: z.array(citation).optional(),
      tool_calls: z.array(chatCall).optional(),
      function_call: called.optional(),
    }),
  })]),
  usage: chatUsage.optional(),
});
const chatChunk = z.looseObject({
  ...chatHead,
  object: z.literal("chat.completion.chunk"),
  choices: z.array(z.looseObject({
    index: z.literal(0),
    finish_reason: FINISH.nullable(),
    delta: z.looseObject({
      role: z.literal("assistant").optional(),
      content: text.nullish(),
      refusal: text.nullish(),
      annotations: z.array(citation).optional(),
      tool_calls: z.array(z.looseObject({
        index: count,
        id: text.optional(),
        type: z.literal("function").optional(),
        function: z.looseObject({ name: text.optional(), arguments: text.optional() }).optional(),
      })).optional(),
    }),
  })).max(1),
  usage: chatUsage.nullish(),
});

// Messages

const STOP = z.enum([
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "pause_turn",
  "refusal",
  "model_context_window_exceeded",
]);
const input = z.record(z.string(), z.unknown());
const pageCitation = z.looseObject({
  type: z.literal("web_search_result_location"),
  cited_text: text,
  encrypted_index: text,
  title: text.nullable(),
  url: text,
});
const documentCitation = z.looseObject({
  type: z.enum(["char_location", "page_location", "content_block_location", "search_result_location"]),
  cited_text: text,
});
const anyCitation = z.union([pageCitation, documentCitation]);
/** Results of tools that the vendor runs. */
const RESULTS = [
  "web_search_tool_result",
  "web_fetch_tool_result",
  "code_execution_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
] as const;
const block = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text, citations: z.array(anyCitation).nullish() }),
  z.looseObject({ type: z.literal("thinking"), thinking: text, signature: text }),
  z.looseObject({ type: z.literal("redacted_thinking"), data: text }),
  z.looseObject({ type: z.literal("tool_use"), id: required, name: required, input }),
  z.looseObject({ type: z.literal("server_tool_use"), id: required, name: required, input }),
  z.looseObject({ type: z.enum(RESULTS), tool_use_id: required, content: z.unknown() }),
  z.looseObject({ type: z.literal("container_upload"), file_id: text }),
]);
const messagesUsage = {
  input_tokens: count,
  output_tokens: count,
  cache_creation_input_tokens: count.nullish(),
  cache_read_input_tokens: count.nullish(),
};
const message = {
  id: required,
  type: z.literal("message"),
  role: z.literal("assistant"),
  model: text,
  content: z.array(block),
  stop_sequence: text.nullable(),
  usage: z.looseObject(messagesUsage),
};
const messagesDelta = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text_delta"), text }),
  z.looseObject({ type: z.literal("input_json_delta"), partial_json: text }),
  z.looseObject({ type: z.literal("citations_delta"), citation: anyCitation }),
  z.looseObject({ type: z.literal("thinking_delta"), thinking: text }),
  z.looseObject({ type: z.literal("signature_delta"), signature: text }),
]);
const messagesEvent = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("message_start"), message: z.looseObject({ ...message, stop_reason: z.null() }) }),
  z.looseObject({ type: z.literal("content_block_start"), index: count, content_block: block }),
  z.looseObject({ type: z.literal("content_block_delta"), index: count, delta: messagesDelta }),
  z.looseObject({ type: z.literal("content_block_stop"), index: count }),
  z.looseObject({
    type: z.literal("message_delta"),
    delta: z.looseObject({ stop_reason: STOP, stop_sequence: text.nullable() }),
    usage: z.looseObject({ ...messagesUsage, input_tokens: count.nullish() }),
  }),
  z.looseObject({ type: z.literal("message_stop") }),
  z.looseObject({ type: z.literal("ping") }),
  z.looseObject({ type: z.literal("error"), error: z.looseObject({ type: required, message: required }) }),
]);

// Responses

const STATUS = z.enum(["in_progress", "completed", "incomplete"]);
const outputCitation = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("url_citation"), start_index: count, end_index: count, title: text, url: text }),
  z.looseObject({ type: z.literal("file_citation"), file_id: text, filename: text, index: count }),
  z.looseObject({ type: z.literal("container_file_citation"), container_id: text, file_id: text, filename: text }),
  z.looseObject({ type: z.literal("file_path"), file_id: text, index: count }),
]);
const outputPart = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("output_text"), text, annotations: z.array(outputCitation) }),
  z.looseObject({ type: z.literal("refusal"), refusal: text }),
  z.looseObject({ type: z.literal("reasoning_text"), text }),
  z.looseObject({ type: z.literal("summary_text"), text }),
]);
/** Items of tools that the vendor runs. */
const HOSTED = [
  "file_search_call",
  "web_search_call",
  "computer_call",
  "program",
  "program_output",
  "tool_search_call",
  "tool_search_output",
  "compaction",
  "image_generation_call",
  "code_interpreter_call",
  "local_shell_call",
  "shell_call",
  "shell_call_output",
  "apply_patch_call",
  "apply_patch_call_output",
  "mcp_call",
  "mcp_list_tools",
  "mcp_approval_request",
] as const;
const item = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("message"),
    id: required,
    role: z.literal("assistant"),
    status: STATUS,
    content: z.array(outputPart),
  }),
  z.looseObject({
    type: z.literal("reasoning"),
    id: required,
    summary: z.array(outputPart),
    content: z.array(outputPart).optional(),
    encrypted_content: text.nullish(),
    status: STATUS.optional(),
  }),
  z.looseObject({
    type: z.literal("function_call"),
    call_id: required,
    name: required,
    arguments: text,
    namespace: text.optional(),
    status: STATUS.optional(),
  }),
  z.looseObject({ type: z.literal("custom_tool_call"), call_id: required, name: required, input: text }),
  z.looseObject({ type: z.enum(HOSTED), id: required }),
]);
const response = z.looseObject({
  id: required,
  object: z.literal("response"),
  created_at: count,
  model: text,
  status: z.enum(["completed", "failed", "in_progress", "cancelled", "queued", "incomplete"]),
  error: z.looseObject({ code: required, message: required }).nullable(),
  incomplete_details: z.looseObject({
    reason: z.enum(["max_output_tokens", "max_messages", "content_filter", "steered"]).optional(),
  }).nullable(),
  instructions: z.union([text, z.array(z.unknown())]).nullable(),
  metadata: z.record(z.string(), z.string()).nullable(),
  output: z.array(item),
  parallel_tool_calls: z.boolean(),
  temperature: z.number().nullable(),
  tool_choice: z.union([text, z.looseObject({ type: text })]),
  tools: z.array(z.looseObject({ type: text })),
  top_p: z.number().nullable(),
  usage: z.looseObject({
    input_tokens: count,
    output_tokens: count,
    total_tokens: count,
    input_tokens_details: z.looseObject({ cached_tokens: count, cache_write_tokens: count }),
    output_tokens_details: z.looseObject({ reasoning_tokens: count }),
  }).nullable(),
});
const numbered = { sequence_number: count };
const inItem = { ...numbered, item_id: required, output_index: count };
const inContent = { ...inItem, content_index: count };
const inSummary = { ...inItem, summary_index: count };
const eventOf = (type: string, fields: z.ZodRawShape) => [type, z.looseObject({ type: z.literal(type), ...fields })];
const RESPONSES_EVENTS: Readonly<Record<string, z.ZodType>> = Object.fromEntries([
  ...["created", "in_progress", "completed", "incomplete", "failed"].map((word) =>
    eventOf(`response.${word}`, { ...numbered, response })
  ),
  eventOf("response.output_item.added", { ...numbered, output_index: count, item }),
  eventOf("response.output_item.done", { ...numbered, output_index: count, item }),
  eventOf("response.content_part.added", { ...inContent, part: outputPart }),
  eventOf("response.content_part.done", { ...inContent, part: outputPart }),
  eventOf("response.output_text.delta", { ...inContent, delta: text, logprobs: z.array(z.unknown()) }),
  eventOf("response.output_text.done", { ...inContent, text, logprobs: z.array(z.unknown()) }),
  eventOf("response.output_text.annotation.added", {
    ...inContent,
    annotation_index: count,
    annotation: outputCitation,
  }),
  eventOf("response.refusal.delta", { ...inContent, delta: text }),
  eventOf("response.refusal.done", { ...inContent, refusal: text }),
  eventOf("response.reasoning_text.delta", { ...inContent, delta: text }),
  eventOf("response.reasoning_text.done", { ...inContent, text }),
  eventOf("response.reasoning_summary_part.added", { ...inSummary, part: outputPart }),
  eventOf("response.reasoning_summary_part.done", { ...inSummary, part: outputPart }),
  eventOf("response.reasoning_summary_text.delta", { ...inSummary, delta: text }),
  eventOf("response.reasoning_summary_text.done", { ...inSummary, text }),
  eventOf("response.function_call_arguments.delta", { ...inItem, delta: text }),
  eventOf("response.function_call_arguments.done", { ...inItem, name: required, arguments: text }),
  eventOf("response.custom_tool_call_input.delta", { ...inItem, delta: text }),
  eventOf("response.custom_tool_call_input.done", { ...inItem, input: text }),
  eventOf("keepalive", numbered),
]);

/** The schema of a whole answer of each wire. */
export const WHOLE_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  chat: chatWhole,
  messages: z.looseObject({ ...message, stop_reason: STOP }),
  responses: response,
};

/** The schema of one value of a stream, by its wire. */
export function streamSchema(wire: string, value: { type?: unknown }): z.ZodType {
  if (wire === "chat") return chatChunk;
  return wire === "messages" ? messagesEvent : RESPONSES_EVENTS[String(value.type)] ?? z.never();
}
