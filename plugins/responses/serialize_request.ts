import { fieldsFor, splitInside } from "../../src/canonical/extra.ts";
import type { GenerateRequest, Message, OutputSchema } from "../../src/canonical/generate.ts";
import { copyRenamed, type JsonObject, setField } from "../../src/canonical/json.ts";
import { effortOf } from "../../src/transforms/thinking.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { isOpenAi } from "../shared/families.ts";
import { RESPONSES_SAMPLING } from "../shared/sampling.ts";
import { TRIGGER } from "./compaction.ts";
import { type Reader, serializeItems } from "./serialize_items.ts";
import { serializeTool, serializeToolChoice } from "./tools.ts";
import { WIRE } from "./wire.ts";

/**
 * The body for a server that speaks this wire. The same request gives the same bytes. The gateway is the one that remembers:
 * the upstream gets the whole conversation and the instruction to store nothing.
 */
export function serializeRequest(input: GenerateRequest, target: Target, context: Context): JsonObject {
  const { inner: inReasoning, outer } = splitInside("reasoning", fieldsFor(WIRE, input.extra, context.note));
  const { inner: inText, outer: others } = splitInside("text", outer);
  const { reasoning: noReasoning, text: noText, ...extra } = others;
  const reader = isOpenAi(target.model) ? "vendor" : "open";
  const { instructions, rest } = splitInstructions(input.messages);
  const speech = { context, instructor: "system" as const, name: (name: string) => ({ name }), reader } as const;
  const tools = serializeTools(input, reader, context);
  const effort = effortOf(input.thinking);
  const reasoning = { ...(effort && { effort }), ...inReasoning };
  const text = {
    ...(input.outputSchema && { format: serializeFormat(input.outputSchema) }),
    ...(input.verbosity && { verbosity: input.verbosity }),
    ...inText,
  };
  const body: JsonObject = {
    model: target.model,
    instructions,
    input: [
      ...serializeItems(rest, speech),
      ...(input.compaction?.when === "now" ? [{ type: TRIGGER }] : []),
    ],
    ...tools,
    ...((Object.keys(reasoning).length > 0 || noReasoning) && { reasoning }),
    max_output_tokens: input.maxOutputTokens,
  };
  copyRenamed(input, RESPONSES_SAMPLING.serialized, body);
  if (Object.keys(text).length > 0 || noText) body.text = text;
  body.prompt_cache_key = input.cacheKey;
  body.metadata = input.metadata;
  body.store = false;
  if (input.stream) body.stream = true;
  for (const name in extra) setField(body, name, extra[name]);
  return body;
}

/** The tools, and what is asked of them. */
function serializeTools(input: GenerateRequest, reader: Reader, context: Context): JsonObject {
  const tools = (input.tools ?? []).map((tool) => serializeTool(tool, reader, context));
  if (tools.length === 0) return {};
  return { tools, tool_choice: serializeToolChoice(input, reader), parallel_tool_calls: input.parallelToolCalls };
}

/** Instructions in plain text before the first turn have a field of their own, which every server knows. */
function splitInstructions(messages: readonly Message[]): { instructions?: string; rest: readonly Message[] } {
  const [first, ...rest] = messages;
  if (first?.role !== "system" || first.extra || first.id !== undefined) return { rest: messages };
  const texts = first.content.filter((part) => part.type === "text");
  if (texts.length !== first.content.length || texts.some((part) => part.extra)) return { rest: messages };
  return { instructions: texts.map((part) => part.text).filter((text) => text !== "").join("\n\n"), rest };
}

function serializeFormat({ name, description, schema, strict }: OutputSchema): JsonObject {
  if (!schema && name === undefined) return { type: "json_object" };
  return { type: "json_schema", name: name ?? "answer", description, schema, strict };
}
