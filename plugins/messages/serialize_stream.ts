import { fieldsFor } from "../../src/canonical/extra.ts";
import type { GenerateEvent, OutputPart, PartDelta } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { Exchange } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { isRedacted, serializeBlock, serializeCitation, signatureOf } from "./content.ts";
import { serializeErrorBody } from "./errors.ts";
import { serializeFinish } from "./finish.ts";
import { isSpeakable, safeguardResults } from "./serialize_response.ts";
import { serializeUsage } from "./usage.ts";
import { WIRE } from "./wire.ts";

type Block = "text" | "thinking" | "tool_use" | "other";

/**
 * An answer as events: `message_start` with the estimated input, blocks one after the other, `message_delta` with the stop
 * reason and the true counts, `message_stop`. A failure is an `error` event, and nothing after it.
 */
export async function* serializeStream(
  events: AsyncIterable<GenerateEvent>,
  exchange: Exchange<"generate">,
): AsyncGenerator<Frame> {
  let index = -1;
  let open: Block | undefined;
  // A part that comes whole has its signature and its citations from the start.
  let part: OutputPart | undefined;

  for await (const event of events) {
    switch (event.type) {
      case "start":
        yield frame("message_start", { message: emptyMessage(exchange, event.inputTokens) });
        break;
      case "part-start":
        open = isSpeakable(event.part, exchange) ? blockOf(event.part) : undefined;
        if (open) yield frame("content_block_start", { index: ++index, content_block: emptyBlock(event.part) });
        part = event.part;
        if (isCustom(part)) yield frame("content_block_delta", { index, delta: inputDelta('{"input":"') });
        break;
      case "part-delta":
        if (open) yield frame("content_block_delta", { index, delta: serializeDelta(event.delta, isCustom(part)) });
        break;
      case "part-end": {
        if (!open) break;
        if (isCustom(part)) yield frame("content_block_delta", { index, delta: inputDelta('"}') });
        for (const citation of citationsIn({ ...part, ...event })) {
          yield frame("content_block_delta", { index, delta: { type: "citations_delta", citation } });
        }
        const signature = open === "thinking" ? signatureOf({ ...part, ...event }.opaque) : "";
        if (signature) yield frame("content_block_delta", { index, delta: { type: "signature_delta", signature } });
        yield frame("content_block_stop", { index });
        open = undefined;
        break;
      }
      case "finish": {
        if (index === -1) {
          yield frame("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
          yield frame("content_block_stop", { index: 0 });
        }
        const { usage, ...extra } = fieldsFor(WIRE, event.extra);
        yield frame("message_delta", {
          delta: { ...serializeFinish(event.finish), ...safeguardResults(exchange.wire.body), ...extra },
          usage: serializeUsage(event.usage, isJsonObject(usage) ? usage : {}),
        });
        yield frame("message_stop", {});
        break;
      }
      case "error":
        yield { event: "error", data: JSON.stringify(serializeErrorBody(event.error)) };
        break;
      default:
        event satisfies never;
    }
  }
}

function frame(type: string, fields: JsonObject): Frame {
  return { event: type, data: JSON.stringify({ type, ...fields }) };
}

function emptyMessage({ id, input }: Exchange<"generate">, inputTokens: number): JsonObject {
  return {
    id,
    type: "message",
    role: "assistant",
    model: input.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: serializeUsage({ inputTokens, outputTokens: 1 }),
  };
}

function blockOf(part: OutputPart): Block {
  switch (part.type) {
    case "text":
    case "refusal":
      return "text";
    case "reasoning":
      return isRedacted(part) ? "other" : "thinking";
    case "tool-call":
      return "tool_use";
    case "file":
    case "opaque":
      return "other";
    default:
      return part satisfies never;
  }
}

/** A block before its increments: a call's input is an empty object here, its text follows, as does a signature. */
function emptyBlock(part: OutputPart): JsonObject {
  const block = serializeBlock(part);
  delete block.citations;
  if (part.type === "tool-call") return { ...block, input: {} };
  return blockOf(part) === "thinking" ? { ...block, signature: "" } : block;
}

/** The free text of a custom tool is the one property of an object here, written as it comes. */
function isCustom(part: OutputPart | undefined): boolean {
  return part?.type === "tool-call" && part.kind === "custom";
}

function inputDelta(partial_json: string): JsonObject {
  return { type: "input_json_delta", partial_json };
}

function serializeDelta({ type, text }: PartDelta, custom: boolean): JsonObject {
  switch (type) {
    case "text":
    case "refusal":
      return { type: "text_delta", text };
    case "reasoning":
      return { type: "thinking_delta", thinking: text };
    case "tool-input":
      return inputDelta(custom ? JSON.stringify(text).slice(1, -1) : text);
    default:
      return type satisfies never;
  }
}

function citationsIn({ annotations, extra }: Extract<GenerateEvent, { type: "part-end" }>): JsonObject[] {
  const own = fieldsFor(WIRE, extra).citations;
  return Array.isArray(own) ? own as JsonObject[] : (annotations ?? []).map(serializeCitation);
}
