/** Reads a streamed answer as the wire's clients do. */
import { weighText } from "../../src/canonical/estimate.ts";
import type { Annotation, Finish, FinishReason, GenerateEvent, GenerateRequest } from "../../src/canonical/generate.ts";
import {
  asCount,
  asObject,
  asObjects,
  asText,
  type JsonObject,
  present,
  readJson,
  toJsonText,
} from "../../src/canonical/json.ts";
import { asTotal, completeUsage, reportedTotals, type ReportedUsage } from "../../src/canonical/usage.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamReader } from "../../src/contract/stream.ts";
import { GatewayError } from "../../src/errors.ts";
import { PartWriter } from "../../src/transforms/part_writer.ts";
import { upstreamStreamError } from "../shared/errors.ts";
import { parseSignature } from "./signature.ts";

/** A stream of pieces. The piece with a finish reason is the last. */
export function parseStream(input: GenerateRequest, context: AnswerContext): StreamReader<GenerateEvent> {
  return new PieceReader(input, context);
}

class PieceReader implements StreamReader<GenerateEvent> {
  done = false;
  readonly #writer: PartWriter;
  readonly #context: AnswerContext;
  readonly #model: string;
  #hasBegun = false;
  #calls = 0;
  #weight = 0;
  #usage: ReportedUsage = {};

  constructor(input: GenerateRequest, context: AnswerContext) {
    this.#writer = new PartWriter(input, context);
    this.#context = context;
    this.#model = input.model;
  }

  read({ data }: Frame, emit: Emit<GenerateEvent>): void {
    if (!data?.trim()) return;
    const piece = readJson(data);
    if (piece === undefined) throw new GatewayError("upstream_error", "The stream holds a frame that is not JSON");
    const { error, candidates, usageMetadata, modelVersion } = asObject(piece);
    if (error) throw upstreamStreamError(piece);
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      emit({ type: "start", model: asText(modelVersion) || this.#model, inputTokens: this.#context.inputTokens });
    }
    if (usageMetadata) this.#usage = usageIn(asObject(usageMetadata));
    const [candidate] = asObjects(candidates);
    if (!candidate) return;
    for (const part of asObjects(asObject(candidate.content).parts)) this.#readPart(part).forEach(emit);
    if (typeof candidate.finishReason === "string") this.#finish(candidate).forEach(emit);
  }

  end(): void {
    if (!this.done) throw new GatewayError("upstream_error", "The stream ended before the answer was complete");
  }

  #readPart({ text, thought, thoughtSignature, functionCall, inlineData }: JsonObject): GenerateEvent[] {
    const opaque = parseSignature(asText(thoughtSignature));
    // The signature belongs to the thought before, which has ended.
    const signed = opaque ? this.#writer.whole({ type: "reasoning", text: "", opaque }) : [];
    const words = asText(text);
    this.#weight += weighText(words);
    if (thought === true) return [...this.#writer.reasoning(words), ...signed];
    if (functionCall) return [...signed, ...this.#readCall(asObject(functionCall))];
    if (!inlineData) return [...signed, ...this.#writer.text(words)];
    const { mimeType, data } = asObject(inlineData);
    const source = { type: "base64" as const, data: asText(data) };
    return [...signed, ...this.#writer.whole({ type: "file", mediaType: asText(mimeType), source })];
  }

  #readCall({ id, name, args }: JsonObject): GenerateEvent[] {
    const key = String(this.#calls++);
    const input = toJsonText(args);
    this.#weight += weighText(input);
    const call = { id: asText(id), name: asText(name), input };
    return [...this.#writer.toolCall(key, call), ...this.#writer.endToolCall(key)];
  }

  #finish({ finishReason, finishMessage, groundingMetadata }: JsonObject): GenerateEvent[] {
    this.done = true;
    const annotations = sourcesIn(asObject(groundingMetadata));
    if (annotations.length > 0) this.#writer.attach({ annotations });
    const usage = completeUsage(this.#usage, this.#context, this.#weight);
    return this.#writer.finish(finishOf(asText(finishReason), asText(finishMessage)), usage);
  }
}

const REASON_OF: Readonly<Record<string, FinishReason | undefined>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "content-filter",
  PROHIBITED_CONTENT: "content-filter",
  BLOCKLIST: "content-filter",
};

function finishOf(word: string, message: string): Finish {
  const reason = REASON_OF[word];
  return reason ? { reason } : { reason: "other", raw: message || word };
}

function usageIn(counts: JsonObject): ReportedUsage {
  const { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: total } = counts;
  const thoughts = asCount(counts.thoughtsTokenCount);
  const spoken = asTotal(output);
  return {
    ...reportedTotals(asTotal(input), spoken === undefined ? thoughts : spoken + (thoughts ?? 0), asTotal(total)),
    ...present("reasoningTokens", thoughts),
    ...present("cachedInputTokens", asCount(counts.cachedContentTokenCount)),
  };
}

/** The pages that the answer cites. Where it does so is told in bytes, and left out. */
function sourcesIn({ groundingChunks }: JsonObject): Annotation[] {
  return asObjects(groundingChunks).flatMap(({ web }): Annotation[] => {
    const { uri, title } = asObject(web);
    return typeof uri === "string" ? [{ type: "url-citation", url: uri, ...present("title", asText(title)) }] : [];
  });
}
