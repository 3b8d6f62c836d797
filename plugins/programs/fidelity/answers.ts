/** The fields of an upstream's answer, by its wire. */
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import type { Client, Sample, UpstreamWire } from "./sample.ts";
import { ANSWER } from "./upstreams.ts";

const CITED = { url: "https://kept.test/keptUrl", title: "keptTitle" };
const ARGUMENTS = '{"where":"keptArgument"}';

// Chat completions

const chatHead = (field: string, more: JsonObject): Sample => ({
  field,
  without: ANSWER.chat,
  with: { ...ANSWER.chat, ...more },
});
const TEXT: JsonObject = { role: "assistant", content: "Hello" };
const choice = (field: string, more: JsonObject, without: JsonObject = {}): Sample => {
  const answerWith = (one: JsonObject): JsonObject => ({
    ...ANSWER.chat,
    choices: [{ index: 0, message: TEXT, finish_reason: "stop", ...one }],
  });
  return { field, without: answerWith(without), with: answerWith({ ...without, ...more }) };
};
const said = (field: string, more: JsonObject) => choice(field, { message: { ...TEXT, ...more } });
const chatCalled = (field: string, call: JsonObject) =>
  choice(field, { message: { ...TEXT, tool_calls: [call] }, finish_reason: "tool_calls" });
const chatUsage = (field: string, more: JsonObject) =>
  chatHead(field, { usage: { ...ANSWER.chat.usage as JsonObject, ...more } });

const CHAT: readonly Sample[] = [
  said("choices[].message.content", { content: "keptText" }),
  said("choices[].message.reasoning_content", { reasoning_content: "keptThought" }),
  said("choices[].message.reasoning", { reasoning: "keptThought" }),
  said("choices[].message.refusal", { content: null, refusal: "keptRefusal" }),
  chatCalled("choices[].message.tool_calls: function", {
    id: "keptId",
    type: "function",
    function: { name: "look", arguments: ARGUMENTS },
  }),
  chatCalled("choices[].message.tool_calls: custom", {
    id: "keptId",
    type: "custom",
    custom: { name: "write", input: "keptInput" },
  }),
  said("choices[].message.annotations", {
    annotations: [{ type: "url_citation", url_citation: { ...CITED, start_index: 0, end_index: 5 } }],
  }),
  said("choices[].message.audio", { audio: { id: "keptSound", data: "", transcript: "" } }),
  said("choices[].message: any other field", { another: "keptValue" }),
  choice("choices[].logprobs", { logprobs: { content: [{ token: "keptToken", logprob: -0.5 }] } }),
  ...["length", "content_filter", "keptEnding"].map((reason) =>
    choice(`choices[].finish_reason: ${reason === "keptEnding" ? "another" : reason}`, { finish_reason: reason })
  ),
  choice("choices[].stop_reason", { stop_reason: "keptStop" }),
  chatUsage("usage.prompt_tokens", { prompt_tokens: 4321 }),
  chatUsage("usage.completion_tokens", { completion_tokens: 4321 }),
  chatUsage("usage.prompt_tokens_details.cached_tokens", { prompt_tokens_details: { cached_tokens: 3 } }),
  chatUsage("usage.prompt_tokens_details.cache_write_tokens", { prompt_tokens_details: { cache_write_tokens: 3 } }),
  chatUsage("usage.prompt_tokens_details.audio_tokens", { prompt_tokens_details: { audio_tokens: 3 } }),
  chatUsage("usage.completion_tokens_details.reasoning_tokens", { completion_tokens_details: { reasoning_tokens: 3 } }),
  chatHead("id", { id: "keptId" }),
  chatHead("created", { created: 4321 }),
  chatHead("model", { model: "keptModel" }),
  chatHead("system_fingerprint", { system_fingerprint: "keptPrint" }),
  chatHead("service_tier", { service_tier: "flex" }),
  chatHead("any other field", { another: "keptValue" }),
];

// Messages

const messagesHead = (field: string, more: JsonObject): Sample => ({
  field,
  without: ANSWER.messages,
  with: { ...ANSWER.messages, ...more },
});
const block = (field: string, more: JsonObject[], without: JsonObject[] = []): Sample => {
  const answerWith = (content: JsonObject[]) => ({
    ...ANSWER.messages,
    content: [{ type: "text", text: "Hello" }, ...content],
  });
  return { field, without: answerWith(without), with: answerWith(more) };
};
const messagesUsage = (field: string, more: JsonObject) =>
  messagesHead(field, { usage: { ...ANSWER.messages.usage as JsonObject, ...more } });
const server: JsonObject = { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "keptQuery" } };

const MESSAGES: readonly Sample[] = [
  block("content[]: text", [{ type: "text", text: "keptText" }], [{ type: "text", text: "More" }]),
  block("content[]: thinking", [{ type: "thinking", thinking: "keptThought", signature: "" }]),
  block("thinking.signature", [{ type: "thinking", thinking: "Hm", signature: "keptSignature" }], [
    { type: "thinking", thinking: "Hm", signature: "" },
  ]),
  block("content[]: redacted_thinking", [{ type: "redacted_thinking", data: "keptData" }]),
  {
    ...block("content[]: tool_use", [{
      type: "tool_use",
      id: "keptId",
      name: "look",
      input: { where: "keptArgument" },
    }]),
  },
  block("text.citations", [
    { type: "text", text: "More", citations: [{ type: "web_search_result_location", ...CITED, cited_text: "x" }] },
  ], [{ type: "text", text: "More" }]),
  block("text.citations: of a document", [
    { type: "text", text: "More", citations: [{ type: "char_location", cited_text: "keptCited", document_index: 0 }] },
  ], [{ type: "text", text: "More" }]),
  block("content[]: server_tool_use", [server]),
  block("content[]: web_search_tool_result", [
    server,
    { type: "web_search_tool_result", tool_use_id: "s1", content: [{ type: "web_search_result", ...CITED }] },
  ], [server]),
  block("content[]: another type", [{ type: "keptType", value: "keptValue" }]),
  ...["max_tokens", "pause_turn", "refusal", "model_context_window_exceeded", "compaction"].map((reason) =>
    messagesHead(`stop_reason: ${reason}`, { stop_reason: reason })
  ),
  messagesHead("stop_sequence", { stop_reason: "stop_sequence", stop_sequence: "keptStop" }),
  messagesHead("stop_details", { stop_details: { type: "refusal", category: "c", explanation: "keptExplanation" } }),
  messagesHead("container", { container: { id: "keptContainer" } }),
  messagesHead("diagnostics", { diagnostics: { a: "keptDiagnosis" } }),
  messagesHead("context_management", { context_management: { applied_edits: [{ type: "keptEdit" }] } }),
  messagesUsage("usage.input_tokens", { input_tokens: 4321 }),
  messagesUsage("usage.output_tokens", { output_tokens: 4321 }),
  messagesUsage("usage.cache_read_input_tokens", { cache_read_input_tokens: 321 }),
  messagesUsage("usage.cache_creation_input_tokens", { cache_creation_input_tokens: 321 }),
  messagesUsage("usage.cache_creation", { cache_creation: { ephemeral_5m_input_tokens: 321 } }),
  messagesUsage("usage.output_tokens_details.thinking_tokens", { output_tokens_details: { thinking_tokens: 1 } }),
  messagesUsage("usage.server_tool_use", { server_tool_use: { web_search_requests: 1 } }),
  messagesUsage("usage.service_tier", { service_tier: "priority" }),
  messagesUsage("usage.inference_geo", { inference_geo: "keptPlace" }),
  messagesUsage("usage.speed", { speed: "fast" }),
  messagesHead("id", { id: "keptId" }),
  messagesHead("model", { model: "keptModel" }),
  messagesHead("any other field", { another: "keptValue" }),
];

// Responses

const responsesHead = (field: string, more: JsonObject): Sample => ({
  field,
  without: ANSWER.responses,
  with: { ...ANSWER.responses, ...more },
});
const SAID: JsonObject = { type: "output_text", text: "Hello", annotations: [] };
const output = (field: string, more: JsonObject[], without: JsonObject[] = []): Sample => {
  const message = { id: "msg_1", type: "message", role: "assistant", status: "completed", content: [SAID] };
  const answerWith = (items: JsonObject[]) => ({ ...ANSWER.responses, output: [message, ...items] });
  return { field, without: answerWith(without), with: answerWith(more) };
};
const part = (field: string, one: JsonObject, more: JsonObject = {}): Sample => {
  const answerWith = (content: JsonObject, item: JsonObject = {}): JsonObject => ({
    ...ANSWER.responses,
    output: [{ id: "msg_1", type: "message", role: "assistant", status: "completed", content: [content], ...item }],
  });
  return { field, without: answerWith(SAID), with: answerWith(one, more) };
};
const responsesUsage = (field: string, more: JsonObject) =>
  responsesHead(field, { usage: { ...ANSWER.responses.usage as JsonObject, ...more } });

const RESPONSES: readonly Sample[] = [
  part("message: output_text", { ...SAID, text: "keptText" }),
  part("message: refusal", { type: "refusal", refusal: "keptRefusal" }),
  part("message.phase", SAID, { phase: "commentary" }),
  part("output_text.annotations", {
    ...SAID,
    annotations: [{ type: "url_citation", ...CITED, start_index: 0, end_index: 5 }],
  }),
  part("output_text.annotations: of a file", {
    ...SAID,
    annotations: [{ type: "file_citation", file_id: "keptFile", index: 0 }],
  }),
  part("output_text.logprobs", { ...SAID, logprobs: [{ token: "keptToken", logprob: -0.5 }] }),
  output("reasoning.content", [{
    id: "rs_1",
    type: "reasoning",
    summary: [],
    content: [{ type: "reasoning_text", text: "keptThought" }],
  }]),
  output("reasoning.summary", [{
    id: "rs_1",
    type: "reasoning",
    summary: [{ type: "summary_text", text: "keptThought" }],
  }]),
  output("reasoning.encrypted_content", [{
    id: "rs_1",
    type: "reasoning",
    summary: [],
    encrypted_content: "keptData",
  }]),
  output("function_call", [{
    id: "fc_1",
    type: "function_call",
    call_id: "keptId",
    name: "look",
    arguments: ARGUMENTS,
  }]),
  output("custom_tool_call", [{
    id: "ctc_1",
    type: "custom_tool_call",
    call_id: "keptId",
    name: "write",
    input: "keptInput",
  }]),
  output("web_search_call", [{
    id: "ws_1",
    type: "web_search_call",
    status: "completed",
    action: { type: "search", query: "keptQuery" },
  }]),
  output("mcp_call", [{
    id: "mcp_1",
    type: "mcp_call",
    name: "look",
    server_label: "s",
    arguments: ARGUMENTS,
    output: "keptResult",
  }]),
  output("image_generation_call", [{
    id: "ig_1",
    type: "image_generation_call",
    status: "completed",
    result: "keptPicture",
  }]),
  output("an item of another type", [{ id: "x_1", type: "keptType", value: "keptValue" }]),
  ...["max_output_tokens", "content_filter", "keptReason"].map((reason) =>
    responsesHead(`incomplete_details.reason: ${reason === "keptReason" ? "another" : reason}`, {
      status: "incomplete",
      incomplete_details: { reason },
    })
  ),
  responsesUsage("usage.input_tokens", { input_tokens: 4321, total_tokens: 4323 }),
  responsesUsage("usage.output_tokens", { output_tokens: 4321, total_tokens: 4326 }),
  responsesUsage("usage.input_tokens_details.cached_tokens", { input_tokens_details: { cached_tokens: 3 } }),
  responsesUsage("usage.input_tokens_details.cache_write_tokens", { input_tokens_details: { cache_write_tokens: 3 } }),
  responsesUsage("usage.output_tokens_details.reasoning_tokens", { output_tokens_details: { reasoning_tokens: 1 } }),
  responsesHead("id", { id: "keptId" }),
  responsesHead("created_at", { created_at: 4321 }),
  responsesHead("model", { model: "keptModel" }),
  responsesHead("service_tier", { service_tier: "flex" }),
  responsesHead("any other field", { another: "keptValue" }),
];

export const ANSWERS: Record<UpstreamWire, readonly Sample[]> = {
  messages: MESSAGES,
  chat: CHAT,
  responses: RESPONSES,
};

// What the answers answer

const SCHEMA: JsonObject = { type: "object", properties: { where: { type: "string" } } };
const ASKED: JsonValue = [{ role: "user", content: "Hello" }];

/** A request that offers what the samples call, and names the text that stops them. */
export const ASKING: Record<Client, JsonObject> = {
  gemini: {
    contents: [{ role: "user", parts: [{ text: "Hello" }] }],
    generationConfig: { stopSequences: ["keptStop"], thinkingConfig: { includeThoughts: true } },
    tools: [{ functionDeclarations: ["look", "write"].map((name) => ({ name, parametersJsonSchema: SCHEMA })) }],
  },
  ollama: {
    stream: false,
    messages: ASKED,
    options: { stop: ["keptStop"] },
    tools: ["look", "write"].map((name) => ({ type: "function", function: { name, parameters: SCHEMA } })),
  },
  chat: {
    messages: ASKED,
    stop: ["keptStop"],
    tools: [{ type: "function", function: { name: "look", parameters: SCHEMA } }, {
      type: "custom",
      custom: { name: "write" },
    }],
  },
  messages: {
    max_tokens: 1000,
    messages: ASKED,
    stop_sequences: ["keptStop"],
    tools: [{ name: "look", input_schema: SCHEMA }, { name: "write", input_schema: SCHEMA }],
  },
  responses: {
    store: false,
    input: ASKED,
    tools: [{ type: "function", name: "look", parameters: SCHEMA }, { type: "custom", name: "write" }],
  },
};
