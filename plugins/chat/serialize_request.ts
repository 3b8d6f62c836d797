import { CACHE_HINT } from "../../src/transforms/cache_hints.ts";
import { fieldsFor, mergeExtras, splitInside } from "../../src/canonical/extra.ts";
import type {
  AssistantMessage,
  GenerateRequest,
  InputPart,
  Message,
  OutputPart,
  ReasoningPart,
  RefusalPart,
  Tool,
  ToolCallPart,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import {
  addFields,
  copyRenamed,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  setField,
} from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { CHAT_SAMPLING } from "../shared/sampling.ts";
import { onlyText, serializeContent, serializePart } from "./content.ts";
import { factsOf, thinkingFields } from "./families.ts";
import { isOwn, opaqueFieldsIn } from "./opaque_reasoning.ts";
import { serializeOutputSchema } from "./response_format.ts";
import { serializeTool, serializeToolChoice, serializeUpstreamCall } from "./tools.ts";
import { WIRE } from "./wire.ts";

/**
 * The body for an OpenAI-compatible server. The same request gives the same bytes, because upstreams cache by prefix.
 * Beyond what the client sent it holds one thing: a stream is always asked for its usage.
 */
export function serializeRequest(input: GenerateRequest, target: Target, context: Context): JsonObject {
  const { note } = context;
  const facts = factsOf(target.model);
  const { inner: streamOptions, outer: extra } = input.extra
    ? splitInside("stream_options", fieldsFor(WIRE, input.extra, note))
    : NO_EXTRA;
  const tools = input.tools ? lateLast(input.tools).map((tool) => serializeTool(tool, context)) : [];
  const controls = input.thinking ? thinkingFields(input, target, note) : NO_FIELDS;
  const body: JsonObject = { model: target.model, messages: serializeMessages(input.messages, target, context) };
  // Servers refuse a choice among no tools.
  if (tools.length > 0) {
    body.tools = tools;
    if (input.toolChoice) body.tool_choice = serializeToolChoice(input.toolChoice);
    body.parallel_tool_calls = input.parallelToolCalls;
  }
  for (const name in controls) body[name] = controls[name];
  body[facts.limitField] = input.maxOutputTokens;
  copyRenamed(input, CHAT_SAMPLING.serialized, body);
  // Field by field: a spread after another costs more than all of these.
  body.stop = input.stopSequences;
  body.seed = input.seed;
  body.response_format = input.outputSchema && serializeOutputSchema(input.outputSchema);
  body.verbosity = input.verbosity;
  body.prompt_cache_key = input.cacheKey;
  body.metadata = input.metadata;
  if (input.stream) {
    body.stream = true;
    body.stream_options = { include_usage: true, ...streamOptions };
  }
  for (const name in extra) setField(body, name, extra[name]);
  // The client's own variables of the chat template stand beside those for its thinking, and win.
  const [ours, theirs] = [controls.chat_template_kwargs, extra.chat_template_kwargs];
  if (theirs && isJsonObject(ours) && isJsonObject(theirs)) body.chat_template_kwargs = { ...ours, ...theirs };
  if (facts.refusedFields.length > 0) dropRefused(facts.refusedFields, body, note);
  return body;
}

const NO_FIELDS: JsonObject = Object.freeze({});
const NO_EXTRA = { inner: NO_FIELDS, outer: NO_FIELDS };

function dropRefused(fields: readonly string[], body: JsonObject, note: (text: string) => void): void {
  for (const field of fields) {
    if (body[field] === undefined) continue;
    note(`dropped ${field}`);
    delete body[field];
  }
}

/** Templates tell tools first, so one that the conversation has brought up must not move those that were there before it. */
function lateLast(tools: readonly Tool[]): Tool[] {
  const isLate = (tool: Tool) => tool.type === "function" && tool.deferred === false;
  return [...tools.filter((tool) => !isLate(tool)), ...tools.filter(isLate)];
}

/** The turns. Files in a tool's result, for which this wire has no place, go into a user's turn after all results. */
function serializeMessages(messages: readonly Message[], target: Target, context: Context): JsonObject[] {
  const wantsThoughts = factsOf(target.model).wantsReasoning && !target.refusesReasoning;
  const turns: JsonObject[] = [];
  let held: JsonObject[] = [];
  for (const [position, message] of messages.entries()) {
    const text = held.length === 0 ? onlyText(message.content) : undefined;
    if (text !== undefined) {
      const turn: JsonObject = { role: message.role, content: text };
      if (message.extra) addFields(fieldsFor(WIRE, message.extra, context.note), turn);
      turns.push(turn);
      continue;
    }
    const extra = fieldsFor(WIRE, message.extra, context.note);
    switch (message.role) {
      case "system":
        turns.push({
          role: "system",
          content: serializeContent(message.content, context, passesHints(target, context)),
          ...extra,
        });
        break;
      case "user":
        turns.push({
          role: "user",
          content: held.length > 0
            ? [...held, ...serializeParts(message.content, context)]
            : serializeContent(message.content, context, passesHints(target, context)),
          ...extra,
        });
        held = [];
        break;
      case "assistant":
        if (isEmptyEnd(position, messages, context)) break;
        turns.push(serializeAssistant(message, wantsThoughts, target, extra, context));
        break;
      case "tool":
        for (const result of message.content) {
          turns.push(serializeResult(result, target, context));
          for (const file of filesOf(result, context)) held.push(file);
        }
        break;
      default:
        message satisfies never;
    }
    const next = messages[position + 1]?.role;
    if (held.length > 0 && next !== "tool" && next !== "user") {
      turns.push({ role: "user", content: held });
      held = [];
    }
  }
  return turns;
}

/** Whether nothing is begun for the model. Many servers take an empty last turn for a beginning all the same, and refuse it. */
function isEmptyEnd(position: number, messages: readonly Message[], { note }: Context): boolean {
  const isLast = position > 0 && position === messages.length - 1;
  if (!isLast || messages[position]!.content.length > 0) return false;
  note("dropped the empty last turn of the assistant");
  return true;
}

/** The files of a result, for a user's turn. */
function filesOf({ id, content }: ToolResultPart, context: Context): JsonObject[] {
  if (!content.some(isFile)) return [];
  const files = serializeParts(content.filter(isFile), context);
  return files.length > 0 ? [{ type: "text", text: `From the result of ${id}:` }, ...files] : [];
}

function isFile({ type }: { type: string }): boolean {
  return type === "file";
}

function serializeParts(parts: readonly InputPart[], context: Context): JsonObject[] {
  return parts.map((part) => serializePart(part, context)).filter((part) => part !== undefined);
}

function partsIn(content: JsonValue | undefined): JsonObject[] {
  if (Array.isArray(content)) return content as JsonObject[];
  return content === "" ? [] : [{ type: "text", text: String(content) }];
}

/** This wire has no mark for a failed result, so it says so; its results hold text only. */
function serializeResult(
  { id, content, isError, extra }: ToolResultPart,
  target: Target,
  context: Context,
): JsonObject {
  const text = extra ? undefined : onlyText(content);
  if (text !== undefined && !isError) return { role: "tool", tool_call_id: id, content: text };
  const apart = passesHints(target, context);
  const texts = content.some(isFile) ? content.filter((part) => !isFile(part)) : content;
  // Some hosts refuse an empty result, and the files follow in a turn of their own.
  const result = texts.length === 0 && content.length > 0
    ? "See the files below"
    : serializeContent(texts, context, apart);
  const marked = isError ? ["Error", ...partsIn(result).map((part) => part.text)].join(": ") : result;
  if (!extra) return { role: "tool", tool_call_id: id, content: marked };
  const { [CACHE_HINT]: hint, ...fields } = fieldsFor(WIRE, extra, context.note);
  return {
    role: "tool",
    tool_call_id: id,
    content: apart ? hinted(marked, hint) : marked,
    ...fields,
    ...(!apart && hint !== undefined && { [CACHE_HINT]: hint }),
  };
}

/** Servers that take a hint look for it on the parts of a content; on the last one it holds for all. */
function hinted(content: JsonValue, hint: JsonValue | undefined): JsonValue {
  const parts = partsIn(content);
  const last = parts.pop();
  return hint === undefined || !last ? content : [...parts, { ...last, [CACHE_HINT]: hint }];
}

/** Whether the hints of another wire's client go up: then texts stay apart, so that they do not change where one comes or goes. */
function passesHints({ cacheControl }: Target, { clientWire }: Context): boolean {
  return cacheControl === "pass" && clientWire !== WIRE;
}

/** With calls or a refusal and no text, `content` is null where that is not known to be refused: some hosts refuse an empty text. */
function serializeAssistant(
  { content }: AssistantMessage,
  wantsThoughts: boolean,
  target: Target,
  extra: JsonObject,
  context: Context,
): JsonObject {
  const { reasoning, calls, refusals, shown } = sorted(content);
  for (const { extra } of refusals) fieldsFor(WIRE, extra, context.note);
  const written = serializeContent(shown, context, passesHints(target, context));
  const silent = written === "" && calls.length + refusals.length > 0;
  const { reasoningField = "reasoning_content", silentContent } = target;
  // Field by field: a spread costs as much as all of a short turn.
  const turn: JsonObject = { role: "assistant" };
  if (!silent || silentContent !== "absent") turn.content = silent && silentContent === undefined ? null : written;
  if (refusals.length > 0) turn.refusal = refusals.map((part) => part.text).join("");
  if (wantsThoughts && calls.length > 0) turn[reasoningField] = "";
  const fieldsOf = reasoning.length > 0 ? addReasoning(turn, reasoning, target, context) : NO_CALLS;
  if (calls.length > 0) {
    turn.tool_calls = calls.map((call) => {
      const fields = fieldsOf[call.id];
      return serializeUpstreamCall(fields ? withFields(call, fields) : call, context);
    });
  }
  for (const name in extra) setField(turn, name, extra[name]);
  return turn;
}

/** Adds what was thought. The server's own fields of calls come back, by the id of the call. */
function addReasoning(
  turn: JsonObject,
  reasoning: readonly ReasoningPart[],
  target: Target,
  context: Context,
): Record<string, JsonObject> {
  const { details, calls } = opaqueFieldsIn(reasoning);
  Object.assign(turn, serializeReasoning(reasoning, details, target, context));
  return calls;
}

const NO_CALLS: Record<string, JsonObject> = Object.freeze({});

/** The parts of a turn by where they stand in it; a plain refusal has a field of its own. */
function sorted(content: readonly OutputPart[]) {
  const reasoning: ReasoningPart[] = [];
  const calls: ToolCallPart[] = [];
  const refusals: RefusalPart[] = [];
  const shown: (InputPart | RefusalPart)[] = [];
  for (const part of content) {
    if (part.type === "reasoning") reasoning.push(part);
    else if (part.type === "tool-call") calls.push(part);
    else if (part.type === "refusal" && part.extra?.wire !== WIRE) refusals.push(part);
    else shown.push(part as InputPart | RefusalPart);
  }
  return { reasoning, calls, refusals, shown };
}

/** The call with fields that its server put on it. */
function withFields(call: ToolCallPart, fields: JsonObject): ToolCallPart {
  return { ...call, extra: mergeExtras([call.extra, { wire: WIRE, fields }]) };
}

/** The model's thoughts go back to it, with the server's details of them. What only another vendor can read stays behind. */
function serializeReasoning(
  parts: readonly ReasoningPart[],
  details: JsonValue[],
  { model, reasoningField = "reasoning_content" }: Target,
  context: Context,
): JsonObject {
  const readable = parts.filter(({ text, opaque }) => text !== "" || !opaque);
  for (const { extra } of parts) fieldsFor(WIRE, extra, context.note);
  if (parts.some((part) => part.opaque && !isOwn(part))) {
    context.note("dropped reasoning that only its vendor can read");
  }
  if (readable.length + details.length === 0) return {};
  if (!factsOf(model).takesReasoning) {
    context.note("dropped reasoning of earlier turns");
    return {};
  }
  return {
    ...(readable.length > 0 && { [reasoningField]: readable.map(({ text }) => text).join("") }),
    ...(details.length > 0 && { reasoning_details: details }),
  };
}
