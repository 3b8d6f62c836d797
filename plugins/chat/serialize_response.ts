import { type Extra, fieldsFor } from "../../src/canonical/extra.ts";
import type { Annotation, GenerateResponse, OutputPart, ToolCallPart } from "../../src/canonical/generate.ts";
import { addFields, asObject, type JsonObject } from "../../src/canonical/json.ts";
import type { Usage } from "../../src/canonical/usage.ts";
import { noteDropped } from "../../src/transforms/placeholder.ts";
import type { Context, Exchange } from "../../src/contract/context.ts";
import { FINISH_WORDS } from "./finish.ts";
import { asksForFunctions } from "./tools.ts";
import { flatCustomTools } from "./responses_shaped.ts";
import { serializeCall } from "./tools.ts";
import { serializeUsage } from "./usage.ts";
import { WIRE } from "./wire.ts";

/** A whole answer, with the id and the model name that the client knows. */
export function serializeResponse(output: GenerateResponse, exchange: Exchange<"generate">): JsonObject {
  const finish = FINISH_WORDS[output.finish.reason];
  const [only] = output.content;
  const isBare = only?.type === "text" && output.content.length === 1 && !only.annotations?.length;
  const choice: JsonObject = {
    index: 0,
    message: isBare
      ? { role: "assistant", content: only.text, refusal: null }
      : serializeMessage(output.content, exchange),
    logprobs: null,
    finish_reason: finish === "tool_calls" && asksForFunctions(exchange.wire) ? "function_call" : finish,
  };
  const response: JsonObject = {
    id: exchange.id,
    object: "chat.completion",
    created: exchange.created,
    model: exchange.input.model,
    choices: [choice],
  };
  if (output.extra) addExtra(output.extra, output.usage, choice, response);
  else response.usage = serializeUsage(output.usage, undefined);
  return response;
}

/** Adds the fields that only this wire has, each in its place. */
function addExtra(from: Extra, counts: Usage, choice: JsonObject, response: JsonObject): void {
  const { choice: inChoice, message, usage, ...rest } = fieldsFor(WIRE, from);
  choice.message = { ...asObject(choice.message), ...asObject(message) };
  addFields(asObject(inChoice), choice);
  response.usage = serializeUsage(counts, usage);
  addFields(rest, response);
}

/** Reasoning goes out under both names in use, because each client reads one of them. */
function serializeMessage(content: readonly OutputPart[], exchange: Exchange<"generate">): JsonObject {
  const { text, annotations } = shownText(content);
  const reasoning = textIn(content, "reasoning");
  const refusal = textIn(content, "refusal");
  const calls = content.filter((part) => part.type === "tool-call");
  noteUnspeakable(content, exchange);
  return {
    role: "assistant",
    content: text === "" && (calls.length > 0 || refusal !== "") ? null : text,
    refusal: refusal === "" ? null : refusal,
    ...(reasoning !== "" && { reasoning_content: reasoning, reasoning }),
    ...(annotations.length > 0 && { annotations }),
    ...(calls.length > 0 && serializeCalls(calls, exchange)),
  };
}

function textIn(content: readonly OutputPart[], type: "reasoning" | "refusal"): string {
  let text = "";
  for (const part of content) if (part.type === type) text += part.text;
  return text;
}

function serializeCalls(calls: readonly ToolCallPart[], { wire, note }: Exchange<"generate">): JsonObject {
  if (!asksForFunctions(wire)) {
    const flat = flatCustomTools(wire.body);
    return { tool_calls: calls.map((call) => serializeCall(call, flat)) };
  }
  if (calls.length > 1) note(`dropped ${calls.length - 1} tool calls`);
  return { function_call: { name: calls[0]!.name, arguments: calls[0]!.input } };
}

/** The separator of two texts where a hosted tool ran between them: they are one text on this wire. */
export const BETWEEN_STEPS = "\n\n";

/** All texts as the one that the wire has, and their citations in it. */
function shownText(content: readonly OutputPart[]): { text: string; annotations: JsonObject[] } {
  const annotations: JsonObject[] = [];
  let text = "";
  let isAfterStep = false;
  for (const part of content) {
    if (part.type === "hosted") isAfterStep = true;
    if (part.type !== "text") continue;
    if (isAfterStep && text !== "") text += BETWEEN_STEPS;
    isAfterStep = false;
    const at = text.length;
    for (const one of part.annotations ?? []) annotations.push(serializeAnnotation(one, at));
    text += part.text;
  }
  return { text, annotations };
}

/** SDKs insist on all four fields. A place that is not known is the empty one at the beginning. `at`: where its text begins. */
export function serializeAnnotation({ url, title = "", start, end }: Annotation, at = 0): JsonObject {
  const [start_index, end_index] = [start, end].map((place) => place === undefined ? 0 : at + place);
  return { type: "url_citation", url_citation: { url, title, start_index, end_index } };
}

/** Parts that this wire has no words for: its clients cannot give them back either. */
export function noteUnspeakable(content: readonly OutputPart[], context: Context): void {
  for (const part of content) {
    if (part.type === "file") context.note(`dropped a file of type ${part.mediaType}`);
    else if (part.type === "reasoning" && part.text === "" && part.opaque) {
      context.note("dropped reasoning that only its vendor can read");
    } else if (part.type === "opaque") noteDropped(part, context.note);
  }
}
