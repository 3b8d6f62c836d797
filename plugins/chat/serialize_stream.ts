import { fieldsFor, splitInside } from "../../src/canonical/extra.ts";
import type { GenerateEvent, OutputPart, PartDelta, ToolCallPart } from "../../src/canonical/generate.ts";
import { asObject, isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { jsonAround } from "../../src/canonical/json_around.ts";
import type { Exchange } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamWriter } from "../../src/contract/stream.ts";
import { serializeErrorBody } from "../shared/errors.ts";
import { FINISH_WORDS } from "./finish.ts";
import { asksForFunctions } from "./tools.ts";
import { flatCustomTools } from "./responses_shaped.ts";
import { BETWEEN_STEPS, noteUnspeakable, serializeAnnotation } from "./serialize_response.ts";
import { serializeUsage } from "./usage.ts";
import { WIRE } from "./wire.ts";

/**
 * An answer as `chat.completion.chunk`s: the role first, then increments, the finish reason, the usage if the client asked
 * for it (with `choices: []`), `[DONE]`. A failure is a chunk with `error`, and no `[DONE]` after it.
 */
export function serializeStream(exchange: Exchange<"generate">): StreamWriter<GenerateEvent> {
  return new ChunkWriter(exchange);
}

class ChunkWriter implements StreamWriter<GenerateEvent> {
  readonly #exchange: Exchange<"generate">;
  readonly #showsUsage: boolean;
  readonly #legacy: boolean;
  readonly #flatTools: ReadonlySet<unknown>;
  /** The fields that every chunk carries. */
  #fields: JsonObject = {};
  #calls = 0;
  /** How much text has gone out, where that of the open part began, and whether a hosted tool has run since the last text. */
  #length = 0;
  #partAt = 0;
  #isAfterStep = false;
  /** Whether the open call is one of a custom tool. */
  #custom = false;
  /** How the open part's increments are written. */
  #around: { [type in PartDelta["type"]]?: (text: string) => string } = {};

  constructor(exchange: Exchange<"generate">) {
    this.#exchange = exchange;
    this.#showsUsage = asksForUsage(exchange.wire.body);
    this.#legacy = asksForFunctions(exchange.wire);
    this.#flatTools = flatCustomTools(exchange.wire.body);
  }

  write(event: GenerateEvent, emit: Emit<Frame>): void {
    switch (event.type) {
      case "start":
        this.#fields = fieldsFor(WIRE, event.extra);
        return emit(frame(this.#chunk({ role: "assistant", content: "" })));
      case "part-start":
        return this.#startPart(event.part, emit);
      case "part-delta": {
        const { type, text } = event.delta;
        if (type === "text") this.#length += text.length;
        const around = this.#around[type] ?? this.#beginDeltas(type);
        if (around) emit({ data: around(text) });
        return;
      }
      case "part-end":
        if (event.annotations) {
          const annotations = event.annotations.map((one) => serializeAnnotation(one, this.#partAt));
          emit(frame(this.#chunk({ annotations })));
        }
        return;
      case "finish":
        return this.#finish(event, emit);
      case "error":
        return emit({ data: JSON.stringify(serializeErrorBody(event.error)) });
      default:
        event satisfies never;
    }
  }

  /** How increments of this type are written in the open part. `undefined` if they are not. */
  #beginDeltas(type: PartDelta["type"]): ((text: string) => string) | undefined {
    if (type === "tool-input" && !isWritten(this.#call())) return undefined;
    return this.#around[type] = jsonAround((hole) => this.#chunk(contentDelta(type, hole, this.#call())));
  }

  #startPart(part: OutputPart, emit: Emit<Frame>): void {
    this.#around = {};
    noteUnspeakable([part], this.#exchange);
    if (part.type === "hosted") this.#isAfterStep = true;
    if (part.type === "text") this.#startText(emit);
    if (part.type !== "tool-call") return;
    this.#calls++;
    this.#custom = isCustom(part, this.#flatTools);
    if (isWritten(this.#call())) emit(frame(this.#chunk(startDelta(part, this.#call()))));
  }

  /** A model's texts before and after it uses a tool are one text on this wire. */
  #startText(emit: Emit<Frame>): void {
    if (this.#isAfterStep && this.#length > 0) {
      emit(frame(this.#chunk({ content: BETWEEN_STEPS })));
      this.#length += BETWEEN_STEPS.length;
    }
    this.#isAfterStep = false;
    this.#partAt = this.#length;
  }

  #finish(event: Extract<GenerateEvent, { type: "finish" }>, emit: Emit<Frame>): void {
    const { choice, message, usage, ...extra } = fieldsFor(WIRE, event.extra);
    const finish = FINISH_WORDS[event.finish.reason];
    this.#fields = { ...this.#fields, ...extra };
    emit(frame(this.#chunk(
      asObject(message),
      this.#legacy && finish === "tool_calls" ? "function_call" : finish,
      asObject(choice),
    )));
    if (this.#showsUsage) {
      emit(frame(this.#envelope({ choices: [], usage: serializeUsage(event.usage, usage), ...this.#fields })));
    }
    emit({ data: "[DONE]" });
  }

  #call(): OpenCall {
    return { index: this.#calls - 1, custom: this.#custom, legacy: this.#legacy };
  }

  #chunk(delta: JsonObject, finish: string | null = null, choice: JsonObject = {}): JsonObject {
    return this.#envelope({
      choices: [{ index: 0, delta, finish_reason: finish, ...choice }],
      ...(this.#showsUsage && { usage: null }),
      ...this.#fields,
    });
  }

  #envelope(rest: JsonObject): JsonObject {
    const { id, created, input } = this.#exchange;
    return { id, object: "chat.completion.chunk", created, model: input.model, ...rest };
  }
}

function frame(chunk: JsonObject): Frame {
  return { data: JSON.stringify(chunk) };
}

export function asksForUsage(body: unknown): boolean {
  return isJsonObject(body) && isJsonObject(body.stream_options) && body.stream_options.include_usage === true;
}

/** The legacy form has room for the first call alone. */
function isWritten({ index, legacy }: OpenCall): boolean {
  return !legacy || index === 0;
}

/** The delta that opens a call. */
function startDelta({ id, name, extra }: ToolCallPart, { index, custom, legacy }: OpenCall): JsonObject {
  if (legacy) return { function_call: { name, arguments: "" } };
  if (custom) return { tool_calls: [{ index, id, type: "custom", custom: { name, input: "" } }] };
  const { inner, outer } = splitInside("function", fieldsFor(WIRE, extra));
  const described = { name, arguments: "", ...inner };
  return { tool_calls: [{ index, id, type: "function", function: described, ...outer }] };
}

function isCustom({ kind, name }: ToolCallPart, flatTools: ReadonlySet<unknown>): boolean {
  return kind === "custom" && !flatTools.has(name);
}

/** The latest call, and the form in which it is written. */
interface OpenCall {
  index: number;
  custom: boolean;
  legacy: boolean;
}

function contentDelta(type: PartDelta["type"], text: string, { index, custom, legacy }: OpenCall): JsonObject {
  switch (type) {
    case "text":
      return { content: text };
    case "reasoning":
      return { reasoning_content: text, reasoning: text };
    case "refusal":
      return { refusal: text };
    case "tool-input":
      if (legacy) return { function_call: { arguments: text } };
      return { tool_calls: [{ index, ...(custom ? { custom: { input: text } } : { function: { arguments: text } }) }] };
    default:
      return type satisfies never;
  }
}
