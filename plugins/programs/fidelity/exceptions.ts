/** Fields that upstreams need not get, by the client's wire. All other fields must arrive, be noted or be refused. */
import type { Client, UpstreamWire } from "./sample.ts";

/** Fields that the gateway itself honours. They must have an effect on the answer. */
export const ANSWERED: Record<Client, ReadonlySet<string>> = {
  chat: new Set(["stream_options.include_usage"]),
  messages: new Set(["context_management: clear_thinking_20251015", "safeguards", "thinking.display"]),
  responses: new Set([
    "include: reasoning.encrypted_content",
    "reasoning.generate_summary",
    "reasoning.summary",
    "store: false",
    "store: true",
  ]),
  ollama: new Set(),
  gemini: new Set(["thinkingConfig.includeThoughts"]),
};

const DEFAULT = "what is meant without it";
const NO_HOSTED_TOOLS = "asks for more of what a hosted tool did, and there is none that does anything";
const OWN_NAME = "the client's own name for an item, which it never refers to in what it sends with it";

/** Fields that may be left out without a note, and why nothing is lost. */
export const IDLE: Record<Client, Readonly<Record<string, string>>> = {
  chat: {
    "response_format: text": DEFAULT,
    "response_format.json_schema.name": "a label that the vendor's API wants; it is not for the model",
    "response_format.json_schema.strict": "the messages wire always holds the answer to the schema",
    "tools[].custom.format: text": DEFAULT,
  },
  messages: {
    "anthropic-beta (header)": "names what the fields of the body use; those fields are noted",
    "system[]: x-anthropic-billing-header": "changes with every turn, and only the vendor's own models are to see it",
    "thinking.type: adaptive": "the model decides by itself how much it thinks, as it does when nothing is said",
    "thread: create": "the gateway keeps the conversation under the id of the answer",
    "tools[].type: custom": DEFAULT,
  },
  responses: {
    "client_metadata": "tells which installation asks, which is nobody's business upstream",
    "function_call.id": OWN_NAME,
    "function_call_output.id": OWN_NAME,
    "include: code_interpreter_call.outputs": NO_HOSTED_TOOLS,
    "include: computer_call_output.output.image_url": NO_HOSTED_TOOLS,
    "include: file_search_call.results": NO_HOSTED_TOOLS,
    "include: message.input_image.image_url": "asks for an echo of what the client sent",
    "include: reasoning.encrypted_content": "the thoughts go out in plain text anyhow",
    "include: web_search_call.action.sources": NO_HOSTED_TOOLS,
    "include: web_search_call.results": NO_HOSTED_TOOLS,
    "message.id": OWN_NAME,
    "stream_options.include_obfuscation": "padding that the gateway's streams have none of",
    "text.format: text": DEFAULT,
    "tools[].parameters: null": "null is absent",
    "text.format.name": "a label that the vendor's API wants; it is not for the model",
    "text.format.strict": "the messages wire always holds the answer to the schema",
    "tools: custom.format: text": DEFAULT,
    "truncation: disabled": DEFAULT,
  },
  ollama: {
    "format: none": DEFAULT,
    "logprobs: false": DEFAULT,
    "messages[].tool_calls[].function.index": "the position in the list",
    "options.num_predict: -1": DEFAULT,
    "shift: false": "the gateway leaves nothing of a conversation out",
    "truncate: false": "the gateway leaves nothing of a conversation out",
  },
  gemini: {
    "contents[].role: none": DEFAULT,
    "functionCallingConfig.mode: AUTO": DEFAULT,
    "generationConfig.candidateCount: 1": DEFAULT,
    "generationConfig.responseMimeType: text": DEFAULT,
    "generationConfig.responseModalities: text": DEFAULT,
    "thinkingConfig.thinkingBudget: -1": "the model decides by itself how much it thinks",
  },
};

const GATEWAYS_OWN = "the gateway has its own, and the client's name for the model";
const ABOUT_SERVER = "what the server tells of itself";
const MORE_COUNTS = "counts beside the totals, which include them";

/** Fields of an upstream's answer that may be left out without a note, by its wire. */
export const IDLE_IN_ANSWERS: Record<UpstreamWire, Readonly<Record<string, string>>> = {
  chat: {
    "choices[].logprobs": "nobody asked: requests that ask for them are relayed",
    "choices[].stop_reason": "the text that stopped it, for which the client's protocol has no field",
    "created": GATEWAYS_OWN,
    "id": GATEWAYS_OWN,
    "model": GATEWAYS_OWN,
    "service_tier": ABOUT_SERVER,
    "system_fingerprint": ABOUT_SERVER,
    "usage.prompt_tokens_details.audio_tokens": MORE_COUNTS,
  },
  messages: {
    "id": GATEWAYS_OWN,
    "model": GATEWAYS_OWN,
    "stop_sequence": "the text that stopped it, for which the client's protocol has no field",
    "usage.cache_creation": MORE_COUNTS,
    "usage.inference_geo": ABOUT_SERVER,
    "usage.server_tool_use": MORE_COUNTS,
    "usage.service_tier": ABOUT_SERVER,
    "usage.speed": ABOUT_SERVER,
  },
  responses: {
    "created_at": GATEWAYS_OWN,
    "id": GATEWAYS_OWN,
    "model": GATEWAYS_OWN,
    "service_tier": ABOUT_SERVER,
  },
};

/** Fields of an upstream's answer that may be left out for one client's wire, whatever the upstream's wire. */
export const IDLE_FOR: Partial<Record<Client, Readonly<Record<string, string>>>> = {
  ollama: Object.fromEntries(
    [
      "usage.completion_tokens_details.reasoning_tokens",
      "usage.input_tokens_details.cache_write_tokens",
      "usage.input_tokens_details.cached_tokens",
      "usage.output_tokens_details.reasoning_tokens",
      "usage.output_tokens_details.thinking_tokens",
      "usage.prompt_tokens_details.cache_write_tokens",
      "usage.prompt_tokens_details.cached_tokens",
    ].map((field) => [field, MORE_COUNTS]),
  ),
  gemini: {
    "usage.input_tokens_details.cache_write_tokens": MORE_COUNTS,
    "usage.prompt_tokens_details.cache_write_tokens": MORE_COUNTS,
  },
};
