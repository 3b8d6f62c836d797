/** Building blocks of the samples for requests of the messages wire. */
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import type { Sample } from "./sample.ts";

export const ASKED = { role: "user", content: "Hello" };
export const BASE: JsonObject = { max_tokens: 1000, messages: [ASKED] };
export const SCHEMA: JsonObject = { type: "object", properties: { where: { type: "string" } } };
export const TOOL: JsonObject = { name: "look", description: "To look", input_schema: SCHEMA };
export const TOOLS: JsonObject = { ...BASE, tools: [TOOL] };
export const TEXT = { type: "text", text: "Look" };

export function sample(field: string, without: JsonObject, more: JsonObject, options: Partial<Sample> = {}): Sample {
  return { field, without, with: { ...without, ...more }, ...options };
}
export const top = (field: string, value: JsonValue, options?: Partial<Sample>) =>
  sample(field, BASE, { [field.split(/[.:[]/)[0]!]: value }, options);

export const turns = (...messages: JsonObject[]): JsonObject => ({ ...BASE, messages });
export const user = (field: string, block: JsonObject, without?: JsonObject): Sample => ({
  field,
  without: turns({ role: "user", content: [TEXT, ...(without ? [without] : [])] }),
  with: turns({ role: "user", content: [TEXT, block] }),
});
export const assistant = (field: string, block: JsonObject, without?: JsonObject): Sample => ({
  field,
  without: turns(ASKED, { role: "assistant", content: [TEXT, ...(without ? [without] : [])] }, ASKED),
  with: turns(ASKED, { role: "assistant", content: [TEXT, block] }, ASKED),
});
export const CALL: JsonObject = { type: "tool_use", id: "toolu_1", name: "look", input: { where: "there" } };
export const afterCall = (result: JsonObject): JsonObject => ({
  ...TOOLS,
  messages: [ASKED, { role: "assistant", content: [CALL] }, {
    role: "user",
    content: [{ type: "tool_result", tool_use_id: "toolu_1", ...result }],
  }],
});
export const result = (field: string, more: JsonObject): Sample => ({
  field,
  without: afterCall({ content: [TEXT] }),
  with: afterCall({ content: [TEXT], ...more }),
});
export const inResult = (field: string, block: JsonObject) => result(field, { content: [TEXT, block] });
export const tool = (field: string, more: JsonObject): Sample => ({
  field,
  without: TOOLS,
  with: { ...BASE, tools: [{ ...TOOL, ...more }] },
});
export const offered = (type: string, more: JsonObject = {}): Sample => ({
  field: `tools: ${type}`,
  without: TOOLS,
  with: { ...BASE, tools: [TOOL, { type, ...more }] },
});
export const choice = (field: string, value: JsonObject) => sample(field, TOOLS, { tool_choice: value });

export const picture = (source: JsonObject): JsonObject => ({ type: "image", source });
export const bytes: JsonObject = { type: "base64", media_type: "image/png", data: "keptPicture" };
export const page: JsonObject = { type: "base64", media_type: "application/pdf", data: "keptPage" };
export const document = (source: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "document",
  source,
  ...more,
});
export const cached: JsonObject = { type: "ephemeral", ttl: "1h" };
export const server: JsonObject = {
  type: "server_tool_use",
  id: "srvtoolu_1",
  name: "keptName",
  input: { query: "keptQuery" },
};
export const served = (type: string, content: JsonValue): Sample => {
  const before = turns(ASKED, { role: "assistant", content: [TEXT, server] }, ASKED);
  const block = { type, tool_use_id: "srvtoolu_1", content };
  return {
    field: type,
    without: before,
    with: turns(ASKED, { role: "assistant", content: [TEXT, server, block] }, ASKED),
  };
};
export const references: JsonObject[] = [{ type: "tool_reference", tool_name: "keptTool" }];
const definition: JsonObject = { type: "tool_definition", definition: { name: "keptTool", input_schema: SCHEMA } };
export const toolChanges: Sample[] = [
  ["tool_addition", references[0]!],
  ["tool_addition: tool_definition", definition],
  ["tool_removal", references[0]!],
].map(([field, tool]) => {
  const type = String(field).replace(/:.*/, "");
  return sample(String(field), turns(ASKED), turns(ASKED, { role: "system", content: [{ type, tool: tool! }] }));
});

/** Turns with a thought, a call and a long result each, so that edits of the conversation have something to clear. */
const long = ["toolu_1", "toolu_2"].flatMap((id): JsonObject[] => [
  { role: "assistant", content: [{ type: "thinking", thinking: "I look", signature: "" }, { ...CALL, id }] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "Here and there. ".repeat(9) }, TEXT] },
]);
export const edited = (type: string, more: JsonObject = {}): Sample => ({
  field: `context_management: ${type}`,
  without: { ...TOOLS, messages: [ASKED, ...long] },
  with: { ...TOOLS, messages: [ASKED, ...long], context_management: { edits: [{ type, ...more }] } },
});
