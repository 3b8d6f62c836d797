import { fieldsFor } from "../../src/canonical/extra.ts";
import type { Annotation, GenerateResponse, OutputPart } from "../../src/canonical/generate.ts";
import { asObject, type JsonObject } from "../../src/canonical/json.ts";
import { noteDropped } from "../../src/transforms/placeholder.ts";
import type { Context, Exchange } from "../../src/contract/context.ts";
import { serializeFinish } from "./finish.ts";
import { asksForFunctions } from "./legacy.ts";
import { flatCustomTools } from "./responses_shaped.ts";
import { serializeCall } from "./tools.ts";
import { serializeUsage } from "./usage.ts";
import { WIRE } from "./wire.ts";

/** A whole answer, with the id and the model name that the client knows. */
export function serializeResponse(output: GenerateResponse, exchange: Exchange<"generate">): JsonObject {
  const { choice, message, usage, ...extra } = fieldsFor(WIRE, output.extra);
  const legacy = asksForFunctions(exchange.wire);
  const finish = serializeFinish(output.finish);
  return {
    id: exchange.id,
    object: "chat.completion",
    created: exchange.created,
    model: exchange.input.model,
    choices: [{
      index: 0,
      message: { ...serializeMessage(output.content, legacy, exchange), ...asObject(message) },
      logprobs: null,
      finish_reason: legacy && finish === "tool_calls" ? "function_call" : finish,
      ...asObject(choice),
    }],
    usage: serializeUsage(output.usage, usage),
    ...extra,
  };
}

/** Reasoning goes out under both names in use, because each client reads one of them. */
function serializeMessage(content: readonly OutputPart[], legacy: boolean, exchange: Exchange<"generate">): JsonObject {
  const { text, annotations } = shownText(content);
  const reasoning = content.filter((part) => part.type === "reasoning").map((part) => part.text).join("");
  const refusal = content.filter((part) => part.type === "refusal").map((part) => part.text).join("");
  const calls = content.filter((part) => part.type === "tool-call");
  const flat = flatCustomTools(exchange.wire.body);
  noteUnspeakable(content, exchange);
  if (legacy && calls.length > 1) exchange.note(`dropped ${calls.length - 1} tool calls`);
  return {
    role: "assistant",
    content: text === "" && (calls.length > 0 || refusal !== "") ? null : text,
    refusal: refusal === "" ? null : refusal,
    ...(reasoning !== "" && { reasoning_content: reasoning, reasoning }),
    ...(annotations.length > 0 && { annotations }),
    ...(calls.length > 0 &&
      (legacy
        ? { function_call: { name: calls[0]!.name, arguments: calls[0]!.input } }
        : { tool_calls: calls.map((call) => serializeCall(call, flat)) })),
  };
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
