/** The tools of a request of the responses wire. */
import type { Sample } from "./sample.ts";
import { FREE, LOOK, NAMESPACE, offered, sample, SCHEMA, tool, TOOLS } from "./responses_samples.ts";

export const RESPONSES_TOOLS: readonly Sample[] = [
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
