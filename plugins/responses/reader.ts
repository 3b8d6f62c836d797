/** Reads what an upstream says in this wire, whole or as a stream, and turns it into canonical events. */
import { type Extra, extraOf } from "../../src/canonical/extra.ts";
import { completeUsage, type Usage } from "../../src/canonical/usage.ts";
import type { GenerateEvent, GenerateRequest } from "../../src/canonical/generate.ts";
import { type JsonObject, toJsonText } from "../../src/canonical/json.ts";
import { type PartEnd, PartWriter } from "../../src/transforms/part_writer.ts";
import { weighText } from "../../src/canonical/estimate.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import { itemExtra, itemKeys, messageEnd, partsOf } from "./content.ts";
import { isOwnReason, isRunning, parseFinish } from "./finish.ts";
import { joinEncrypted } from "./item_ids.ts";
import { parseOther, parseReasoning } from "./parse_items.ts";
import { flatName } from "./namespaces.ts";
import { RESPONSE_KEYS } from "./serialize_response.ts";
import { isSameItem, OpenItems } from "./open_items.ts";
import { parseUsage, unknownUsage } from "./usage.ts";
import { type OutputItem, WIRE, type WireEvent, type WireResponse, type WireUsage } from "./wire.ts";

/** One answer as it comes in. */
export class AnswerReader {
  readonly #input: GenerateRequest;
  readonly #context: AnswerContext;
  readonly #writer: PartWriter;
  readonly #items = new OpenItems();
  /** By their ids, the items that are done. */
  readonly #done = new Map<string, OutputItem>();
  /** The ids of the items that go out as they came. */
  readonly #otherIds = new Set<string>();
  /** The item whose text came last: servers that interleave items end it when others speak already. */
  #speaking: string | undefined;
  /** The weight of the output, in case the upstream does not count it. The text itself would stay in memory until the end. */
  #outputWeight = 0;

  constructor(input: GenerateRequest, context: AnswerContext) {
    this.#input = input;
    this.#context = context;
    this.#writer = new PartWriter(input, context);
  }

  start({ model }: Pick<WireResponse, "model">): GenerateEvent {
    return { type: "start", model: model ?? this.#input.model, inputTokens: this.#context.inputTokens };
  }

  /** One event of a stream that is none of the whole answer's. Kinds that we do not know mean nothing to us. */
  read(event: WireEvent): GenerateEvent[] {
    const { type, item } = event;
    const delta = event.delta === undefined ? "" : toJsonText(event.delta);
    switch (type) {
      case "response.output_item.added":
        return item ? this.#beginItem(this.#items.newKey(event, item), item) : [];
      case "response.content_part.added":
      case "response.reasoning_part.added":
      case "response.reasoning_summary_part.added":
        return this.#move(this.#items.keyFor(event));
      case "response.output_item.done":
        return item ? this.#endStreamedItem(this.#items.keyFor(event, item), item) : [];
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return this.#addInput(this.#items.keyFor(event), delta);
      case "response.function_call_arguments.done":
      case "response.custom_tool_call_input.done":
        return this.#completeInput(this.#items.keyFor(event), toJsonText(event.arguments ?? event.input ?? ""));
      default:
        return this.#readText(event, delta);
    }
  }

  /** An event like the last one, which was read, with another text. `undefined` if it has to be read as a whole. */
  readMore({ type }: WireEvent, text: string): GenerateEvent[] | undefined {
    const kind = TEXT_OF.get(type ?? "");
    if (!kind || text === "" || this.#speaking === undefined) return undefined;
    this.#items.get(this.#speaking)!.sent += text;
    this.#outputWeight += weighText(text);
    return this.#writer.append(kind, text);
  }

  #readText(event: WireEvent, delta: string): GenerateEvent[] {
    const kind = TEXT_OF.get(event.type ?? "");
    if (!kind) return [];
    const paragraph = kind === "reasoning" ? event.summary_index ?? undefined : undefined;
    return this.#addText(this.#items.keyFor(event), kind, delta, paragraph);
  }

  /** The whole answer, at its end: what a stream sent already is not emitted again. */
  end(response: WireResponse): GenerateEvent[] {
    const { status } = response;
    if (saysError(response) || status === "failed" || status === "cancelled") throw upstreamStreamError(response);
    if (status && isRunning(status)) throw notAnAnswer();
    const finish = parseFinish(response);
    const events = (response.output ?? []).flatMap((item, index) => this.#endItem(this.#items.find(item, index), item));
    // Reasons that no other wire has come back as they are.
    const isKept = finish.raw !== undefined && this.#context.clientWire === WIRE && isOwnReason(finish.raw);
    if (finish.raw !== undefined && !isKept) this.#context.note(`replaced the ending ${finish.raw}`);
    const usage = this.#countUsage(response.usage ?? undefined);
    return [...events, ...this.#writer.finish(finish, usage, finishExtra(response, isKept ? finish.raw : undefined))];
  }

  #beginItem(key: string, item: OutputItem): GenerateEvent[] {
    if (this.#items.get(key)) return [];
    const open = this.#items.begin(key, item.type);
    const done = typeof item.id === "string" ? this.#done.get(item.id) : undefined;
    if (done?.type !== item.type) return this.#beginCall(key, item);
    open.reopens = { done, start: item };
    return [];
  }

  #beginCall(key: string, item: OutputItem): GenerateEvent[] {
    const kind = kindOf(item.type);
    if (!kind) return [];
    const { call_id, name, namespace } = item;
    // Tools are offered under flat names; some servers split them again. Any other namespace is the server's own.
    const flat = typeof name === "string" && typeof namespace === "string" ? flatName({ name, namespace }) : undefined;
    const isSplit = flat !== undefined && this.#input.tools?.some((tool) => tool.name === flat);
    const hints = flat !== undefined && !isSplit ? { namespace: namespace as string } : undefined;
    const { extra } = itemExtra(item as JsonObject, CALL_KEYS, hints);
    return this.#writer.toolCall(key, {
      kind,
      id: typeof call_id === "string" ? call_id : undefined,
      name: isSplit ? flat : typeof name === "string" ? name : undefined,
      ...(extra && { extra }),
    });
  }

  /** Only a stream repeats an item that is done. In a list, items that share an id are several. */
  #endStreamedItem(key: string, item: OutputItem): GenerateEvent[] {
    const events = this.#endItem(key, item);
    if (typeof item.id === "string") this.#done.set(item.id, item);
    return events;
  }

  #endItem(key: string, item: OutputItem): GenerateEvent[] {
    const begun = this.#beginItem(key, item);
    const open = this.#items.get(key)!;
    if (open.over) return begun;
    open.over = true;
    const again = open.reopens && isSameItem(open.reopens.done, item);
    if (again) {
      // The list of them all has it once.
      this.#items.forget(key);
      return begun;
    }
    return [...begun, ...this.#proveAnother(key), ...this.#finishItem(key, item as JsonObject & OutputItem)];
  }

  /** Begins an item that was taken for one that is done already: it says something of its own. */
  #proveAnother(key: string): GenerateEvent[] {
    const item = this.#items.get(key);
    const start = item?.reopens?.start;
    if (!item || !start) return [];
    item.reopens = undefined;
    return this.#beginCall(key, start);
  }

  #finishItem(key: string, item: JsonObject & OutputItem): GenerateEvent[] {
    switch (item.type) {
      case "message":
        return this.#endMessage(key, item);
      case "reasoning":
        return this.#endReasoning(key, item);
      case "function_call":
      case "custom_tool_call": {
        const whole = item.type === "function_call" ? item.arguments : item.input;
        const rest = this.#completeInput(key, whole === undefined ? "" : toJsonText(whole));
        this.#speaking = undefined;
        return [...rest, ...this.#writer.endToolCall(key)];
      }
      default: {
        this.#speaking = undefined;
        // Clients know items by their ids.
        const { id, ...rest } = item;
        const isTaken = typeof id === "string" && this.#otherIds.has(id);
        if (typeof id === "string") this.#otherIds.add(id);
        return this.#writer.whole(parseOther(isTaken ? rest : item));
      }
    }
  }

  /** Ends a message. What the increments did not bring is in the whole item. */
  #endMessage(key: string, item: JsonObject): GenerateEvent[] {
    const { parts, fields } = partsOf(item);
    const open = this.#items.get(key)!;
    const isStreamed = open.sent !== "";
    const events: GenerateEvent[] = [];
    for (const [index, part] of parts.entries()) {
      if (!isStreamed) this.#move(key);
      const kind = part.type === "refusal" ? "refusal" : "text";
      const text = kind === "refusal" ? part.refusal : part.text;
      if (typeof text !== "string") {
        this.#context.note(`dropped a part of type ${toJsonText(part.type)}`);
        continue;
      }
      const isRest = parts.length === 1 && text.startsWith(open.sent);
      if (!isStreamed) events.push(...this.#addText(key, kind, text));
      else if (isRest) events.push(...this.#addText(key, kind, text.slice(open.sent.length), open.paragraph));
      // If several texts came in increments, only the last one is still open.
      if (!isStreamed || index === parts.length - 1) events.push(...this.#endText(key, messageEnd(part, fields)));
    }
    return [...events, ...this.#endText(key, {})];
  }

  #endReasoning(key: string, item: JsonObject): GenerateEvent[] {
    const { text, opaque, extra } = parseReasoning(item);
    const open = this.#items.get(key)!;
    const end: PartEnd = {
      ...(opaque && { opaque: { ...opaque, data: joinEncrypted(item.id, opaque.data) } }),
      ...(extra && { extra }),
    };
    if (open.sent === "" && text === "") {
      // The thoughts may be withheld; what is encrypted must come back all the same.
      return opaque ? this.#writer.whole({ type: "reasoning", text: "", ...end }) : [];
    }
    const events = open.sent === "" ? this.#addText(key, "reasoning", text) : [];
    return [...events, ...this.#endText(key, end)];
  }

  /** Ends the part of an item's text, unless another item has spoken since, which ended it. */
  #endText(key: string, end: PartEnd): GenerateEvent[] {
    if (this.#speaking !== key) return [];
    this.#speaking = undefined;
    this.#writer.attach(end);
    return this.#writer.endPart();
  }

  /** The item goes on with another text. Some servers count their texts up in the middle of one, so only a word counts. */
  #move(key: string): GenerateEvent[] {
    const item = this.#items.get(key);
    if (item && item.sent !== "") item.moved = true;
    return [];
  }

  /** Two items are two parts, and so are two texts of one message; the paragraphs of one thought are not. */
  #addText(key: string, kind: "text" | "reasoning" | "refusal", text: string, paragraph?: number): GenerateEvent[] {
    if (text === "") return [];
    const item = this.#items.get(key) ?? this.#items.add(key, "");
    item.reopens = undefined;
    const moved = item.moved || item.sent !== "" && item.paragraph !== paragraph;
    const another = this.#speaking !== undefined && this.#speaking !== key;
    const events = another || moved && kind !== "reasoning" ? this.#writer.endPart() : [];
    const added = moved && kind === "reasoning" ? `\n\n${text}` : text;
    Object.assign(item, { paragraph, moved: false, sent: item.sent + added });
    this.#speaking = key;
    this.#outputWeight += weighText(added);
    return [...events, ...this.#writer[kind](added)];
  }

  #addInput(key: string, input: string): GenerateEvent[] {
    const item = this.#items.get(key);
    if (!item || input === "") return [];
    const begun = this.#proveAnother(key);
    item.sent += input;
    this.#outputWeight += weighText(input);
    this.#speaking = undefined;
    return [...begun, ...this.#writer.toolCall(key, { input })];
  }

  /** Servers that send no increments tell the input in one piece. */
  #completeInput(key: string, whole: string): GenerateEvent[] {
    const item = this.#items.get(key);
    return item && whole.startsWith(item.sent) ? this.#addInput(key, whole.slice(item.sent.length)) : [];
  }

  #countUsage(usage: WireUsage | undefined): Usage {
    return completeUsage(usage ? parseUsage(usage) : {}, this.#context, this.#outputWeight);
  }
}

/** The events that bring a text, and its kind. */
const TEXT_OF: ReadonlyMap<string, "text" | "refusal" | "reasoning"> = new Map([
  ["response.output_text.delta", "text"],
  ["response.refusal.delta", "refusal"],
  ["response.reasoning_text.delta", "reasoning"],
  ["response.reasoning_summary_text.delta", "reasoning"],
]);

/** The fields of an answer that no other wire has. `reason`: why it is incomplete, where that is this wire's own word. */
function finishExtra(response: WireResponse, reason: string | undefined): Extra | undefined {
  const { service_tier: tier, ...fields }: JsonObject = { ...extraOf(WIRE, response, RESPONSE_KEYS)?.fields };
  const counts = response.usage ? unknownUsage(response.usage) : {};
  const hints: JsonObject = {
    ...(reason !== undefined && { status: response.status, incomplete_details: { reason } }),
    ...(Object.keys(counts).length > 0 && { usage: counts }),
    ...(tier !== undefined && tier !== "default" && { service_tier: tier }),
  };
  if (Object.keys({ ...fields, ...hints }).length === 0) return undefined;
  return { wire: WIRE, fields, ...(Object.keys(hints).length > 0 && { hints }) };
}

/** How a call ended follows from how the answer did. */
const CALL_KEYS = itemKeys("call_id", "name", "namespace", "arguments", "input", "status");

function kindOf(type: string): "function" | "custom" | undefined {
  return type === "function_call" ? "function" : type === "custom_tool_call" ? "custom" : undefined;
}

/** An answer that is none, or not yet. */
export function notAnAnswer(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's answer is not a response");
}
