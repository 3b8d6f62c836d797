/** How the bodies of responses are laid out. */
import { asList, asObjects, isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { BodyLayout } from "../../src/contract/body_layout.ts";
import { CONVERSATION_FIELDS } from "../shared/conversation_fields.ts";
import { ideasOf } from "../shared/refusal_ideas.ts";

export const LAYOUT: BodyLayout = {
  kept: new Set([
    "model",
    "stream",
    "input",
    "instructions",
    "previous_response_id",
    "conversation",
    "background",
    "input[].type",
    "input[].role",
    "input[].content",
    "input[].content[].type",
    "input[].content[].text",
    "input[].content[].image_url",
    "input[].content[].file_data",
    "input[].content[].file_id",
    "input[].call_id",
    "input[].name",
    "input[].arguments",
    "input[].input",
    "input[].output",
    "input[].output[].type",
    "input[].output[].text",
    "input[].output[].image_url",
    "input[].output[].file_data",
    "input[].output[].file_id",
    "input[].summary",
    "tools[].type",
    "tools[].name",
    "tools[].parameters",
    "tool_choice",
    "text.format.type",
    "text.format.name",
  ]),
  needed: CONVERSATION_FIELDS,
  harmless: new Set(["store", "include"]),
  free: new Set(["metadata"]),
  schemas: new Set(["tools[].parameters", "text.format.schema"]),
  answerForms: ["text.format"],
  limits: ["max_output_tokens"],
  turns: "input",
  instructions: "instructions",
  callIds: new Set(["input[].call_id"]),
  arguments: new Set(["input[].arguments"]),
  pictures: new Set(["input_image"]),
  instead: {
    tool_choice: ["tool choice auto"],
    "input[].content": ["texts joined"],
    "input[].content[].type": ["pictures as placeholders"],
    "input[].role": ["system messages merged", "system messages in the user turn"],
    "input[].call_id": ["short ids of calls"],
    "input[].arguments": ["arguments as objects"],
    "input[].output": ["results of tools as texts"],
    "input[].output[].type": ["results of tools as texts"],
    "input[].content[].image_url": ["pictures as placeholders"],
    "tools[].parameters": ["schemas simplified", "schemas bare", "schemas empty"],
    "text.format.schema": ["schemas simplified", "schemas bare"],
    tools: ["schemas simplified", "schemas bare", "schemas empty"],
    stream: ["asked streamed"],
  },
  fillable: {},
  thinking: { off: { reasoning: { effort: "none" } }, on: ["reasoning"] },
  streamed: { stream: true },
  withTextResults,
  ideas: ideasOf,
};

/** The files follow in a turn of the user, after all results that stand together. */
function withTextResults(body: JsonObject): JsonObject {
  if (!asObjects(body.input).some(isListResult)) return body;
  const input: JsonValue[] = [];
  let files: JsonObject[] = [];
  const flush = () => {
    if (files.length > 0) input.push({ type: "message", role: "user", content: files });
    files = [];
  };
  for (const item of asList(body.input)) {
    if (!isJsonObject(item) || !String(item.type).endsWith("_call_output")) flush();
    if (!isListResult(item)) {
      input.push(item);
      continue;
    }
    const parts = asObjects(item.output);
    const others = parts.filter(({ text }) => typeof text !== "string");
    const texts = parts.flatMap(({ text }) => typeof text === "string" ? [text] : []);
    if (others.length > 0) {
      files.push({ type: "input_text", text: `From the result of ${item.call_id}:` }, ...others);
      if (texts.length === 0) texts.push("See the files below");
    }
    input.push({ ...item, output: texts.join("\n\n") });
  }
  flush();
  return { ...body, input };
}

function isListResult(item: JsonValue): item is JsonObject {
  return isJsonObject(item) && String(item.type).endsWith("_call_output") && Array.isArray(item.output);
}
