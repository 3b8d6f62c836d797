/** The fields of a request of the responses wire. */
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import type { Sample } from "./sample.ts";

const ASKED: JsonObject = { type: "message", role: "user", content: "Hello" };
const STATELESS: JsonObject = { store: false };
const BASE: JsonObject = { ...STATELESS, input: [ASKED] };
const SCHEMA: JsonObject = { type: "object", properties: { where: { type: "string" } } };
const LOOK: JsonObject = { type: "function", name: "look", description: "To look", parameters: SCHEMA };
const FREE: JsonObject = { type: "custom", name: "write", description: "To write" };
const TOOLS: JsonObject = { ...BASE, tools: [LOOK, FREE] };
const TEXT: JsonObject = { type: "input_text", text: "Look" };

function sample(field: string, without: JsonObject, more: JsonObject): Sample {
  return { field, without, with: { ...without, ...more } };
}
const top = (field: string, value: JsonValue) => sample(field, BASE, { [field.split(/[.:[]/)[0]!]: value });
const items = (...input: JsonObject[]): JsonObject => ({ ...STATELESS, input });
const SAID: JsonObject = { type: "message", role: "assistant", content: "Look" };
/** An item right after what the assistant said. */
const item = (field: string, one: JsonObject): Sample => ({
  field,
  without: items(ASKED, SAID, ASKED),
  with: items(ASKED, SAID, one, ASKED),
});
const inItem = (field: string, one: JsonObject, more: JsonObject): Sample => ({
  field,
  without: items(ASKED, one, ASKED),
  with: items(ASKED, { ...one, ...more }, ASKED),
});
const part = (field: string, block: JsonObject, without?: JsonObject): Sample => ({
  field,
  without: items({ ...ASKED, content: [TEXT, ...(without ? [without] : [])] }),
  with: items({ ...ASKED, content: [TEXT, block] }),
});
const said = (field: string, block: JsonObject, without?: JsonObject): Sample => {
  const turn = (content: JsonObject[]): JsonObject => ({ type: "message", role: "assistant", content });
  const text = { type: "output_text", text: "Look", annotations: [] };
  return {
    field,
    without: items(ASKED, turn([text, ...(without ? [without] : [])]), ASKED),
    with: items(ASKED, turn([text, block]), ASKED),
  };
};
const CALL: JsonObject = { type: "function_call", call_id: "call_1", name: "look", arguments: '{"where":"there"}' };
const FREE_CALL: JsonObject = { type: "custom_tool_call", call_id: "call_1", name: "write", input: "Look" };
const called = (call: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...TOOLS,
  input: [ASKED, call, {
    type: call.type === "function_call" ? "function_call_output" : "custom_tool_call_output",
    call_id: "call_1",
    output: "Found",
    ...more,
  }],
});
const call = (field: string, one: JsonObject, more: JsonObject): Sample => ({
  field,
  without: called(one),
  with: called({ ...one, ...more }),
});
const output = (field: string, one: JsonObject, more: JsonObject, less: JsonObject = {}): Sample => ({
  field,
  without: called(one, less),
  with: called(one, more),
});
const tool = (field: string, one: JsonObject, more: JsonObject): Sample => ({
  field,
  without: { ...BASE, tools: [one] },
  with: { ...BASE, tools: [{ ...one, ...more }] },
});
const offered = (type: string, more: JsonObject = {}): Sample => ({
  field: `tools: ${type}`,
  without: TOOLS,
  with: { ...BASE, tools: [LOOK, FREE, { type, ...more }] },
});
const choice = (field: string, value: JsonValue, more: JsonObject[] = []): Sample => {
  const without = { ...BASE, tools: [LOOK, FREE, ...more] };
  return sample(field, without, { tool_choice: value });
};
const format = (field: string, more: JsonObject): Sample => {
  const inner = { type: "json_schema", name: "answer", schema: SCHEMA };
  return sample(field, { ...BASE, text: { format: inner } }, { text: { format: { ...inner, ...more } } });
};
const NAMESPACE: JsonObject = { type: "namespace", name: "space", description: "Space", tools: [LOOK] };
const THOUGHT: JsonObject = {
  type: "reasoning",
  id: "rs_a",
  summary: [],
  content: [{ type: "reasoning_text", text: "Hm" }],
};

/** What the gateway's memory knows: the first answer of the test's app. */
const FIRST = { input: [{ type: "message", role: "user", content: "keptQuestion" }], store: true };

export const RESPONSES_REQUESTS: readonly Sample[] = [
  { field: "input", without: { ...STATELESS, input: "Hello" }, with: { ...STATELESS, input: "keptText" } },
  top("instructions", "keptText"),
  top("instructions[]", [{ type: "message", role: "developer", content: "keptText" }]),
  sample("tools", BASE, {
    tools: [{
      ...LOOK,
      name: "keptName",
      description: "keptDescription",
      parameters: { ...SCHEMA, description: "keptSchema" },
    }],
  }),
  sample("parallel_tool_calls", TOOLS, { parallel_tool_calls: false }),
  top("max_output_tokens", 4321),
  top("max_tool_calls", 43),
  ...["none", "minimal", "low", "medium", "high", "xhigh", "max"].map((effort) =>
    top(`reasoning.effort: ${effort}`, { effort })
  ),
  top("reasoning.summary", { summary: "auto" }),
  top("reasoning.generate_summary", { generate_summary: "auto" }),
  top("reasoning.context", { context: "all_turns" }),
  top("reasoning.mode", { mode: "keptMode" }),
  top("text.format: text", { format: { type: "text" } }),
  top("text.format: json_object", { format: { type: "json_object" } }),
  top("text.format: json_schema", {
    format: { type: "json_schema", name: "answer", schema: { ...SCHEMA, description: "keptSchema" } },
  }),
  format("text.format.name", { name: "keptName" }),
  format("text.format.description", { description: "keptDescription" }),
  format("text.format.strict", { strict: true }),
  top("text.verbosity", { verbosity: "low" }),
  ...[
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
  ].map((one) => top(`include: ${one}`, [one])),
  top("store: true", true),
  { field: "store: false", without: { input: [ASKED] }, with: BASE },
  { field: "previous_response_id", without: BASE, with: { ...BASE, previous_response_id: "resp_2" }, before: FIRST },
  top("conversation", "conv_1"),
  top("context_management", [{ type: "compaction", compact_threshold: 1 }]),
  top("truncation: auto", "auto"),
  top("truncation: disabled", "disabled"),
  { field: "background", without: { input: [ASKED] }, with: { input: [ASKED], background: true } },
  top("metadata", { user: "keptUser" }),
  top("prompt", { id: "keptPrompt" }),
  top("prompt_cache_key", "keptKey"),
  top("prompt_cache_options", { mode: "keptMode" }),
  top("prompt_cache_retention", "24h"),
  top("safety_identifier", "keptUser"),
  top("service_tier", "flex"),
  top("stream", true),
  sample("stream_options.include_obfuscation", { ...BASE, stream: true }, {
    stream_options: { include_obfuscation: false },
  }),
  top("temperature", 0.4321),
  top("top_p", 0.4321),
  top("top_logprobs", 2),
  top("presence_penalty", 0.4321),
  top("frequency_penalty", 0.4321),
  top("user", "keptUser"),
  top("moderation", { type: "keptModeration" }),
  top("image", { size: "keptSize" }),
  top("access_programs", ["keptProgram"]),
  top("client_metadata", { session: "keptSession" }),
  sample("any other field", BASE, { another_field: "keptValue" }),
  choice("tool_choice: none", "none"),
  choice("tool_choice: auto", "auto"),
  choice("tool_choice: required", "required"),
  choice("tool_choice: function", { type: "function", name: "look" }),
  choice("tool_choice: custom", { type: "custom", name: "write" }),
  choice("tool_choice: allowed_tools", {
    type: "allowed_tools",
    mode: "auto",
    tools: [{ type: "function", name: "look" }],
  }),
  choice("tool_choice: hosted", { type: "web_search" }, [{ type: "web_search" }]),
  choice("tool_choice: mcp", { type: "mcp", server_label: "box" }, [{ type: "mcp", server_label: "box" }]),
  choice("tool_choice: apply_patch", { type: "apply_patch" }, [{ type: "apply_patch" }]),
  choice("tool_choice: shell", { type: "shell" }, [{ type: "shell" }]),
  choice("tool_choice: programmatic_tool_calling", { type: "programmatic_tool_calling" }, [{
    type: "programmatic_tool_calling",
  }]),

  { field: "message: no type", without: items(ASKED), with: items({ role: "user", content: "keptText" }) },
  ...["user", "assistant", "system", "developer"].map((role) =>
    item(`message.role: ${role}`, { type: "message", role, content: "keptText" })
  ),
  inItem("message.phase", SAID, { phase: "commentary" }),
  inItem("message.id", SAID, { id: "msg_kept" }),
  inItem("message.status", SAID, { status: "incomplete" }),
  inItem("message: any other field", ASKED, { another: "keptValue" }),
  part("input_text", { type: "input_text", text: "keptText" }),
  part("input_image.image_url", {
    type: "input_image",
    image_url: "data:image/png;base64,keptPicture",
    detail: "auto",
  }),
  part("input_image.image_url: address", {
    type: "input_image",
    image_url: "https://kept.test/keptPicture.png",
    detail: "auto",
  }),
  part("input_image.file_id", { type: "input_image", file_id: "keptFile", detail: "auto" }),
  part("input_image.detail", { type: "input_image", image_url: "https://a.test/a.png", detail: "high" }, {
    type: "input_image",
    image_url: "https://a.test/a.png",
    detail: "auto",
  }),
  part("input_file.file_data", { type: "input_file", file_data: "data:application/pdf;base64,keptPage" }),
  part("input_file.file_id", { type: "input_file", file_id: "keptFile" }),
  part("input_file.file_url", { type: "input_file", file_url: "https://kept.test/keptPage.pdf" }),
  part("input_file.filename", {
    type: "input_file",
    file_data: "data:application/pdf;base64,Page",
    filename: "keptName",
  }, {
    type: "input_file",
    file_data: "data:application/pdf;base64,Page",
  }),
  part("input_audio", { type: "input_audio", input_audio: { data: "keptSound", format: "wav" } }),
  said("output_text", { type: "output_text", text: "keptText", annotations: [] }),
  said("output_text.annotations", {
    type: "output_text",
    text: "More",
    annotations: [{ type: "url_citation", url: "https://kept.test", title: "keptTitle", start_index: 0, end_index: 4 }],
  }, { type: "output_text", text: "More", annotations: [] }),
  said("refusal", { type: "refusal", refusal: "keptRefusal" }),
  {
    field: "function_call.call_id",
    without: called(CALL),
    with: JSON.parse(JSON.stringify(called(CALL)).replaceAll("call_1", "keptId")),
  },
  call("function_call.name", CALL, { name: "keptName" }),
  call("function_call.arguments", CALL, { arguments: '{"where":"keptArgument"}' }),
  call("function_call.id", CALL, { id: "fc_kept" }),
  call("function_call.namespace", CALL, { namespace: "keptSpace" }),
  call("function_call.status", CALL, { status: "incomplete" }),
  output("function_call_output.output", CALL, { output: "keptResult" }),
  output("function_call_output.output[]: input_text", CALL, {
    output: [TEXT, { type: "input_text", text: "keptText" }],
  }, { output: [TEXT] }),
  output("function_call_output.output[]: input_image", CALL, {
    output: [TEXT, { type: "input_image", image_url: "data:image/png;base64,keptPicture" }],
  }, { output: [TEXT] }),
  output("function_call_output.output[]: input_file", CALL, {
    output: [TEXT, { type: "input_file", file_data: "data:application/pdf;base64,keptPage" }],
  }, { output: [TEXT] }),
  output("function_call_output.id", CALL, { id: "fco_kept" }),
  call("custom_tool_call.name", FREE_CALL, { name: "keptName" }),
  call("custom_tool_call.input", FREE_CALL, { input: "keptInput" }),
  call("custom_tool_call.namespace", FREE_CALL, { namespace: "keptSpace" }),
  output("custom_tool_call_output", FREE_CALL, { output: "keptResult" }),
  item("reasoning.content", {
    type: "reasoning",
    id: "rs_a",
    summary: [],
    content: [{ type: "reasoning_text", text: "keptThought" }],
  }),
  item("reasoning.summary (item)", {
    type: "reasoning",
    id: "rs_a",
    summary: [{ type: "summary_text", text: "keptThought" }],
  }),
  inItem("reasoning.encrypted_content", THOUGHT, { encrypted_content: "keptData" }),
  {
    field: "item_reference",
    without: BASE,
    with: { ...STATELESS, input: [{ type: "item_reference", id: "msg_2_1" }, ASKED] },
    before: FIRST,
  },
  item("local_shell_call", {
    type: "local_shell_call",
    id: "i1",
    call_id: "c1",
    action: { type: "exec", command: ["keptCommand"] },
    status: "completed",
  }),
  item("local_shell_call_output", { type: "local_shell_call_output", id: "c1", output: "keptResult" }),
  item("shell_call", { type: "shell_call", call_id: "c1", action: { commands: ["keptCommand"] } }),
  item("shell_call_output", { type: "shell_call_output", call_id: "c1", output: [{ stdout: "keptResult" }] }),
  item("apply_patch_call", {
    type: "apply_patch_call",
    call_id: "c1",
    operation: { type: "update_file", diff: "keptDiff" },
  }),
  item("apply_patch_call_output", {
    type: "apply_patch_call_output",
    call_id: "c1",
    status: "completed",
    output: "keptResult",
  }),
  item("web_search_call", {
    type: "web_search_call",
    id: "i1",
    status: "completed",
    action: { type: "search", query: "keptQuery" },
  }),
  item("file_search_call", {
    type: "file_search_call",
    id: "i1",
    queries: ["keptQuery"],
    results: [{ text: "keptText" }],
  }),
  item("code_interpreter_call", {
    type: "code_interpreter_call",
    id: "i1",
    code: "keptCode",
    outputs: [{ type: "logs", logs: "keptLogs" }],
  }),
  item("image_generation_call", { type: "image_generation_call", id: "i1", result: "keptPicture" }),
  item("computer_call", {
    type: "computer_call",
    id: "i1",
    call_id: "c1",
    action: { type: "click", button: "keptButton" },
  }),
  item("computer_call_output", {
    type: "computer_call_output",
    call_id: "c1",
    output: { type: "computer_screenshot", file_id: "keptFile" },
  }),
  item("mcp_list_tools", { type: "mcp_list_tools", id: "i1", server_label: "keptLabel", tools: [] }),
  item("mcp_call", {
    type: "mcp_call",
    id: "i1",
    server_label: "s",
    name: "keptName",
    arguments: "{}",
    output: "keptResult",
  }),
  item("mcp_approval_request", { type: "mcp_approval_request", id: "i1", name: "keptName", arguments: "{}" }),
  item("mcp_approval_response", { type: "mcp_approval_response", approval_request_id: "i1", approve: true }),
  item("tool_search_call", { type: "tool_search_call", call_id: "c1", arguments: { query: "keptQuery" } }),
  item("tool_search_output", { type: "tool_search_output", call_id: "c1", tools: [{ ...LOOK, name: "keptName" }] }),
  item("additional_tools", { type: "additional_tools", role: "developer", tools: [{ ...LOOK, name: "keptName" }] }),
  item("compaction", { type: "compaction", encrypted_content: "keptData" }),
  {
    field: "compaction_trigger",
    without: items(ASKED, SAID, ASKED),
    with: items(ASKED, SAID, ASKED, { type: "compaction_trigger" }),
  },
  item("program", { type: "program", id: "i1", code: "keptCode" }),
  item("program_output", { type: "program_output", id: "i1", result: "keptResult" }),
  item("an item of another type", { type: "keptType", value: "keptValue" }),

  tool("tools: function", LOOK, { name: "keptName" }),
  tool("tools[].description", LOOK, { description: "keptDescription" }),
  tool("tools[].parameters", LOOK, {
    parameters: { ...SCHEMA, description: "keptDescription" },
  }),
  tool("tools[].parameters: null", { type: "function", name: "look" }, { parameters: null }),
  tool("tools[].strict: true", LOOK, { strict: true }),
  tool("tools[].strict: null", { ...LOOK, strict: false }, { strict: null }),
  tool("tools[].defer_loading", LOOK, { defer_loading: true }),
  tool("tools[].output_schema", LOOK, { output_schema: { type: "object", description: "keptSchema" } }),
  tool("tools[].async", LOOK, { async: true }),
  tool("tools[]: any other field", LOOK, { another: "keptValue" }),
  tool("tools: custom", FREE, { name: "keptName", description: "keptDescription" }),
  tool("tools: custom.format: text", FREE, { format: { type: "text" } }),
  tool("tools: custom.format: grammar", FREE, {
    format: { type: "grammar", syntax: "lark", definition: "keptGrammar" },
  }),
  tool("tools: custom: any other field", FREE, { another: "keptValue" }),
  sample("tools: namespace", TOOLS, {
    tools: [LOOK, FREE, { ...NAMESPACE, name: "keptSpace", description: "keptDescription" }],
  }),
  offered("web_search", { external_web_access: false }),
  offered("web_search_preview"),
  offered("file_search", { vector_store_ids: ["keptStore"] }),
  offered("mcp", { server_label: "keptLabel", server_url: "https://mcp.test" }),
  offered("code_interpreter", { container: { type: "auto" } }),
  offered("image_generation"),
  offered("local_shell"),
  offered("shell"),
  offered("apply_patch"),
  offered("computer", { display_width: 432 }),
  offered("computer_use_preview", { display_width: 432 }),
  offered("tool_search"),
  offered("programmatic_tool_calling"),
];
