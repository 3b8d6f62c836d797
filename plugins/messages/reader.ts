/** Reads what an upstream says in this wire, whole or as a stream, and turns it into canonical events. */
import { extraOf } from "../../src/canonical/extra.ts";
import { completeUsage, type Usage } from "../../src/canonical/usage.ts";
import type { Finish, GenerateEvent, GenerateRequest, OpaquePart } from "../../src/canonical/generate.ts";
import { addFields, addPresent, type JsonObject, toJsonText } from "../../src/canonical/json.ts";
import { type PartEnd, PartWriter } from "../../src/transforms/part_writer.ts";
import { weighText } from "../../src/canonical/estimate.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysFailure } from "../shared/finish_reasons.ts";
import { upstreamStreamError } from "../shared/errors.ts";
import { parseCitations, parseContent } from "./parse_content.ts";
import { parseInput } from "./tool_input.ts";
import { editsIn, isOwnWord, parseFinish } from "./finish.ts";
import { parseUsage, unknownUsage } from "./usage.ts";
import { type MessagesResponse, RESPONSE_KEYS, WIRE, type WireEvent, type WireUsage } from "./wire.ts";

/** A block that the stream has begun and not ended. */
interface OpenBlock {
  /** The name of its call. */
  key: string;
  fields: JsonObject;
  kind: "text" | "thinking" | "tool" | "other";
  json: string;
  signature: string;
  /** Whether any of its text came. */
  spoke: boolean;
  citations: JsonObject[];
}

/** One answer as it comes in. */
export class AnswerReader {
  readonly #input: GenerateRequest;
  readonly #context: AnswerContext;
  readonly #writer: PartWriter;
  readonly #blocks = new Map<number, OpenBlock>();
  #blockCount = 0;
  /** The block whose text came last: servers that interleave blocks end it when others speak already. */
  #speaking: number | undefined;
  /** The weight of the output, in case the upstream does not count it. The text itself would stay in memory until the end. */
  #outputWeight = 0;
  #empty = true;
  #finish: Finish | undefined;
  #usage: WireUsage | undefined;
  readonly #extra: JsonObject = {};

  constructor(input: GenerateRequest, context: AnswerContext) {
    this.#input = input;
    this.#context = context;
    this.#writer = new PartWriter(input, context);
  }

  /** The beginning of an answer: all of it but its blocks and its end. */
  start(message: MessagesResponse): GenerateEvent {
    this.#note(message);
    const reported = message.usage && parseUsage(message.usage)?.inputTokens;
    const inputTokens = reported ?? this.#context.inputTokens;
    return { type: "start", model: message.model ?? this.#input.model, inputTokens };
  }

  /** A whole answer. */
  whole(message: MessagesResponse): GenerateEvent[] {
    const events = [this.start(message)];
    for (const [index, block] of (message.content ?? []).entries()) {
      events.push(...this.#startBlock(index, block as JsonObject), ...this.#endBlock(index));
    }
    return [...events, ...this.end(true)];
  }

  /** One event of a stream, after `message_start`. Kinds that we do not know mean nothing to us. */
  read(event: WireEvent): GenerateEvent[] {
    const { type, index = 0, content_block, delta } = event;
    switch (type) {
      case "content_block_start":
        return this.#startBlock(index, (content_block ?? {}) as JsonObject);
      case "content_block_delta":
        return delta ? this.#readDelta(index, delta) : [];
      case "content_block_stop":
        return this.#endBlock(index);
      case "message_delta":
        this.#note({ ...delta, ...editsIn(event), usage: event.usage });
        return [];
      default:
        return [];
    }
  }

  /** An event like the last one, which was read, with another text. `undefined` if it has to be read as a whole. */
  readMore({ delta }: WireEvent, text: string): GenerateEvent[] | undefined {
    const kind = KIND_OF[delta!.type ?? ""];
    if (!kind || text === "") return undefined;
    this.#outputWeight += weighText(text);
    return this.#writer.append(kind, text);
  }

  /**
   * `complete`: the upstream reported that it was done. Without that and without a stop reason the answer was cut, which is a
   * failure, never an ending.
   */
  end(complete: boolean): GenerateEvent[] {
    const finish = this.#finish ?? (complete && !this.#empty ? { reason: "stop" as const } : undefined);
    if (!finish) throw new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
    const usage = this.#usage && unknownUsage(this.#usage);
    const hints = usage && Object.keys(usage).length > 0 ? { usage } : undefined;
    const hasExtra = hints !== undefined || Object.keys(this.#extra).length > 0;
    const extra = hasExtra ? { wire: WIRE, fields: this.#extra, ...(hints && { hints }) } : undefined;
    return this.#writer.finish(finish, this.#countUsage(), extra);
  }

  #note(message: MessagesResponse): void {
    const { stop_reason, stop_sequence, usage } = message;
    if (stop_reason) {
      if (saysFailure(stop_reason)) throw upstreamStreamError({});
      this.#finish = parseFinish(stop_reason, stop_sequence);
      const isKept = this.#context.clientWire === WIRE && isOwnWord(stop_reason);
      if (/^(?:other|paused)$/.test(this.#finish.reason) && !isKept) {
        this.#context.note(`replaced the ending ${stop_reason}`);
      }
    }
    // Counts are cumulative: the later ones replace the earlier, field by field.
    if (usage) addPresent(usage, this.#usage ??= {});
    Object.assign(this.#extra, extraOf(WIRE, message, RESPONSE_KEYS)?.fields);
  }

  /** Some servers give every block one index, and some do not say that one has ended. */
  #startBlock(index: number, fields: JsonObject): GenerateEvent[] {
    return [...this.#endBlock(index), ...this.#beginBlock(index, fields)];
  }

  #beginBlock(index: number, fields: JsonObject): GenerateEvent[] {
    const kind = kindOf(fields.type);
    const key = String(this.#blockCount++);
    this.#empty = false;
    // What comes later is added to it, and the event is not ours.
    const own = kind === "other" ? { ...fields } : fields;
    this.#blocks.set(index, { key, fields: own, kind, json: "", signature: "", spoke: false, citations: [] });
    switch (kind) {
      case "text":
        return this.#text(index, toJsonText(fields.text ?? ""));
      case "thinking":
        return this.#thinking(index, toJsonText(fields.thinking ?? ""), fields.signature);
      case "tool": {
        this.#speaking = undefined;
        const input = fields.input === undefined || isEmpty(fields.input) ? "" : JSON.stringify(fields.input);
        const extra = extraOf(WIRE, fields, new Set(["type", "id", "name", "input"]));
        this.#outputWeight += weighText(input);
        return this.#writer.toolCall(key, {
          id: toJsonText(fields.id ?? ""),
          name: toJsonText(fields.name ?? ""),
          input,
          ...(extra && { extra }),
        });
      }
      case "other":
        return [];
      default:
        return kind satisfies never;
    }
  }

  #readDelta(index: number, delta: NonNullable<WireEvent["delta"]>): GenerateEvent[] {
    const block = this.#blocks.get(index);
    switch (delta.type) {
      case "text_delta":
        return this.#text(index, delta.text ?? "");
      case "thinking_delta":
        return this.#thinking(index, delta.thinking ?? "");
      case "signature_delta":
        return this.#thinking(index, "", delta.signature);
      case "input_json_delta": {
        const json = delta.partial_json ?? "";
        this.#outputWeight += weighText(json);
        if (block?.kind === "tool") return this.#writer.toolCall(block.key, { input: json });
        if (block) block.json += json;
        return [];
      }
      case "citations_delta":
        block?.citations.push(delta.citation as JsonObject);
        return [];
      case "compaction_delta": {
        const { type: _, ...summary } = delta as JsonObject;
        if (block?.kind === "other") addFields(summary, block.fields);
        return [];
      }
      default:
        return [];
    }
  }

  #endBlock(index: number): GenerateEvent[] {
    const block = this.#blocks.get(index);
    if (!block) return [];
    this.#blocks.delete(index);
    const { key, fields, kind, json } = block;
    switch (kind) {
      case "text":
        return this.#endText(index, textEnd(block));
      case "thinking": {
        const end = thinkingEnd(block);
        // The thoughts may be withheld; what is signed must come back all the same.
        if (end.opaque && !block.spoke) return this.#writer.whole({ type: "reasoning", text: "", ...end });
        return this.#endText(index, end);
      }
      case "tool":
        return this.#writer.endToolCall(key);
      case "other":
        this.#speaking = undefined;
        return this.#writer.whole(parseOther(json === "" ? fields : { ...fields, input: parseInput(json) }));
      default:
        return kind satisfies never;
    }
  }

  /** Ends the part of a block of text, unless another block has spoken since, which ended it. */
  #endText(index: number, end: PartEnd): GenerateEvent[] {
    if (this.#speaking !== index) return [];
    this.#speaking = undefined;
    this.#writer.attach(end);
    return this.#writer.endPart();
  }

  #text(index: number, text: string): GenerateEvent[] {
    if (text === "") return [];
    this.#outputWeight += weighText(text);
    return [...this.#speak(index), ...this.#writer.text(text)];
  }

  #thinking(index: number, text: string, signature?: unknown): GenerateEvent[] {
    const block = this.#blocks.get(index);
    if (block && typeof signature === "string" && signature !== "") block.signature = signature;
    if (text === "") return [];
    this.#outputWeight += weighText(text);
    return [...this.#speak(index), ...this.#writer.reasoning(text)];
  }

  /** Two blocks of one kind are two parts. */
  #speak(index: number): GenerateEvent[] {
    const ended = this.#speaking !== undefined && this.#speaking !== index ? this.#writer.endPart() : [];
    this.#speaking = index;
    const block = this.#blocks.get(index);
    if (block) block.spoke = true;
    return ended;
  }

  #countUsage(): Usage {
    return completeUsage(this.#usage ? parseUsage(this.#usage) : {}, this.#context, this.#outputWeight);
  }
}

/** The kinds of increments of text. */
const KIND_OF: Readonly<Record<string, "text" | "reasoning" | undefined>> = {
  text_delta: "text",
  thinking_delta: "reasoning",
};

function textEnd({ fields, citations }: OpenBlock): PartEnd {
  const own = extraOf(WIRE, fields, new Set(["type", "text"]))?.fields;
  const { citations: whole, ...others } = { ...own, ...(citations.length > 0 && { citations }) };
  const annotations = Array.isArray(whole) ? parseCitations(whole) : [];
  const cited: JsonObject = whole === undefined ? {} : { citations: whole };
  const fieldsOfAll = { ...others, ...cited };
  if (Object.keys(fieldsOfAll).length === 0) return {};
  // If the annotations hold all citations, other wires lose nothing.
  const isWhole = Array.isArray(whole) && annotations.length === whole.length;
  return {
    ...(annotations.length > 0 && { annotations }),
    extra: isWhole ? { wire: WIRE, fields: others, hints: cited } : { wire: WIRE, fields: fieldsOfAll },
  };
}

function thinkingEnd({ fields, signature }: OpenBlock): PartEnd {
  const extra = extraOf(WIRE, fields, new Set(["type", "thinking", "signature"]));
  return {
    ...(signature !== "" && { opaque: { origin: WIRE, data: signature } }),
    ...(extra && { extra }),
  };
}

function kindOf(type: unknown): OpenBlock["kind"] {
  switch (type) {
    case "text":
      return "text";
    case "thinking":
      return "thinking";
    case "tool_use":
      return "tool";
    default:
      return "other";
  }
}

/** Redacted thinking and the kinds that we do not know, as `parse_request` reads them when they come back. */
function parseOther(fields: JsonObject): ReturnType<typeof parseContent>[number] & { type: "reasoning" | "opaque" } {
  const [part] = parseContent([{ ...fields, type: String(fields.type) }]);
  return part?.type === "reasoning" ? part : part as OpaquePart;
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
