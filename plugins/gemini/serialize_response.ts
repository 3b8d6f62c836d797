import type { GenerateResponse, OutputPart, ToolCallPart } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../src/canonical/json.ts";
import type { Usage } from "../../src/canonical/usage.ts";
import type { Context, Exchange } from "../../src/contract/context.ts";
import { noteDropped } from "../../src/transforms/placeholder.ts";
import { serializeFinish } from "./finish.ts";
import { bytesIn, Grounding } from "./grounding.ts";
import { serializeSignature } from "./signature.ts";

/** What stands between two texts where a hosted tool ran: clients put all texts together. */
export const BETWEEN_STEPS = "\n\n";

/** A whole answer, with the model's name that the client knows. */
export function serializeResponse(output: GenerateResponse, exchange: Exchange<"generate">): JsonObject {
  const parts = new Parts(exchange);
  for (const part of output.content) parts.add(part);
  const candidate = {
    content: { role: "model", parts: parts.end() },
    ...serializeFinish(output.finish, parts.malformed),
    index: 0,
    ...parts.grounding.serialize(),
  };
  return envelope(exchange, { candidates: [candidate], usageMetadata: serializeUsage(output.usage) });
}

/** What every answer, and every piece of a streamed one, has. */
export function envelope({ id, input }: Exchange<"generate">, rest: JsonObject): JsonObject {
  return { ...rest, modelVersion: input.model, responseId: id };
}

/**
 * What the model thought is not among the tokens of its candidates; what was cached is among those of the prompt. The total is the
 * sum of its parts, whatever the upstream counted.
 */
export function serializeUsage({ inputTokens, outputTokens, reasoningTokens, cachedInputTokens }: Usage): JsonObject {
  const thoughts = Math.min(reasoningTokens ?? 0, outputTokens);
  return {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens - thoughts,
    ...(reasoningTokens !== undefined && { thoughtsTokenCount: thoughts }),
    ...(cachedInputTokens !== undefined && { cachedContentTokenCount: Math.min(cachedInputTokens, inputTokens) }),
    totalTokenCount: inputTokens + outputTokens,
  };
}

/** The parts of an answer, one after the other. */
class Parts {
  readonly grounding: Grounding;
  malformed: string | undefined;
  readonly #context: Context;
  readonly #parts: JsonObject[] = [];
  /** What the client is to bring back of the thoughts before: it stands at the next call, else at the end. */
  #signature: string | undefined;
  #bytes = 0;
  #isAfterStep = false;

  constructor(context: Context) {
    this.#context = context;
    this.grounding = new Grounding(context);
  }

  add(part: OutputPart): void {
    switch (part.type) {
      case "text":
        this.#startText();
        if (part.annotations) this.grounding.cite(part.annotations, part.text, this.#bytes);
        return this.#say(part.text);
      case "refusal":
        return this.#say(part.text);
      case "reasoning":
        if (this.#signature !== undefined) this.#parts.push(this.#sign({ text: "" }));
        if (part.text !== "") this.#parts.push({ text: part.text, thought: true });
        if (part.opaque) this.#signature = serializeSignature(part.opaque);
        return;
      case "tool-call": {
        const call = serializeCall(part, this.#context);
        if (call) this.#parts.push(this.#sign(call));
        else this.malformed = part.name;
        return;
      }
      case "file":
        return void this.#parts.push(serializeFile(part));
      case "hosted":
        this.#isAfterStep = true;
        return this.grounding.add(part);
      case "opaque":
        return noteDropped(part, this.#context.note);
      default:
        return part satisfies never;
    }
  }

  end(): JsonObject[] {
    const last = this.#parts.at(-1);
    if (last && this.#signature === undefined) return this.#parts;
    if (last && last.text !== undefined && !last.thought) this.#sign(last);
    else this.#parts.push(this.#sign({ text: "" }));
    return this.#parts;
  }

  #startText(): void {
    if (this.#isAfterStep && this.#bytes > 0) this.#say(BETWEEN_STEPS);
    this.#isAfterStep = false;
  }

  #say(text: string): void {
    if (text === "") return;
    this.#parts.push({ text });
    this.#bytes += bytesIn(text);
  }

  #sign(part: JsonObject): JsonObject {
    if (this.#signature !== undefined) part.thoughtSignature = this.#signature;
    this.#signature = undefined;
    return part;
  }
}

/** Arguments are an object here: a call whose arguments are none is no call, and the answer's ending says so. */
export function serializeCall({ id, name, kind, input }: ToolCallPart, { note }: Context): JsonObject | undefined {
  if (kind === "custom") return { functionCall: { id, name, args: { input } } };
  const args = input.trim() === "" ? {} : parseJson(input);
  if (isJsonObject(args)) return { functionCall: { id, name, args } };
  note(`dropped a call of ${name} whose arguments are not a JSON object`);
  return undefined;
}

export function serializeFile({ mediaType, source }: Extract<OutputPart, { type: "file" }>): JsonObject {
  if (source.type === "base64") return { inlineData: { mimeType: mediaType, data: source.data } };
  return { fileData: { mimeType: mediaType, fileUri: source.type === "url" ? source.url : source.id } };
}
