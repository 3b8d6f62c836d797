import { fieldsFor } from "../../src/canonical/extra.ts";
import type { GenerateEvent, HostedPart, OutputPart, PartDelta } from "../../src/canonical/generate.ts";
import { asObject, type JsonObject } from "../../src/canonical/json.ts";
import { jsonAround } from "../../src/canonical/json_around.ts";
import type { Exchange } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamWriter } from "../../src/contract/stream.ts";
import { isSummary } from "./compaction.ts";
import { isRedacted, serializeBlock, serializeCitation, signatureOf } from "./serialize_content.ts";
import { serializeErrorBody } from "./errors.ts";
import { serializeFinish } from "./finish.ts";
import { containerOf, inputOf, serializeCall } from "./hosted_blocks.ts";
import { isSpeakable, reportsOf } from "./serialize_response.ts";
import { serializeUsage } from "./usage.ts";
import { WIRE } from "./wire.ts";

type Block = "text" | "thinking" | "tool_use" | "other";

/**
 * An answer as events: `message_start` with the estimated input, blocks one after the other, `message_delta` with the stop
 * reason and the true counts, `message_stop`. A failure is an `error` event, and nothing after it.
 */
export function serializeStream(exchange: Exchange<"generate">): StreamWriter<GenerateEvent> {
  return new EventWriter(exchange);
}

class EventWriter implements StreamWriter<GenerateEvent> {
  readonly #exchange: Exchange<"generate">;
  #index = -1;
  #open: Block | undefined;
  /** A part that comes whole has its signature and its citations from the start. */
  #part: OutputPart | undefined;
  /** The last step of code, which says the container. */
  #ran: HostedPart | undefined;
  #isCustom = false;
  /** How the open block's increments are written. */
  #around: { [type in PartDelta["type"]]?: (text: string) => string } = {};

  constructor(exchange: Exchange<"generate">) {
    this.#exchange = exchange;
  }

  write(event: GenerateEvent, emit: Emit<Frame>): void {
    switch (event.type) {
      case "start":
        return emit(frame("message_start", { message: emptyMessage(this.#exchange, event.inputTokens) }));
      case "part-start":
        return this.#startBlock(event.part, emit);
      case "part-delta": {
        if (!this.#open) return;
        const { type, text } = event.delta;
        const around = this.#around[type] ?? this.#beginDeltas(type);
        return emit({ event: DELTA_EVENT, data: around(this.#isCustom ? JSON.stringify(text).slice(1, -1) : text) });
      }
      case "part-end":
        return this.#endBlock(event, emit);
      case "finish":
        return this.#finish(event, emit);
      case "error":
        return emit({ event: "error", data: JSON.stringify(serializeErrorBody(event.error)) });
      default:
        event satisfies never;
    }
  }

  #startBlock(part: OutputPart, emit: Emit<Frame>): void {
    this.#part = part;
    this.#isCustom = isCustom(part);
    if (part.type === "hosted" && part.result?.kind === "executed") this.#ran = part;
    this.#around = {};
    this.#open = isSpeakable(part, this.#exchange) ? blockOf(part) : undefined;
    if (!this.#open) return;
    if (isHostedCall(part)) return this.#startCall(part, emit);
    emit(frame("content_block_start", { index: ++this.#index, content_block: emptyBlock(part) }));
    if (this.#isCustom) this.#emitDelta(inputDelta('{"input":"'), emit);
    const { type, ...summary } = this.#open === "other" ? serializeBlock(part) : {};
    if (isSummary({ type })) this.#emitDelta({ type: "compaction_delta", ...summary }, emit);
  }

  /** The vendor's server begins a call's input with an empty piece. */
  #startCall(part: HostedPart, emit: Emit<Frame>): void {
    emit(frame("content_block_start", { index: ++this.#index, content_block: serializeCall(part) }));
    for (const text of ["", inputOf(part.call)]) this.#emitDelta(inputDelta(text), emit);
  }

  /** How increments of this type are written in the open block. */
  #beginDeltas(type: PartDelta["type"]): (text: string) => string {
    return this.#around[type] = jsonAround((hole) => deltaEvent(this.#index, serializeDelta(type, hole)));
  }

  #endBlock(event: PartEndEvent, emit: Emit<Frame>): void {
    const open = this.#open;
    if (!open) return;
    const end = { ...this.#part, ...event };
    if (this.#isCustom) this.#emitDelta(inputDelta('"}'), emit);
    for (const citation of citationsIn(end)) this.#emitDelta({ type: "citations_delta", citation }, emit);
    const signature = open === "thinking" ? signatureOf(end.opaque) : "";
    if (signature) this.#emitDelta({ type: "signature_delta", signature }, emit);
    emit(frame("content_block_stop", { index: this.#index }));
    this.#open = undefined;
  }

  #finish(event: FinishEvent, emit: Emit<Frame>): void {
    if (this.#index === -1) {
      emit(frame("content_block_start", { index: 0, content_block: { type: "text", text: "" } }));
      emit(frame("content_block_stop", { index: 0 }));
    }
    const { usage, ...extra } = fieldsFor(WIRE, event.extra);
    const { context_management: edits, ...fields } = { ...reportsOf(this.#exchange), ...extra };
    emit(frame("message_delta", {
      delta: { ...serializeFinish(event.finish), ...(this.#ran && containerOf(this.#ran)), ...fields },
      usage: serializeUsage(event.usage, asObject(usage)),
      ...(edits !== undefined && { context_management: edits }),
    }));
    emit(frame("message_stop", {}));
  }

  #emitDelta(delta: JsonObject, emit: Emit<Frame>): void {
    emit({ event: DELTA_EVENT, data: JSON.stringify(deltaEvent(this.#index, delta)) });
  }
}

const DELTA_EVENT = "content_block_delta";

function deltaEvent(index: number, delta: JsonObject): JsonObject {
  return { type: DELTA_EVENT, index, delta };
}

type PartEndEvent = Extract<GenerateEvent, { type: "part-end" }>;
type FinishEvent = Extract<GenerateEvent, { type: "finish" }>;

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
    case "hosted":
    case "opaque":
      return "other";
    default:
      return part satisfies never;
  }
}

/** A call that the gateway runs itself; what an upstream of this wire sent comes whole. */
function isHostedCall(part: OutputPart): part is HostedPart {
  return part.type === "hosted" && !part.result && part.extra === undefined;
}

/** A block before its increments: a call's input is an empty object here, its text follows, as does a signature. */
function emptyBlock(part: OutputPart): JsonObject {
  const block = serializeBlock(part);
  if (isSummary(block)) return { type: block.type, content: null };
  delete block.citations;
  if (part.type === "tool-call") return { ...block, input: {} };
  return blockOf(part) === "thinking" ? { ...block, signature: "" } : block;
}

/** The free text of a custom tool is the one property of an object here, written as it comes. */
function isCustom(part: OutputPart): boolean {
  return part.type === "tool-call" && part.kind === "custom";
}

function inputDelta(partial_json: string): JsonObject {
  return { type: "input_json_delta", partial_json };
}

function serializeDelta(type: PartDelta["type"], text: string): JsonObject {
  switch (type) {
    case "text":
    case "refusal":
      return { type: "text_delta", text };
    case "reasoning":
      return { type: "thinking_delta", thinking: text };
    case "tool-input":
      return inputDelta(text);
    default:
      return type satisfies never;
  }
}

function citationsIn({ annotations, extra }: PartEndEvent): JsonObject[] {
  const own = fieldsFor(WIRE, extra).citations;
  return Array.isArray(own) ? own as JsonObject[] : (annotations ?? []).map(serializeCitation);
}
