import type { GenerateEvent, OpaqueReasoning, OutputPart, PartDelta } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { jsonAround } from "../../src/canonical/json_around.ts";
import type { Exchange } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamWriter } from "../../src/contract/stream.ts";
import { noteDropped } from "../../src/transforms/placeholder.ts";
import { serializeErrorBody } from "./errors.ts";
import { serializeFinish } from "./finish.ts";
import { bytesIn, Grounding } from "./grounding.ts";
import { BETWEEN_STEPS, envelope, serializeCall, serializeFile, serializeUsage } from "./serialize_response.ts";
import { serializeSignature } from "./signature.ts";

/**
 * Writes an answer as pieces with the new parts only: a piece for each increment and for each whole call, then one with the finish
 * reason and the usage. After a failure, the last piece has `error`.
 */
export function serializeStream(exchange: Exchange<"generate">): StreamWriter<GenerateEvent> {
  return new PieceWriter(exchange);
}

/** Writes the pieces as items of one JSON list, for clients that do not ask for events. */
export function serializeList(exchange: Exchange<"generate">): StreamWriter<GenerateEvent> {
  const pieces = new PieceWriter(exchange);
  let before = "[";
  return {
    write(event, emit) {
      pieces.write(event, ({ data }) => {
        emit({ data: before + data });
        before = ",";
      });
      if (event.type === "finish" || event.type === "error") emit({ data: "]" });
    },
  };
}

class PieceWriter implements StreamWriter<GenerateEvent> {
  readonly #exchange: Exchange<"generate">;
  readonly #grounding: Grounding;
  /** The open part, and its increments if the whole text is needed at its end. */
  #part: OutputPart | undefined;
  #pieces: string[] = [];
  /** Writes an increment of the open part. */
  #around: ((text: string) => string) | undefined;
  /** The signature of the last thought, for the client to send back. It goes on the next call, or else on the last part. */
  #signature: string | undefined;
  #malformed: string | undefined;
  #bytes = 0;
  #isAfterStep = false;

  constructor(exchange: Exchange<"generate">) {
    this.#exchange = exchange;
    this.#grounding = new Grounding(exchange);
  }

  write(event: GenerateEvent, emit: Emit<Frame>): void {
    switch (event.type) {
      case "start":
        return;
      case "part-start":
        return this.#start(event.part, emit);
      case "part-delta": {
        const { type, text } = event.delta;
        if (type !== "reasoning") this.#pieces.push(text);
        if (type !== "tool-input") emit({ data: (this.#around ?? this.#beginDeltas(type))(text) });
        return;
      }
      case "part-end":
        return this.#end(event, emit);
      case "finish":
        return this.#finish(event, emit);
      case "error":
        return emit({ data: JSON.stringify(serializeErrorBody(event.error)) });
      default:
        event satisfies never;
    }
  }

  #start(part: OutputPart, emit: Emit<Frame>): void {
    this.#part = part;
    this.#pieces = [];
    this.#around = undefined;
    switch (part.type) {
      case "text":
        if (this.#isAfterStep && this.#bytes > 0) this.#say(BETWEEN_STEPS, emit);
        this.#isAfterStep = false;
        return;
      case "reasoning":
        if (this.#signature !== undefined) emit(this.#piece(this.#signed({ text: "" })));
        return this.#keep(part.opaque);
      case "file":
        return emit(this.#piece(serializeFile(part)));
      case "hosted":
        this.#isAfterStep = true;
        return this.#grounding.add(part);
      case "opaque":
        return noteDropped(part, this.#exchange.note);
      case "tool-call":
      case "refusal":
        return;
      default:
        return part satisfies never;
    }
  }

  /** How increments of this type are written in the open part. */
  #beginDeltas(type: PartDelta["type"]): (text: string) => string {
    const thought = type === "reasoning" && { thought: true };
    return this.#around = jsonAround((hole) => this.#chunk([{ text: hole, ...thought }]));
  }

  #end({ annotations, opaque }: Extract<GenerateEvent, { type: "part-end" }>, emit: Emit<Frame>): void {
    const part = this.#part;
    if (part?.type === "reasoning") this.#keep(opaque);
    if (part?.type === "text" || part?.type === "refusal") {
      const text = this.#pieces.join("");
      if (annotations) this.#grounding.cite(annotations, text, this.#bytes);
      this.#bytes += bytesIn(text);
    }
    if (part?.type !== "tool-call") return;
    const call = serializeCall({ ...part, input: this.#pieces.join("") }, this.#exchange);
    if (call) emit(this.#piece(this.#signed(call)));
    else this.#malformed = part.name;
  }

  #finish({ finish, usage }: Extract<GenerateEvent, { type: "finish" }>, emit: Emit<Frame>): void {
    // The vendor's library treats the whole answer as invalid if a piece has no part.
    const parts = [this.#signed({ text: "" })];
    const rest = { ...serializeFinish(finish, this.#malformed), ...this.#grounding.serialize() };
    emit({ data: JSON.stringify({ ...this.#chunk(parts, rest), usageMetadata: serializeUsage(usage) }) });
  }

  #keep(opaque: OpaqueReasoning | undefined): void {
    if (opaque) this.#signature = serializeSignature(opaque);
  }

  #signed(part: JsonObject): JsonObject {
    const signature = this.#signature;
    this.#signature = undefined;
    return signature === undefined ? part : { ...part, thoughtSignature: signature };
  }

  #say(text: string, emit: Emit<Frame>): void {
    emit(this.#piece({ text }));
    this.#bytes += bytesIn(text);
  }

  #piece(part: JsonObject): Frame {
    return { data: JSON.stringify(this.#chunk([part])) };
  }

  #chunk(parts: JsonObject[], rest: JsonObject = {}): JsonObject {
    const candidate = { content: { role: "model", parts }, ...rest, index: 0 };
    return envelope(this.#exchange, { candidates: [candidate] });
  }
}
