/** Reads what an upstream says in this wire, whole or as a stream, and turns it into canonical events. */
import { extraOf } from "../../src/canonical/extra.ts";
import { completeUsage, type Usage } from "../../src/canonical/usage.ts";
import type { GenerateEvent, GenerateRequest } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject, type JsonValue, toJsonText } from "../../src/canonical/json.ts";
import { type PartEnd, PartWriter } from "../../src/transforms/part_writer.ts";
import { weighText } from "../../src/canonical/estimate.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { upstreamStreamError } from "../shared/errors.ts";
import { itemExtra, textEnd } from "./content.ts";
import { isOwnReason, isRunning, parseFinish } from "./finish.ts";
import { joinEncrypted, parseOther, parseReasoning } from "./items.ts";
import { flatName } from "./namespaces.ts";
import { RESPONSE_KEYS } from "./serialize_response.ts";
import { parseUsage, unknownUsage } from "./usage.ts";
import { type OutputItem, WIRE, type WireEvent, type WireResponse, type WireUsage } from "./wire.ts";

/** An item that the stream has begun, or said in one piece. */
interface OpenItem {
  type: string;
  /** What of it went out already: its text, its thoughts, its arguments. */
  sent: string;
  /** The number of the paragraph of a summary that is being written. */
  paragraph: number | undefined;
  /** Another text of it was announced. */
  moved: boolean;
  over: boolean;
  /** The item of the same id that is done already, and how this one began: only what follows tells whether it is another. */
  reopens?: { done: OutputItem; start: OutputItem };
}

/** One answer as it comes in. */
export class AnswerReader {
  readonly #input: GenerateRequest;
  readonly #context: AnswerContext;
  readonly #writer: PartWriter;
  readonly #items = new Map<string, OpenItem>();
  /** Their keys, in their order. */
  readonly #keys: string[] = [];
  /** By their ids, the items that are done. */
  readonly #done = new Map<string, OutputItem>();
  /** The ids of the items that go out as they came. */
  readonly #otherIds = new Set<string>();
  /** The item that began last, for servers that do not say which one they go on with. */
  #latest = "";
  /** The item whose text came last: servers that interleave items end it when others speak already. */
  #speaking: string | undefined;
  /** Of all that was said, for where the upstream does not count: the text itself would be kept for as long as it goes on. */
  #outputWeight = 0;

  constructor(input: GenerateRequest, context: AnswerContext) {
    this.#input = input;
    this.#context = context;
    this.#writer = new PartWriter(input);
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
        return item ? this.#beginItem(this.#newKey(event, item), item) : [];
      case "response.content_part.added":
      case "response.reasoning_part.added":
      case "response.reasoning_summary_part.added":
        return this.#move(this.#keyFor(event));
      case "response.output_item.done":
        return item ? this.#endToldItem(this.#keyFor(event, item), item) : [];
      case "response.output_text.delta":
        return this.#say(this.#keyFor(event), "text", delta);
      case "response.refusal.delta":
        return this.#say(this.#keyFor(event), "refusal", delta);
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta":
        return this.#say(this.#keyFor(event), "reasoning", delta, event.summary_index ?? undefined);
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return this.#addInput(this.#keyFor(event), delta);
      case "response.function_call_arguments.done":
      case "response.custom_tool_call_input.done":
        return this.#completeInput(this.#keyFor(event), toJsonText(event.arguments ?? event.input ?? ""));
      default:
        return [];
    }
  }

  /** The whole answer, at its end: what a stream told already is not told again. */
  end(response: WireResponse): GenerateEvent[] {
    const { status } = response;
    if (response.error || status === "failed" || status === "cancelled") throw upstreamStreamError(response);
    if (status && isRunning(status)) throw notAnAnswer();
    const finish = parseFinish(response);
    const events = (response.output ?? []).flatMap((item, index) => this.#endItem(this.#find(item, index), item));
    const usage = response.usage ?? undefined;
    const fields: JsonObject = { ...extraOf(WIRE, response, RESPONSE_KEYS)?.fields };
    const { service_tier: tier } = fields;
    delete fields.service_tier;
    const counts = usage ? unknownUsage(usage) : {};
    // Reasons that no other wire has come back as they are.
    const isKept = finish.raw !== undefined && this.#context.clientWire === WIRE && isOwnReason(finish.raw);
    if (finish.raw !== undefined && !isKept) this.#context.note(`replaced the ending ${finish.raw}`);
    const hints: JsonObject = {
      ...(isKept && { status, incomplete_details: { reason: finish.raw } }),
      ...(Object.keys(counts).length > 0 && { usage: counts }),
      ...(tier !== undefined && tier !== "default" && { service_tier: tier }),
    };
    const told = Object.keys({ ...fields, ...hints }).length > 0;
    const extra = told ? { wire: WIRE, fields, ...(Object.keys(hints).length > 0 && { hints }) } : undefined;
    return [...events, ...this.#writer.finish(finish, this.#countUsage(usage), extra)];
  }

  /** Of an item in the list of them all, the name by which the stream knew it. */
  #find(item: OutputItem, index: number): string {
    const names = [item.id, item.call_id, `@${index}`];
    const known = names.find((name) => typeof name === "string" && this.#items.has(name));
    // Without names, the items of a stream are known by their order.
    return String(known ?? this.#keys[index] ?? `#${this.#items.size}`);
  }

  /** Some servers give two items one id. */
  #newKey(event: WireEvent, item: OutputItem): string {
    const key = keyOf(event, item);
    return key === undefined || this.#items.get(key)?.over ? `#${this.#items.size}` : key;
  }

  /** Some servers change the ids in the middle, or give one twice: then it is the item that is open. */
  #keyFor(event: WireEvent, item?: OutputItem): string {
    const key = keyOf(event, item);
    const known = key === undefined ? undefined : this.#items.get(key);
    if (key !== undefined && known && (!known.over || key === this.#latest)) return key;
    const latest = this.#items.get(this.#latest);
    const fits = latest && !latest.over && (!item || item.type === latest.type);
    return fits || key === undefined ? this.#latest : key;
  }

  #beginItem(key: string, item: OutputItem): GenerateEvent[] {
    if (this.#items.has(key)) return [];
    const open = this.#add(key, item.type);
    this.#latest = key;
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
    const told = flat !== undefined && !isSplit ? { namespace: namespace as string } : undefined;
    const { extra } = itemExtra(item as JsonObject, CALL_KEYS, told);
    return this.#writer.toolCall(key, {
      kind,
      id: typeof call_id === "string" ? call_id : undefined,
      name: isSplit ? flat : typeof name === "string" ? name : undefined,
      ...(extra && { extra }),
    });
  }

  #add(key: string, type: string): OpenItem {
    const item = { type, sent: "", paragraph: undefined, moved: false, over: false };
    this.#items.set(key, item);
    this.#keys.push(key);
    return item;
  }

  /** Only a stream tells an item again that is done. In a list, items that share an id are several. */
  #endToldItem(key: string, item: OutputItem): GenerateEvent[] {
    const events = this.#endItem(key, item);
    if (typeof item.id === "string") this.#done.set(item.id, item);
    return events;
  }

  #endItem(key: string, item: OutputItem): GenerateEvent[] {
    const begun = this.#beginItem(key, item);
    const open = this.#items.get(key)!;
    if (open.over) return begun;
    open.over = true;
    const again = open.reopens && isSame(open.reopens.done, item);
    if (again) {
      // The list of them all has it once.
      this.#keys.splice(this.#keys.indexOf(key), 1);
      return begun;
    }
    return [...begun, ...this.#proveAnother(key), ...this.#finishItem(key, item as JsonObject & OutputItem)];
  }

  /** What was taken for an item that is done already says something of its own. */
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

  /** What the increments did not bring is in the whole item. */
  #endMessage(key: string, item: JsonObject): GenerateEvent[] {
    const { extra: own } = itemExtra(item, ["role", "content"]);
    const fields = Object.fromEntries(
      Object.entries(own?.fields ?? {}).map(([name, value]) => [`message.${name}`, value]),
    );
    const content = typeof item.content === "string" ? [{ type: "output_text", text: item.content }] : item.content;
    const parts: JsonObject[] = Array.isArray(content) ? (content as JsonValue[]).filter(isJsonObject) : [];
    const open = this.#items.get(key)!;
    const spoken = open.sent !== "";
    const events: GenerateEvent[] = [];
    for (const [index, part] of parts.entries()) {
      if (!spoken) this.#move(key);
      const text = part.type === "refusal" ? part.refusal : part.text;
      if (typeof text !== "string") {
        this.#context.note(`dropped a part of type ${toJsonText(part.type)}`);
        continue;
      }
      const kind = part.type === "refusal" ? "refusal" : "text";
      const isRest = parts.length === 1 && text.startsWith(open.sent);
      if (!spoken) events.push(...this.#say(key, kind, text));
      else if (isRest) events.push(...this.#say(key, kind, text.slice(open.sent.length), open.paragraph));
      const { annotations, end } = textEnd(part);
      const extra = { ...end.extra?.fields, ...fields };
      // Of several texts that came in increments only the last is open still.
      if (!spoken || index === parts.length - 1) {
        events.push(...this.#endText(key, {
          ...(annotations && { annotations }),
          ...(Object.keys(extra).length > 0 && { extra: { wire: WIRE, fields: extra } }),
        }));
      }
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
    const events = open.sent === "" ? this.#say(key, "reasoning", text) : [];
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
  #say(key: string, kind: "text" | "reasoning" | "refusal", text: string, paragraph?: number): GenerateEvent[] {
    if (text === "") return [];
    const item = this.#items.get(key) ?? this.#add(key, "");
    item.reopens = undefined;
    const moved = item.moved || item.sent !== "" && item.paragraph !== paragraph;
    const another = this.#speaking !== undefined && this.#speaking !== key;
    const events = another || moved && kind !== "reasoning" ? this.#writer.endPart() : [];
    const said = moved && kind === "reasoning" ? `\n\n${text}` : text;
    Object.assign(item, { paragraph, moved: false, sent: item.sent + said });
    this.#speaking = key;
    this.#outputWeight += weighText(said);
    return [...events, ...this.#writer[kind](said)];
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

/** How a call ended is told by how the answer did. */
const CALL_KEYS = ["call_id", "name", "namespace", "arguments", "input", "status"];

function kindOf(type: string): "function" | "custom" | undefined {
  return type === "function_call" ? "function" : type === "custom_tool_call" ? "custom" : undefined;
}

/** Some servers open a finished item once more (transformers, the message before a call). A status may have changed. */
function isSame(item: OutputItem, other: OutputItem): boolean {
  const { status: _, ...one } = item;
  const { status: __, ...two } = other;
  return JSON.stringify(one) === JSON.stringify(two);
}

/** How a stream names an item: by its id, or by its place. Servers keep to one of them. */
function keyOf({ item_id, output_index }: WireEvent, item?: OutputItem): string | undefined {
  const id = item_id ?? item?.id;
  if (typeof id === "string" && id !== "") return id;
  if (output_index !== null && output_index !== undefined) return `@${output_index}`;
  return typeof item?.call_id === "string" ? item.call_id : undefined;
}

/** An answer that is none, or not yet. */
export function notAnAnswer(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's answer is not a response");
}
