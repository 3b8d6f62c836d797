import type { GenerateEvent } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { jsonAround } from "../../src/canonical/json_around.ts";
import type { Exchange } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamWriter } from "../../src/contract/stream.ts";
import type { GatewayError } from "../../src/errors.ts";
import { serializeFailure } from "./errors.ts";
import { partId } from "./item_ids.ts";
import {
  factsOf,
  isSearchCall,
  serializeEnd,
  serializeHead,
  serializeItem,
  type Speech,
  speechFor,
  spoken,
  type SpokenPart,
} from "./serialize_response.ts";

/**
 * An answer as events: the response as it is created, its items one after the other, each piece by piece and then
 * whole, and the response as it has become, with all items. A failure is a response that failed. `[DONE]` comes last.
 */
export function serializeStream(exchange: Exchange<"generate">): StreamWriter<GenerateEvent> {
  return new EventWriter(exchange);
}

class EventWriter implements StreamWriter<GenerateEvent> {
  readonly #exchange: Exchange<"generate">;
  readonly #speech: Speech;
  /** The items that are done. */
  readonly #output: JsonObject[] = [];
  #open: OpenItem | undefined;
  #created = false;

  constructor(exchange: Exchange<"generate">) {
    this.#exchange = exchange;
    this.#speech = speechFor(factsOf(exchange), exchange);
  }

  write(event: GenerateEvent, emit: Emit<Frame>): void {
    if (!this.#created) this.#create(emit);
    switch (event.type) {
      case "start":
        return;
      case "part-start":
        return this.#startItem(event, emit);
      case "part-delta":
        if (this.#open) this.#addText(this.#open, event.delta.text, emit);
        return;
      case "part-end":
        return this.#endItem(event, emit);
      case "finish":
        return this.#finish(event, emit);
      case "error":
        return this.#fail(event.error, emit);
      default:
        event satisfies never;
    }
  }

  #create(emit: Emit<Frame>): void {
    this.#created = true;
    const response = serializeHead(factsOf(this.#exchange));
    if (this.#isInBackground) {
      const queued = { ...response, status: "queued" };
      emit(this.#frame("response.created", { response: queued }));
      emit(this.#frame("response.queued", { response: queued }));
    } else emit(this.#frame("response.created", { response }));
    emit(this.#frame("response.in_progress", { response }));
  }

  #startItem({ part, index }: EventOf<"part-start">, emit: Emit<Frame>): void {
    const id = partId(this.#exchange.id, part, index);
    const speech = this.#speech;
    const written = spoken(part, speech);
    if (!written) return;
    const delivery = deliveryOf(written, speech);
    this.#open = { id, output_index: this.#output.length, part: { ...written }, delivery, speech };
    this.#emitAll(beginItem(this.#open), emit);
  }

  #addText(open: OpenItem, text: string, emit: Emit<Frame>): void {
    const { part, delivery } = open;
    if (part.type === "tool-call") part.input += text;
    else if ("text" in part) part.text += text;
    if (!delivery) return;
    open.around ??= jsonAround((hole) => ({ ...placeOf(open), delta: hole, ...delivery.more }));
    emit(this.#numbered(`response.${delivery.text}.delta`, open.around(text)));
  }

  #endItem({ annotations, opaque, extra }: EventOf<"part-end">, emit: Emit<Frame>): void {
    const open = this.#open;
    if (!open) return;
    Object.assign(open.part, annotations && { annotations }, opaque && { opaque }, extra && { extra });
    const item = itemOf(open);
    this.#emitAll(endItem(open, item), emit);
    this.#output.push(item);
    this.#open = undefined;
  }

  #finish(event: EventOf<"finish">, emit: Emit<Frame>): void {
    const response = serializeEnd(event, factsOf(this.#exchange), this.#exchange.now(), this.#output);
    emit(this.#frame(`response.${response.status}`, { response }));
    emit({ data: "[DONE]" });
  }

  #fail(failure: GatewayError, emit: Emit<Frame>): void {
    const head = serializeHead({ ...factsOf(this.#exchange), stored: false });
    const open = this.#open;
    // What went out stays; a call that was cut is none, and agents would run it.
    const cut = open && open.part.type !== "tool-call" ? [{ ...itemOf(open), status: "incomplete" }] : [];
    const isCancelled = this.#isInBackground && failure.code === "client_closed";
    const error = isCancelled ? null : serializeFailure(failure);
    const status = isCancelled ? "cancelled" : "failed";
    const output = [...this.#output, ...cut];
    emit(this.#frame(`response.${status}`, { response: { ...head, status, error, output } }));
    emit({ data: "[DONE]" });
  }

  get #isInBackground(): boolean {
    return this.#exchange.input.memory?.background === true;
  }

  #emitAll(events: readonly ItemEvent[], emit: Emit<Frame>): void {
    for (const [type, fields] of events) emit(this.#frame(type, fields));
  }

  #frame(type: string, fields: JsonObject): Frame {
    return this.#numbered(type, JSON.stringify(fields));
  }

  /** `fields`: the JSON of an object that has some. */
  #numbered(type: string, fields: string): Frame {
    const { frames } = this.#exchange;
    return {
      event: type,
      data: `{"type":${JSON.stringify(type)},"sequence_number":${frames.sent++},${fields.slice(1)}`,
    };
  }
}

type EventOf<T extends GenerateEvent["type"]> = Extract<GenerateEvent, { type: T }>;

/** What goes out in silence. Nothing but a comment may come before the response is created. */
export function keepAlive({ frames }: Pick<Exchange, "frames">): Frame | undefined {
  if (frames.sent === 0) return undefined;
  const type = "keepalive";
  return { event: type, data: JSON.stringify({ type, sequence_number: frames.sent++ }) };
}

type ItemEvent = [type: string, fields: JsonObject];

/** How the pieces of an item are sent: the event that brings its text, and the part that the text stands in. */
interface Delivery {
  text: string;
  /** The field of the whole text. */
  key: string;
  part?: { event: string; list: "content" | "summary"; index: "content_index" | "summary_index"; empty: JsonObject };
  more?: JsonObject;
}

const content = { event: "content_part", list: "content", index: "content_index" } as const;
const TEXT: Delivery = {
  text: "output_text",
  key: "text",
  part: { ...content, empty: { type: "output_text", text: "", annotations: [], logprobs: [] } },
  more: { logprobs: [] },
};
const REFUSAL: Delivery = {
  text: "refusal",
  key: "refusal",
  part: { ...content, empty: { type: "refusal", refusal: "" } },
};
const THOUGHT: Delivery = {
  text: "reasoning_text",
  key: "text",
  part: { ...content, empty: { type: "reasoning_text", text: "" } },
};
const SUMMARY: Delivery = {
  text: "reasoning_summary_text",
  key: "text",
  part: {
    event: "reasoning_summary_part",
    list: "summary",
    index: "summary_index",
    empty: { type: "summary_text", text: "" },
  },
};
const FUNCTION: Delivery = { text: "function_call_arguments", key: "arguments" };
const CUSTOM: Delivery = { text: "custom_tool_call_input", key: "input" };

/** Nothing for what comes whole. */
function deliveryOf(part: SpokenPart, speech: Speech): Delivery | undefined {
  const { summarizes } = speech;
  switch (part.type) {
    case "text":
      return TEXT;
    case "refusal":
      return REFUSAL;
    case "reasoning":
      // Thoughts that only their vendor can read have no text, not even an empty one.
      return part.opaque ? undefined : summarizes ? SUMMARY : THOUGHT;
    case "tool-call":
      if (isSearchCall(part, speech)) return undefined;
      return part.kind === "custom" ? CUSTOM : FUNCTION;
    case "opaque":
      return undefined;
    default:
      return part satisfies never;
  }
}

/** An item while it is sent. */
interface OpenItem {
  id: string;
  output_index: number;
  /** What is known of the part so far. */
  part: SpokenPart;
  delivery: Delivery | undefined;
  speech: Speech;
  /** How its increments are written. */
  around?: (text: string) => string;
}

function beginItem(open: OpenItem): ItemEvent[] {
  const { part, delivery, output_index } = open;
  const item = itemOf(open);
  if (part.type === "opaque") return beginWhole(open, item);
  const bare = part.type === "reasoning" ? { summary: [] } : delivery?.part && { content: [] };
  const events: ItemEvent[] = [["response.output_item.added", {
    output_index,
    item: { ...item, ...bare, status: "in_progress" },
  }]];
  if (delivery?.part) {
    events.push([`response.${delivery.part.event}.added`, { ...placeOf(open), part: delivery.part.empty }]);
  }
  return events;
}

/** What a server did itself is done when it is sent; what it could not do has begun all the same. */
function beginWhole(open: OpenItem, item: JsonObject): ItemEvent[] {
  const { output_index } = open;
  const added = (item: JsonObject): ItemEvent => ["response.output_item.added", { output_index, item }];
  const place = { ...placeOf(open), item_id: item.id };
  const begun = `response.${item.type}.in_progress`;
  if (item.type === "mcp_list_tools" && typeof item.error === "string") {
    const { error: _, ...rest } = item;
    return [added(rest), [begun, place], ["response.mcp_list_tools.failed", place]];
  }
  if (item.status !== "failed") return [added(item)];
  const { action: _, ...rest } = item;
  const steps: ItemEvent[] = WITH_STEPS.has(item.type) ? [[begun, place]] : [];
  return [added({ ...rest, status: "in_progress" }), ...steps];
}

/** The items of server tools that have events of their own. */
const WITH_STEPS: ReadonlySet<unknown> = new Set([
  "web_search_call",
  "file_search_call",
  "code_interpreter_call",
  "image_generation_call",
]);

function endItem(open: OpenItem, item: JsonObject): ItemEvent[] {
  const { delivery, output_index } = open;
  const done: ItemEvent = ["response.output_item.done", { output_index, item }];
  if (!delivery) return [done];
  const place = placeOf(open);
  const list = delivery.part && item[delivery.part.list];
  const part = Array.isArray(list) && isJsonObject(list[0]) ? list[0] : delivery.part?.empty;
  const whole = { [delivery.key]: (part ?? item)[delivery.key], ...delivery.more };
  const name = delivery === FUNCTION || delivery === CUSTOM ? { name: item.name } : {};
  return [
    ...annotationsIn(part).map((annotation, annotation_index): ItemEvent => [
      "response.output_text.annotation.added",
      { ...place, annotation_index, annotation },
    ]),
    [`response.${delivery.text}.done`, { ...place, ...name, ...whole }],
    ...(delivery.part ? [[`response.${delivery.part.event}.done`, { ...place, part }] satisfies ItemEvent] : []),
    done,
  ];
}

function annotationsIn(part: JsonObject | undefined): JsonObject[] {
  return Array.isArray(part?.annotations) ? part.annotations as JsonObject[] : [];
}

function itemOf({ part, id, speech }: OpenItem): JsonObject {
  return serializeItem(part, id, speech);
}

function placeOf({ id, output_index, delivery }: OpenItem): JsonObject {
  return { item_id: id, output_index, ...(delivery?.part && { [delivery.part.index]: 0 }) };
}
