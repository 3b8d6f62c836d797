import {
  type Annotation,
  type Finish,
  type FinishReason,
  type GenerateResponse,
  isCut,
  type OutputPart,
  type ToolCallPart,
} from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../src/canonical/json.ts";
import type { Usage } from "../../src/canonical/usage.ts";
import type { Context, Exchange } from "../../src/contract/context.ts";
import { noteDropped } from "../../src/transforms/placeholder.ts";
import { line } from "./wire.ts";

/** Serializes a whole answer as a single complete line of a stream. */
export function serializeResponse(
  output: GenerateResponse,
  exchange: Exchange<"generate">,
  lineOf = line,
): JsonObject {
  const { content } = output;
  for (const part of content) noteUnspeakable(part, exchange);
  const joined = (...types: OutputPart["type"][]) =>
    content.map((part) => types.includes(part.type) && "text" in part ? part.text : "").join("");
  const calls = content.filter((part) => part.type === "tool-call").filter((call) =>
    call !== content.at(-1) || !noteCut(call, output.finish, exchange)
  );
  const thinking = joined("reasoning");
  const message = {
    content: joined("text", "refusal"),
    ...(thinking !== "" && { thinking }),
    ...(calls.length > 0 && { tool_calls: calls.map((call, index) => serializeCall(call, index, exchange)) }),
  };
  return lineOf(exchange.input.model, exchange.now(), message, serializeEnd(output.finish, output.usage, exchange, 0));
}

/** Whether the answer ended amid the call. Arguments are an object on this wire, so nothing of it can be sent. */
export function noteCut(call: ToolCallPart, finish: Finish, { note }: Pick<Context, "note">): boolean {
  const wasCut = call.kind === "function" && isCut(finish, call);
  if (wasCut) note(`dropped a call of ${call.name} that was cut off`);
  return wasCut;
}

/** Arguments are an object on this wire. Any other value is wrapped in one. */
export function serializeCall({ id, name, kind, input }: ToolCallPart, index: number, { note }: Context): JsonObject {
  const value = kind === "custom" ? undefined : input.trim() === "" ? {} : parseJson(input);
  if (kind === "function" && !isJsonObject(value)) note(`wrapped arguments of ${name} that are not a JSON object`);
  return { id, function: { index, name, arguments: isJsonObject(value) ? value : { input } } };
}

/**
 * The fields that mark the end of an answer. Durations are in nanoseconds, and never 0, because clients divide by them. `beganMs`:
 * when the answer began, counted from the request.
 */
export function serializeEnd(
  finish: Finish,
  { inputTokens, outputTokens }: Pick<Usage, "inputTokens" | "outputTokens">,
  exchange: Pick<Exchange, "clientWire" | "elapsedMs" | "note">,
  beganMs: number,
): JsonObject {
  const elapsedMs = exchange.elapsedMs();
  return {
    done: true,
    done_reason: serializeFinish(finish, exchange),
    total_duration: nanoseconds(elapsedMs),
    load_duration: 1,
    prompt_eval_count: inputTokens,
    prompt_eval_duration: nanoseconds(beganMs),
    eval_count: outputTokens,
    eval_duration: nanoseconds(elapsedMs - beganMs),
  };
}

function nanoseconds(ms: number): number {
  return Math.max(1, Math.round(ms * 1e6));
}

/** Notes parts for which this wire has no field. */
export function noteUnspeakable(part: OutputPart, { note }: Context): void {
  if (part.type === "file") note(`dropped a file of type ${part.mediaType}`);
  else if (part.type === "opaque") noteDropped(part, note);
  else if (part.type === "text") noteAnnotations(part.annotations, { note });
}

export function noteAnnotations(annotations: Annotation[] | undefined, { note }: Pick<Context, "note">): void {
  if (annotations && annotations.length > 0) note("dropped annotations");
}

const WORD_OF: Record<FinishReason, "stop" | "length"> = {
  "stop": "stop",
  "length": "length",
  "tool-calls": "stop",
  "content-filter": "stop",
  "paused": "length",
  "other": "stop",
};

/** The wire has no word for filtered answers or other finish reasons. */
function serializeFinish({ reason, raw }: Finish, { note }: Context): string {
  if (reason === "content-filter") note("dropped the ending content-filter");
  else if (reason === "other" && raw) note(`dropped the ending ${raw}`);
  return WORD_OF[reason];
}
