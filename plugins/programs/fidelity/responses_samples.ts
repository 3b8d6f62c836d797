/** What the samples are made of, for the fields of a request of the responses wire. */
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import type { Sample } from "./sample.ts";

export const ASKED: JsonObject = { type: "message", role: "user", content: "Hello" };
export const STATELESS: JsonObject = { store: false };
export const BASE: JsonObject = { ...STATELESS, input: [ASKED] };
export const SCHEMA: JsonObject = { type: "object", properties: { where: { type: "string" } } };
export const LOOK: JsonObject = { type: "function", name: "look", description: "To look", parameters: SCHEMA };
export const FREE: JsonObject = { type: "custom", name: "write", description: "To write" };
export const TOOLS: JsonObject = { ...BASE, tools: [LOOK, FREE] };
export const TEXT: JsonObject = { type: "input_text", text: "Look" };

export function sample(field: string, without: JsonObject, more: JsonObject): Sample {
  return { field, without, with: { ...without, ...more } };
}
export const top = (field: string, value: JsonValue) => sample(field, BASE, { [field.split(/[.:[]/)[0]!]: value });
export const items = (...input: JsonObject[]): JsonObject => ({ ...STATELESS, input });
export const SAID: JsonObject = { type: "message", role: "assistant", content: "Look" };
/** An item right after what the assistant said. */
export const item = (field: string, one: JsonObject): Sample => ({
  field,
  without: items(ASKED, SAID, ASKED),
  with: items(ASKED, SAID, one, ASKED),
});
export const inItem = (field: string, one: JsonObject, more: JsonObject): Sample => ({
  field,
  without: items(ASKED, one, ASKED),
  with: items(ASKED, { ...one, ...more }, ASKED),
});
export const part = (field: string, block: JsonObject, without?: JsonObject): Sample => ({
  field,
  without: items({ ...ASKED, content: [TEXT, ...(without ? [without] : [])] }),
  with: items({ ...ASKED, content: [TEXT, block] }),
});
export const said = (field: string, block: JsonObject, without?: JsonObject): Sample => {
  const turn = (content: JsonObject[]): JsonObject => ({ type: "message", role: "assistant", content });
  const text = { type: "output_text", text: "Look", annotations: [] };
  return {
    field,
    without: items(ASKED, turn([text, ...(without ? [without] : [])]), ASKED),
    with: items(ASKED, turn([text, block]), ASKED),
  };
};
export const CALL: JsonObject = {
  type: "function_call",
  call_id: "call_1",
  name: "look",
  arguments: '{"where":"there"}',
};
export const FREE_CALL: JsonObject = { type: "custom_tool_call", call_id: "call_1", name: "write", input: "Look" };
export const called = (call: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...TOOLS,
  input: [ASKED, call, {
    type: call.type === "function_call" ? "function_call_output" : "custom_tool_call_output",
    call_id: "call_1",
    output: "Found",
    ...more,
  }],
});
export const call = (field: string, one: JsonObject, more: JsonObject): Sample => ({
  field,
  without: called(one),
  with: called({ ...one, ...more }),
});
export const output = (field: string, one: JsonObject, more: JsonObject, less: JsonObject = {}): Sample => ({
  field,
  without: called(one, less),
  with: called(one, more),
});
export const tool = (field: string, one: JsonObject, more: JsonObject): Sample => ({
  field,
  without: { ...BASE, tools: [one] },
  with: { ...BASE, tools: [{ ...one, ...more }] },
});
export const offered = (type: string, more: JsonObject = {}): Sample => ({
  field: `tools: ${type}`,
  without: TOOLS,
  with: { ...BASE, tools: [LOOK, FREE, { type, ...more }] },
});
export const choice = (field: string, value: JsonValue, more: JsonObject[] = []): Sample => {
  const without = { ...BASE, tools: [LOOK, FREE, ...more] };
  return sample(field, without, { tool_choice: value });
};
export const format = (field: string, more: JsonObject): Sample => {
  const inner = { type: "json_schema", name: "answer", schema: SCHEMA };
  return sample(field, { ...BASE, text: { format: inner } }, { text: { format: { ...inner, ...more } } });
};
export const NAMESPACE: JsonObject = { type: "namespace", name: "space", description: "Space", tools: [LOOK] };
export const THOUGHT: JsonObject = {
  type: "reasoning",
  id: "rs_a",
  summary: [],
  content: [{ type: "reasoning_text", text: "Hm" }],
};

/** What the gateway's memory knows: the first answer of the test's app. */
export const FIRST = { input: [{ type: "message", role: "user", content: "keptQuestion" }], store: true };
