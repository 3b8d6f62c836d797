/** The fields of a request of the messages wire. */
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import type { Sample } from "./sample.ts";

const ASKED = { role: "user", content: "Hello" };
const BASE: JsonObject = { max_tokens: 1000, messages: [ASKED] };
const SCHEMA: JsonObject = { type: "object", properties: { where: { type: "string" } } };
const TOOL: JsonObject = { name: "look", description: "To look", input_schema: SCHEMA };
const TOOLS: JsonObject = { ...BASE, tools: [TOOL] };
const TEXT = { type: "text", text: "Look" };

function sample(field: string, without: JsonObject, more: JsonObject, options: Partial<Sample> = {}): Sample {
  return { field, without, with: { ...without, ...more }, ...options };
}
const top = (field: string, value: JsonValue, options?: Partial<Sample>) =>
  sample(field, BASE, { [field.split(/[.:[]/)[0]!]: value }, options);

const turns = (...messages: JsonObject[]): JsonObject => ({ ...BASE, messages });
const user = (field: string, block: JsonObject, without?: JsonObject): Sample => ({
  field,
  without: turns({ role: "user", content: [TEXT, ...(without ? [without] : [])] }),
  with: turns({ role: "user", content: [TEXT, block] }),
});
const assistant = (field: string, block: JsonObject, without?: JsonObject): Sample => ({
  field,
  without: turns(ASKED, { role: "assistant", content: [TEXT, ...(without ? [without] : [])] }, ASKED),
  with: turns(ASKED, { role: "assistant", content: [TEXT, block] }, ASKED),
});
const CALL: JsonObject = { type: "tool_use", id: "toolu_1", name: "look", input: { where: "there" } };
const afterCall = (result: JsonObject): JsonObject => ({
  ...TOOLS,
  messages: [ASKED, { role: "assistant", content: [CALL] }, {
    role: "user",
    content: [{ type: "tool_result", tool_use_id: "toolu_1", ...result }],
  }],
});
const result = (field: string, more: JsonObject): Sample => ({
  field,
  without: afterCall({ content: [TEXT] }),
  with: afterCall({ content: [TEXT], ...more }),
});
const inResult = (field: string, block: JsonObject) => result(field, { content: [TEXT, block] });
const tool = (field: string, more: JsonObject): Sample => ({
  field,
  without: TOOLS,
  with: { ...BASE, tools: [{ ...TOOL, ...more }] },
});
const offered = (type: string, more: JsonObject = {}): Sample => ({
  field: `tools: ${type}`,
  without: TOOLS,
  with: { ...BASE, tools: [TOOL, { type, ...more }] },
});
const choice = (field: string, value: JsonObject) => sample(field, TOOLS, { tool_choice: value });

const picture = (source: JsonObject): JsonObject => ({ type: "image", source });
const bytes: JsonObject = { type: "base64", media_type: "image/png", data: "keptPicture" };
const page: JsonObject = { type: "base64", media_type: "application/pdf", data: "keptPage" };
const document = (source: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "document", source, ...more });
const cached: JsonObject = { type: "ephemeral", ttl: "1h" };
const server: JsonObject = {
  type: "server_tool_use",
  id: "srvtoolu_1",
  name: "keptName",
  input: { query: "keptQuery" },
};
const served = (type: string, content: JsonValue): Sample => {
  const before = turns(ASKED, { role: "assistant", content: [TEXT, server] }, ASKED);
  const block = { type, tool_use_id: "srvtoolu_1", content };
  return {
    field: type,
    without: before,
    with: turns(ASKED, { role: "assistant", content: [TEXT, server, block] }, ASKED),
  };
};
const references: JsonObject[] = [{ type: "tool_reference", tool_name: "keptTool" }];

export const MESSAGES_REQUESTS: readonly Sample[] = [
  top("max_tokens", 4321),
  top("max_tokens: 0", 0),
  top("messages[].role: user", [{ role: "user", content: "keptText" }]),
  {
    field: "messages[].role: assistant",
    without: turns(ASKED, { role: "assistant", content: [TEXT] }, ASKED),
    with: turns(ASKED, { role: "assistant", content: [TEXT, { type: "text", text: "keptText" }] }, ASKED),
  },
  {
    field: "messages[].role: system",
    without: turns(ASKED),
    with: turns(ASKED, { role: "system", content: "keptText" }),
  },
  {
    field: "messages[].clear_at",
    without: turns(ASKED, { role: "system", content: "Look" }),
    with: turns(ASKED, { role: "system", content: "Look", clear_at: "next_user_message" }),
  },
  {
    field: "messages[].output_config",
    without: turns(ASKED, { role: "system", content: "Look" }),
    with: turns(ASKED, { role: "system", content: "Look", output_config: { effort: "low" } }),
  },
  {
    field: "tool_addition",
    without: turns(ASKED),
    with: turns(ASKED, { role: "system", content: [{ type: "tool_addition", tool: references[0]! }] }),
  },
  {
    field: "tool_removal",
    without: turns(ASKED),
    with: turns(ASKED, { role: "system", content: [{ type: "tool_removal", tool: references[0]! }] }),
  },
  top("system", "keptText"),
  top("system[]", [{ type: "text", text: "keptText" }, { type: "text", text: "keptMore" }]),
  sample("system[].cache_control", { ...BASE, system: [TEXT] }, { system: [{ ...TEXT, cache_control: cached }] }),
  sample("system[]: x-anthropic-billing-header", { ...BASE, system: [TEXT] }, {
    system: [{ type: "text", text: "x-anthropic-billing-header: cc_version=2.1;" }, TEXT],
  }),
  top("stop_sequences", ["keptStop"]),
  top("stream", true),
  top("metadata", { user_id: "keptUser" }),
  top("service_tier", "standard_only"),
  top("thinking.type: enabled", { type: "enabled", budget_tokens: 4321 }),
  sample("thinking.budget_tokens", { ...BASE, thinking: { type: "enabled" } }, {
    thinking: { type: "enabled", budget_tokens: 4321 },
  }),
  top("thinking.type: adaptive", { type: "adaptive" }),
  top("thinking.type: disabled", { type: "disabled" }),
  top("thinking.type: between_tools", { type: "between_tools" }),
  sample("thinking.display", { ...BASE, thinking: { type: "adaptive" } }, {
    thinking: { type: "adaptive", display: "omitted" },
  }),
  sample("thinking.block_binding", { ...BASE, thinking: { type: "adaptive" } }, {
    thinking: { type: "adaptive", block_binding: "keptBinding" },
  }),
  top("output_config.effort", { effort: "high" }),
  top("output_config.format", {
    format: { type: "json_schema", schema: { type: "object", description: "keptSchema" } },
  }),
  top("output_config.task_budget", { task_budget: { type: "tokens", total: 4321 } }),
  top("output_format", { type: "json_schema", schema: { type: "object", description: "keptSchema" } }),
  sample("tools", BASE, {
    tools: [{
      name: "keptName",
      description: "keptDescription",
      input_schema: { ...SCHEMA, description: "keptSchema" },
    }],
  }),
  choice("tool_choice: auto", { type: "auto" }),
  choice("tool_choice: any", { type: "any" }),
  choice("tool_choice: tool", { type: "tool", name: "look" }),
  choice("tool_choice: none", { type: "none" }),
  choice("tool_choice.disable_parallel_tool_use", { type: "auto", disable_parallel_tool_use: true }),
  top("cache_control", cached),
  top("container", "keptContainer"),
  top("container.skills", { skills: [{ type: "custom", skill_id: "keptSkill" }] }),
  top("diagnostics", { previous_message_id: "keptMessage" }),
  top("inference_geo", "keptPlace"),
  top("speed", "fast"),
  top("temperature", 0.4321),
  top("top_p", 0.4321),
  top("top_k", 43),
  top("context_management: clear_tool_uses_20250919", {
    edits: [{ type: "clear_tool_uses_20250919", keep: { type: "tool_uses", value: 3 }, exclude_tools: ["keptTool"] }],
  }),
  top("context_management: clear_thinking_20251015", { edits: [{ type: "clear_thinking_20251015", keep: "all" }] }),
  top("context_management: compact_20260112", {
    edits: [{ type: "compact_20260112", trigger: { type: "input_tokens", value: 1 } }],
  }),
  top("mcp_servers", [{ type: "url", name: "keptServer", url: "https://mcp.test/" }]),
  top("fallbacks", [{ model: "keptModel" }]),
  top("fallback_credit_token", "keptToken"),
  top("thread", { id: "keptThread" }),
  top("compaction", { type: "keptCompaction" }),
  top("billing_policy", "keptPolicy"),
  top("safeguards", [{ type: "dangerous_tool_use", classifier_context: { v: 1 } }]),
  top("tags", ["keptTag"]),
  { field: "anthropic-beta (header)", without: BASE, with: BASE, headers: { "anthropic-beta": "keptBeta" } },
  {
    field: "anthropic-user-profile-id (header)",
    without: BASE,
    with: BASE,
    headers: { "anthropic-user-profile-id": "keptUser" },
  },
  {
    field: "anthropic-workspace-id (header)",
    without: BASE,
    with: BASE,
    headers: { "anthropic-workspace-id": "keptSpace" },
  },
  sample("any other field", BASE, { another_field: "keptValue" }),

  user("text", { type: "text", text: "keptText" }),
  user("text.cache_control", { ...TEXT, cache_control: cached }, TEXT),
  user("text.citations", { ...TEXT, citations: [{ type: "char_location", cited_text: "keptCited" }] }, TEXT),
  user("image: base64", picture(bytes)),
  user("image: url", picture({ type: "url", url: "https://kept.test/keptPicture.png" })),
  user("image: file", picture({ type: "file", file_id: "keptFile" })),
  user("image.cache_control", { ...picture(bytes), cache_control: cached }, picture(bytes)),
  user("image.transformations", { ...picture(bytes), transformations: [{ type: "keptCrop" }] }, picture(bytes)),
  user("document: base64", document(page)),
  user("document: text", document({ type: "text", media_type: "text/plain", data: "keptText" })),
  user("document: content", document({ type: "content", content: [{ type: "text", text: "keptText" }] })),
  user("document: url", document({ type: "url", url: "https://kept.test/keptPage.pdf" })),
  user("document: file", document({ type: "file", file_id: "keptFile" })),
  user("document.title", document(page, { title: "keptTitle" }), document(page)),
  user("document.context", document(page, { context: "keptContext" }), document(page)),
  user("document.citations", document(page, { citations: { enabled: true } }), document(page)),
  user("search_result", {
    type: "search_result",
    source: "https://kept.test/keptSource",
    title: "keptTitle",
    content: [{ type: "text", text: "keptText" }],
  }),
  user("search_result.citations", {
    type: "search_result",
    source: "https://a.test",
    title: "keptTitle",
    content: [],
    citations: { enabled: true },
  }),
  assistant("thinking", { type: "thinking", thinking: "keptThought", signature: "" }),
  assistant("thinking.signature", { type: "thinking", thinking: "Hm", signature: "keptSignature" }, {
    type: "thinking",
    thinking: "Hm",
    signature: "",
  }),
  assistant("redacted_thinking", { type: "redacted_thinking", data: "keptData" }),
  {
    field: "tool_use.id",
    without: afterCall({ content: [TEXT] }),
    with: JSON.parse(JSON.stringify(afterCall({ content: [TEXT] })).replaceAll("toolu_1", "keptId")),
  },
  ...Object.entries({
    name: "keptName",
    input: { where: "keptInput" },
    cache_control: cached,
    caller: { type: "direct" },
    toolset_name: "keptSet",
  }).map(([field, value]): Sample => {
    const body = afterCall({ content: "Found" });
    const [asked, , found] = body.messages as JsonObject[];
    return {
      field: `tool_use.${field}`,
      without: body,
      with: { ...body, messages: [asked!, { role: "assistant", content: [{ ...CALL, [field]: value }] }, found!] },
    };
  }),
  { field: "tool_result", without: afterCall({}), with: afterCall({ content: "keptResult" }) },
  { field: "tool_result: no content", without: afterCall({ content: "Found" }), with: afterCall({}) },
  result("tool_result.is_error", { is_error: true }),
  result("tool_result.cache_control", { cache_control: cached }),
  result("tool_result.toolset_name", { toolset_name: "keptSet" }),
  inResult("tool_result[]: text", { type: "text", text: "keptText" }),
  inResult("tool_result[]: image", picture(bytes)),
  inResult("tool_result[]: document", document(page)),
  inResult("tool_result[]: search_result", {
    type: "search_result",
    source: "https://a.test",
    title: "keptTitle",
    content: [{ type: "text", text: "keptText" }],
  }),
  inResult("tool_result[]: tool_reference", references[0]!),
  inResult("tool_result[]: browser_state", { type: "browser_state", url: "https://kept.test", title: "keptTitle" }),
  assistant("server_tool_use", server),
  served("web_search_tool_result", [{
    type: "web_search_result",
    url: "https://kept.test",
    title: "keptTitle",
    encrypted_content: "x",
  }]),
  served("web_fetch_tool_result", {
    type: "web_fetch_result",
    url: "https://kept.test",
    content: document({ type: "text", media_type: "text/plain", data: "keptText" }),
  }),
  served("code_execution_tool_result", {
    type: "code_execution_result",
    stdout: "keptOut",
    stderr: "keptErr",
    return_code: 0,
  }),
  served("bash_code_execution_tool_result", {
    type: "bash_code_execution_result",
    stdout: "keptOut",
    stderr: "keptErr",
  }),
  served("text_editor_code_execution_tool_result", {
    type: "text_editor_code_execution_view_result",
    content: "keptText",
  }),
  served("tool_search_tool_result", { type: "tool_search_tool_search_result", tool_references: references }),
  user("container_upload", { type: "container_upload", file_id: "keptFile" }),
  assistant("mcp_tool_use", {
    type: "mcp_tool_use",
    id: "m1",
    name: "keptName",
    server_name: "s",
    input: { a: "keptInput" },
  }),
  served("mcp_tool_result", [{ type: "text", text: "keptText" }]),
  assistant("mcp_tool_listing", { type: "mcp_tool_listing", server_name: "keptServer", tools: [] }),
  assistant("compaction (block)", { type: "compaction", content: "keptSummary" }),
  assistant("fallback", { type: "fallback", model: "keptModel" }),
  served("advisor_tool_result", { type: "advisor_result", text: "keptAdvice" }),
  user("a block of another type", { type: "keptType", value: "keptValue" }),

  tool("tools[].type: custom", { type: "custom" }),
  sample("tools[].name", TOOLS, { tools: [{ ...TOOL, name: "keptName" }] }),
  tool("tools[].description", { description: "keptDescription" }),
  tool("tools[].input_schema", { input_schema: { ...SCHEMA, description: "keptDescription" } }),
  tool("tools[].strict", { strict: true }),
  tool("tools[].defer_loading", { defer_loading: true }),
  tool("tools[].eager_input_streaming", { eager_input_streaming: true }),
  tool("tools[].input_examples", { input_examples: [{ where: "keptExample" }] }),
  tool("tools[].allowed_callers", { allowed_callers: ["direct"] }),
  tool("tools[].cache_control", { cache_control: cached }),
  tool("tools[]: any other field", { another: "keptValue" }),
  ...["bash_20250124"].map((type) => offered(type, { name: "bash" })),
  ...["text_editor_20250124", "text_editor_20250429", "text_editor_20250728"].map((type) =>
    offered(type, { name: "edit" })
  ),
  offered("memory_20250818", { name: "memory" }),
  ...["computer_20241022", "computer_20250124", "computer_20251124"].map((type) =>
    offered(type, { name: "computer", display_width_px: 432, display_height_px: 321 })
  ),
  offered("browser_toolset_20260801"),
  offered("computer_toolset_20260801"),
  ...["20250305", "20260209", "20260318"].map((date) =>
    offered(`web_search_${date}`, { name: "web_search", max_uses: 8 })
  ),
  ...["20250910", "20260209", "20260309", "20260318"].map((date) =>
    offered(`web_fetch_${date}`, { name: "web_fetch" })
  ),
  ...["20250522", "20250825", "20260120", "20260521"].map((date) =>
    offered(`code_execution_${date}`, { name: "code_execution" })
  ),
  ...["bm25", "bm25_20251119", "regex", "regex_20251119"].map((kind) =>
    offered(`tool_search_tool_${kind}`, { name: "tool_search" })
  ),
  offered("mcp_toolset", { mcp_server_name: "keptServer" }),
  offered("advisor_20260301", { name: "advisor" }),
];
