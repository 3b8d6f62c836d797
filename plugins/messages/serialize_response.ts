import { fieldsFor } from "../../src/canonical/extra.ts";
import {
  type GenerateResponse,
  type HostedPart,
  isCut,
  type OutputPart,
  type ToolCallPart,
} from "../../src/canonical/generate.ts";
import { asObject, isJsonObject, isJsonText, type JsonObject } from "../../src/canonical/json.ts";
import { noteDropped } from "../../src/transforms/placeholder.ts";
import type { Context, Exchange } from "../../src/contract/context.ts";
import { serializeEdits } from "./compaction.ts";
import { serializeBlock } from "./serialize_content.ts";
import { serializeFinish } from "./finish.ts";
import { containerOf, isSpoken } from "./hosted_blocks.ts";
import { serializeUsage } from "./usage.ts";
import { WIRE } from "./wire.ts";

/** A whole answer, with the id and the model name that the client knows. An empty one has an empty text. */
export function serializeResponse(output: GenerateResponse, exchange: Exchange<"generate">): JsonObject {
  const content: JsonObject[] = [];
  const last = output.content.at(-1);
  let ran: HostedPart | undefined;
  for (const part of output.content) {
    if (part === last && part.type === "tool-call" && part.kind === "function" && isCut(output.finish, part)) {
      // An input is an object on this wire, and agents would run the call.
      exchange.note(`dropped a call of ${part.name} that was cut off`);
    } else if (part.type === "text" && !part.extra && !part.annotations?.length) {
      content.push({ type: "text", text: part.text });
    } else ran = addBlock(part, content, exchange) ?? ran;
  }
  const { usage, ...extra } = output.extra ? fieldsFor(WIRE, output.extra) : NO_FIELDS;
  return {
    id: exchange.id,
    type: "message",
    role: "assistant",
    model: exchange.input.model,
    content: content.length > 0 ? content : [{ type: "text", text: "" }],
    ...serializeFinish(output.finish),
    usage: serializeUsage(output.usage, usage === undefined ? undefined : asObject(usage)),
    ...reportsOf(exchange),
    ...(ran && containerOf(ran)),
    ...extra,
  };
}

/** Adds the block of a part if the wire has one. Returns a step of code that is over. */
function addBlock(part: OutputPart, content: JsonObject[], exchange: Exchange<"generate">): HostedPart | undefined {
  if (!isSpeakable(part, exchange)) return undefined;
  content.push(serializeBlock(part));
  if (part.type === "tool-call") noteWrapped(part, exchange);
  return part.type === "hosted" && part.result?.kind === "executed" ? part : undefined;
}

const NO_FIELDS: JsonObject = Object.freeze({});

/**
 * The fields beside the answer that report what was done of a request's wishes: edits of the conversation, and safety checks of
 * tool calls, which the gateway does not make. These are answered as unsupported, never as passed.
 */
export function reportsOf({ wire: { body }, edits }: Exchange<"generate">): JsonObject {
  const reports = edits?.asked ? serializeEdits(edits.applied) : NO_FIELDS;
  if (!isJsonObject(body) || !Array.isArray(body.safeguards)) return reports;
  const types = body.safeguards.map((one) => isJsonObject(one) ? one.type : undefined).filter((type) =>
    typeof type === "string"
  );
  if (types.length === 0) return reports;
  return { ...reports, safeguard_results: types.map((type) => ({ type, status: { type: "unsupported" } })) };
}

/** An input is an object on this wire: what is not JSON stands inside one. */
function noteWrapped(part: ToolCallPart, { note }: Context): void {
  if (part.kind !== "function" || part.input.trim() === "" || isJsonText(part.input)) return;
  note(`wrapped arguments of ${part.name} that are not JSON`);
}

/** Whether the wire has a block for the part. If it has none, that is noted. */
export function isSpeakable(part: OutputPart, context: Context): boolean {
  if (part.type === "file") {
    context.note(`dropped a file of type ${part.mediaType}`);
    return false;
  }
  // Another wire's opaque reasoning is sent only if it is sealed.
  if (part.type === "reasoning") return part.text !== "" || !part.opaque || part.opaque.origin === WIRE;
  if (part.type === "hosted") return isSpoken(part);
  if (part.type !== "opaque" || part.extra.wire === WIRE) return true;
  noteDropped(part, context.note);
  return false;
}
