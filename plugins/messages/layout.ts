/** How the bodies of messages are laid out. */
import { asObjects, type JsonObject } from "../../src/canonical/json.ts";
import type { BodyLayout } from "../../src/contract/body_layout.ts";
import { CONVERSATION_FIELDS } from "../shared/conversation_fields.ts";
import { ideasOf } from "../shared/refusal_ideas.ts";
import { inWords, nameInTurns, type ToolChange, toolChange } from "./parse_content.ts";

export const LAYOUT: BodyLayout = {
  kept: new Set([
    "model",
    "stream",
    "max_tokens",
    "messages",
    "messages[].role",
    "messages[].content",
    "messages[].content[].type",
    "messages[].content[].text",
    "messages[].content[].thinking",
    "messages[].content[].signature",
    "messages[].content[].data",
    "messages[].content[].id",
    "messages[].content[].name",
    "messages[].content[].input",
    "messages[].content[].tool_use_id",
    "messages[].content[].content",
    "messages[].content[].content[].type",
    "messages[].content[].content[].text",
    "messages[].content[].content[].source",
    "messages[].content[].source",
    "messages[].content[].tool",
    "system",
    "tools[].type",
    "tools[].name",
    "tools[].input_schema",
    "tool_choice",
    "output_config.format",
    "output_format",
  ]),
  needed: CONVERSATION_FIELDS,
  harmless: new Set(),
  free: new Set(["metadata", "messages[].content[].input"]),
  schemas: new Set(["tools[].input_schema", "output_config.format.schema", "output_format.schema"]),
  answerForms: ["output_config.format", "output_format"],
  limits: ["max_tokens"],
  turns: "messages",
  instructions: "system",
  callIds: new Set(["messages[].content[].id", "messages[].content[].tool_use_id"]),
  arguments: new Set(),
  pictures: new Set(["image"]),
  instead: {
    tool_choice: ["tool choice auto"],
    "messages[].content": ["texts joined"],
    "messages[].content[].tool": ["tool changes in words"],
    "messages[].content[].type": ["tool changes in words", "pictures as placeholders"],
    "messages[].role": ["system messages merged", "system messages in the user turn"],
    "messages[].content[].id": ["short ids of calls"],
    "messages[].content[].tool_use_id": ["short ids of calls"],
    "messages[].content[].source": ["pictures as placeholders"],
    "tools[].input_schema": ["schemas simplified", "schemas bare", "schemas empty"],
    "output_config.format.schema": ["schemas simplified", "schemas bare"],
    tools: ["schemas simplified", "schemas bare", "schemas empty"],
    system: ["texts joined"],
    stream: ["asked streamed"],
  },
  fillable: {},
  thinking: { off: {}, on: ["thinking", "effort"] },
  streamed: { stream: true },
  withoutToolChanges,
  ideas: ideasOf,
};

function withoutToolChanges(body: JsonObject): JsonObject {
  const changes = new Map<string, ToolChange>();
  const messages = asObjects(body.messages).map((turn) => {
    if (!Array.isArray(turn.content)) return turn;
    const content = asObjects(turn.content).map((block) => {
      const change = toolChange(block);
      if (!change) return block;
      changes.set(change.name, { ...changes.get(change.name), ...change });
      return { type: "text", text: inWords(block) };
    });
    return { ...turn, content };
  });
  if (changes.size === 0) return body;
  const { tools, tool_choice, ...rest } = body;
  const left = asObjects(tools).flatMap(({ defer_loading, ...tool }): JsonObject[] => {
    const change = changes.get(nameInTurns(tool));
    if (!change) return [defer_loading === undefined ? tool : { ...tool, defer_loading }];
    return change.isAddition && !change.definition ? [tool] : [];
  });
  const added = [...changes.values()].flatMap(({ isAddition, definition }) =>
    isAddition && definition ? [definition] : []
  );
  const all = [...left, ...added];
  if (all.length === 0) return { ...rest, messages };
  return { ...rest, messages, tools: all, ...(tool_choice !== undefined && { tool_choice }) };
}
