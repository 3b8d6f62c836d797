/** The fields of a request of the chat completions wire. */
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import { CHAT_SAMPLING } from "../../shared/sampling.ts";
import { messageSamples, type Sample, sample, samplingSamples } from "./sample.ts";

const ASKED = { role: "user", content: "Hello" };
const BASE: JsonObject = { messages: [ASKED] };
const SCHEMA: JsonObject = { type: "object", properties: { where: { type: "string" } } };
const LOOK: JsonObject = { name: "look", description: "To look", parameters: SCHEMA };
const FREE: JsonObject = { name: "write", description: "To write" };
const TOOL: JsonObject = { type: "function", function: LOOK };
const TOOLS: JsonObject = { ...BASE, tools: [TOOL, { type: "custom", custom: FREE }] };
const TEXT = { type: "text", text: "Look" };

const top = (field: string, value: JsonValue) => sample(field, BASE, { [field.split(/[.:[]/)[0]!]: value });
const turns = (...messages: JsonObject[]): JsonObject => ({ messages });
const { role, message } = messageSamples(turns, ASKED);
const ANSWERED: JsonObject = { role: "assistant", content: "Look" };
const part = (field: string, block: JsonObject, without?: JsonObject): Sample => ({
  field,
  without: turns({ role: "user", content: [TEXT, ...(without ? [without] : [])] }),
  with: turns({ role: "user", content: [TEXT, block] }),
});
const picture = (more: JsonObject = {}): JsonObject => ({
  type: "image_url",
  image_url: { url: "data:image/png;base64,keptPicture", ...more },
});
const CALL: JsonObject = { id: "call_1", type: "function", function: { name: "look", arguments: '{"where":"there"}' } };
const called = (call: JsonObject, result: JsonObject = {}): JsonObject => ({
  ...TOOLS,
  messages: [ASKED, { role: "assistant", content: null, tool_calls: [call] }, {
    role: "tool",
    tool_call_id: "call_1",
    content: "Found",
    ...result,
  }],
});
const tool = (field: string, definition: JsonObject, outer: JsonObject = {}): Sample => ({
  field,
  without: { ...BASE, tools: [TOOL] },
  with: { ...BASE, tools: [{ type: "function", function: { ...LOOK, ...definition }, ...outer }] },
});
const custom = (field: string, definition: JsonObject): Sample => ({
  field,
  without: { ...BASE, tools: [{ type: "custom", custom: FREE }] },
  with: { ...BASE, tools: [{ type: "custom", custom: { ...FREE, ...definition } }] },
});
const choice = (field: string, value: JsonValue) => sample(field, TOOLS, { tool_choice: value });
const format = (field: string, more: JsonObject): Sample => {
  const json_schema = { name: "answer", schema: SCHEMA };
  return {
    field,
    without: { ...BASE, response_format: { type: "json_schema", json_schema } },
    with: { ...BASE, response_format: { type: "json_schema", json_schema: { ...json_schema, ...more } } },
  };
};

const { frequency_penalty, presence_penalty, temperature, ...sampling } = samplingSamples(CHAT_SAMPLING, top);

export const CHAT_REQUESTS: readonly Sample[] = [
  top("audio", { voice: "keptVoice", format: "wav" }),
  frequency_penalty,
  sample("functions", BASE, { functions: [{ name: "keptName", description: "keptDescription", parameters: SCHEMA }] }),
  sample("function_call", { ...BASE, functions: [LOOK] }, { function_call: { name: "look" } }),
  top("logit_bias", { "4321": 5 }),
  top("logprobs", true),
  top("max_completion_tokens", 4321),
  top("max_tokens", 4321),
  top("messages", [{ role: "user", content: "keptText" }]),
  top("metadata", { user: "keptUser" }),
  top("modalities", ["text", "audio"]),
  top("moderation", { type: "keptModeration" }),
  top("n", 2),
  sample("parallel_tool_calls", TOOLS, { parallel_tool_calls: false }),
  top("prediction", { type: "content", content: "keptPrediction" }),
  presence_penalty,
  top("prompt_cache_key", "keptKey"),
  top("prompt_cache_options", { mode: "keptMode" }),
  top("prompt_cache_retention", "24h"),
  ...["none", "minimal", "low", "medium", "high", "xhigh", "max"].map((effort) =>
    top(`reasoning_effort: ${effort}`, effort)
  ),
  top("response_format: text", { type: "text" }),
  top("response_format: json_object", { type: "json_object" }),
  top("response_format: json_schema", {
    type: "json_schema",
    json_schema: { name: "answer", schema: { ...SCHEMA, description: "keptSchema" } },
  }),
  format("response_format.json_schema.name", { name: "keptName" }),
  format("response_format.json_schema.description", { description: "keptDescription" }),
  format("response_format.json_schema.strict", { strict: true }),
  top("safety_identifier", "keptUser"),
  top("seed", 4321),
  top("service_tier", "flex"),
  top("stop", "keptStop"),
  top("stop[]", ["keptStop", "keptOther"]),
  top("store", true),
  top("stream", true),
  sample("stream_options.include_usage", { ...BASE, stream: true }, { stream_options: { include_usage: true } }),
  sample("stream_options.include_obfuscation", { ...BASE, stream: true }, {
    stream_options: { include_obfuscation: false },
  }),
  temperature,
  choice("tool_choice: none", "none"),
  choice("tool_choice: auto", "auto"),
  choice("tool_choice: required", "required"),
  choice("tool_choice: function", { type: "function", function: { name: "look" } }),
  choice("tool_choice: custom", { type: "custom", custom: { name: "write" } }),
  choice("tool_choice: allowed_tools", {
    type: "allowed_tools",
    allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "look" } }] },
  }),
  sample("tools", BASE, {
    tools: [{
      type: "function",
      function: {
        name: "keptName",
        description: "keptDescription",
        parameters: { ...SCHEMA, description: "keptSchema" },
      },
    }],
  }),
  top("top_logprobs", 2),
  ...Object.values(sampling),
  top("user", "keptUser"),
  top("verbosity", "low"),
  top("web_search_options", { search_context_size: "high" }),
  sample("any other field", BASE, { another_field: "keptValue" }),

  role("developer"),
  role("system"),
  role("user"),
  role("assistant"),
  { field: "messages[].role: tool", without: called(CALL), with: called(CALL, { content: "keptResult" }) },
  {
    field: "messages[].role: function",
    without: turns(ASKED, { role: "assistant", content: null, function_call: { name: "look", arguments: "{}" } }),
    with: turns(ASKED, { role: "assistant", content: null, function_call: { name: "look", arguments: "{}" } }, {
      role: "function",
      name: "look",
      content: "keptResult",
    }),
  },
  message("messages[].content: null", { role: "assistant", content: null, refusal: "No" }, { content: "keptText" }),
  message("messages[].name", ASKED, { name: "keptName" }),
  {
    field: "messages[].tool_calls: function",
    without: called(CALL),
    with: called({ ...CALL, function: { name: "look", arguments: '{"where":"keptArgument"}' } }),
  },
  {
    field: "messages[].tool_calls: custom",
    without: called({ id: "call_1", type: "custom", custom: { name: "write", input: "Look" } }),
    with: called({ id: "call_1", type: "custom", custom: { name: "write", input: "keptInput" } }),
  },
  {
    field: "messages[].tool_call_id",
    without: called(CALL),
    with: JSON.parse(JSON.stringify(called(CALL)).replaceAll("call_1", "keptId")),
  },
  {
    field: "messages[].content[] of a tool",
    without: called(CALL, { content: [TEXT] }),
    with: called(CALL, { content: [TEXT, { type: "text", text: "keptText" }] }),
  },
  message("messages[].refusal", ANSWERED, { refusal: "keptRefusal" }),
  message("messages[].audio", ANSWERED, { audio: { id: "keptAudio" } }),
  message("messages[].function_call", ANSWERED, {
    function_call: { name: "look", arguments: '{"where":"keptArgument"}' },
  }),
  message("messages[].reasoning_content", ANSWERED, { reasoning_content: "keptThought" }),
  message("messages[].reasoning", ANSWERED, { reasoning: "keptThought" }),
  message("messages[]: any other field", ASKED, { another: "keptValue" }),
  part("text", { type: "text", text: "keptText" }),
  part("text.prompt_cache_breakpoint", { ...TEXT, prompt_cache_breakpoint: { mode: "keptMode" } }, TEXT),
  part("text.cache_control", { ...TEXT, cache_control: { type: "ephemeral" } }, TEXT),
  {
    field: "messages[].cache_control",
    without: turns({ role: "system", content: "Look" }, ASKED),
    with: turns({ role: "system", content: "Look", cache_control: { type: "ephemeral" } }, ASKED),
  },
  part("image_url", picture()),
  part("image_url: address", { type: "image_url", image_url: { url: "https://kept.test/keptPicture.png" } }),
  part("image_url.detail", picture({ detail: "high" }), picture()),
  part("image_url.prompt_cache_breakpoint", { ...picture(), prompt_cache_breakpoint: { mode: "keptMode" } }, picture()),
  part("input_audio", { type: "input_audio", input_audio: { data: "keptSound", format: "wav" } }),
  part("file.file_data", { type: "file", file: { file_data: "data:application/pdf;base64,keptPage" } }),
  part("file.file_id", { type: "file", file: { file_id: "keptFile" } }),
  part(
    "file.filename",
    { type: "file", file: { file_data: "data:application/pdf;base64,Page", filename: "keptName" } },
    {
      type: "file",
      file: { file_data: "data:application/pdf;base64,Page" },
    },
  ),
  {
    field: "refusal",
    without: turns(ASKED, { role: "assistant", content: [TEXT] }, ASKED),
    with: turns(ASKED, { role: "assistant", content: [TEXT, { type: "refusal", refusal: "keptRefusal" }] }, ASKED),
  },
  part("a part of another type", { type: "keptType", value: "keptValue" }),

  tool("tools[].function.name", { name: "keptName" }),
  tool("tools[].function.description", { description: "keptDescription" }),
  tool("tools[].function.parameters", {
    parameters: { ...SCHEMA, description: "keptDescription" },
  }),
  tool("tools[].function.strict", { strict: true }),
  tool("tools[].cache_control", {}, { cache_control: { type: "ephemeral" } }),
  tool("tools[].function: any other field", { another: "keptValue" }),
  sample("tools[].custom", BASE, {
    tools: [{ type: "custom", custom: { name: "keptName", description: "keptDescription" } }],
  }),
  custom("tools[].custom.format: text", { format: { type: "text" } }),
  custom("tools[].custom.format: grammar", {
    format: { type: "grammar", grammar: { syntax: "lark", definition: "keptGrammar" } },
  }),
  custom("tools[].custom: any other field", { another: "keptValue" }),
  sample("tools: another type", { ...BASE, tools: [TOOL] }, { tools: [TOOL, { type: "keptType" }] }),
];
