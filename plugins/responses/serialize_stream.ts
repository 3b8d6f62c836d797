import {
  type Finish,
  type GenerateEvent,
  type HostedPart,
  isCut,
  type OutputPart,
} from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { jsonAround } from "../../src/canonical/json_around.ts";
import type { Exchange } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamWriter } from "../../src/contract/stream.ts";
import type { GatewayError } from "../../src/errors.ts";
import { CUSTOM, type Delivery, deliveryOf, FUNCTION } from "./deliveries.ts";
import { serializeFailure } from "./errors.ts";
import { beginHosted, endHosted, filesMadeBy, serializeHosted, wholeItem } from "./hosted_items.ts";
import { partId } from "./item_ids.ts";
import {
  factsOf,
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
  /** The items in their places: those that are done, and steps of hosted tools that run, as they began. */
  readonly #output: JsonObject[] = [];
  /** The places of steps that run, by the ids of their calls. */
  readonly #running = new Map<string, number>();
  #open: OpenItem | undefined;
  #created = false;
  /** A text or thought that has ended. Whether it is complete is known from what follows it. */
  #ended: OpenItem | undefined;

  constructor(exchange: Exchange<"generate">) {
    this.#exchange = exchange;
    this.#speech = speechFor(factsOf(exchange), exchange);
  }

  write(event: GenerateEvent, emit: Emit<Frame>): void {
    if (!this.#created) this.#create(emit);
    if (this.#ended && event.type !== "start" && event.type !== "error") this.#completeItem(this.#ended, event, emit);
    switch (event.type) {
      case "start":
        return;
      case "part-start":
        return this.#startItem(event, emit);
      case "part-delta": {
        const open = this.#open;
        if (!open) return;
        const { part } = open;
        const { text } = event.delta;
        if (part.type === "tool-call") part.input += text;
        else if ("text" in part) part.text += text;
        const increments = open.increments ?? this.#beginDeltas(open);
        if (increments) emit(this.#numbered(increments.type, increments.around(text)));
        return;
      }
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
    if (isStep(part)) return this.#writeStep(part, emit);
    const id = partId(this.#exchange.id, part, index);
    const speech = this.#speech;
    const written = spoken(part, speech);
    if (!written) return;
    const delivery = deliveryOf(written, speech);
    this.#open = { id, output_index: this.#output.length, part: { ...written }, delivery, speech };
    this.#emitAll(beginItem(this.#open), emit);
  }

  /** How increments are written in the open item. `undefined` if they are not. */
  #beginDeltas(open: OpenItem): OpenItem["increments"] {
    const { delivery } = open;
    if (!delivery) return undefined;
    const around = jsonAround((hole) => ({ ...placeOf(open), delta: hole, ...delivery.more }), "{".length);
    return open.increments = { type: `response.${delivery.text}.delta`, around };
  }

  /** A step's call and its result are one item. */
  #writeStep(part: HostedPart, emit: Emit<Frame>): void {
    const { showsSources, define } = this.#speech;
    const item = serializeHosted(part, showsSources, define);
    if (part.call.kind === "tool-search") return this.#emitAll(wholeItem(item, this.#output.push(item) - 1), emit);
    let at = this.#running.get(part.id);
    if (at === undefined) {
      at = this.#output.push(item) - 1;
      this.#emitAll(beginHosted({ ...part, result: undefined }, at, showsSources), emit);
    }
    if (!part.result) return void (part.awaitsApproval || this.#running.set(part.id, at));
    this.#running.delete(part.id);
    this.#speech.made.push(...filesMadeBy(part));
    this.#output[at] = item;
    this.#emitAll(endHosted(part, item, at), emit);
  }

  #endItem({ annotations, opaque, extra }: EventOf<"part-end">, emit: Emit<Frame>): void {
    const open = this.#open;
    if (!open) return;
    Object.assign(open.part, annotations && { annotations }, opaque && { opaque }, extra && { extra });
    const { part, output_index } = open;
    const item = itemOf(open);
    if (part.type === "tool-call" && part.kind === "function" && isCut(CUT, part)) item.status = "incomplete";
    this.#emitAll(endParts(open, item), emit);
    this.#output.push(item);
    if (part.type === "text" || part.type === "reasoning") this.#ended = open;
    else this.#emitAll([["response.output_item.done", { output_index, item }]], emit);
    this.#open = undefined;
  }

  #completeItem({ part, output_index }: OpenItem, next: GenerateEvent, emit: Emit<Frame>): void {
    const item = this.#output[output_index]!;
    if (next.type === "finish" && isCut(next.finish, part)) item.status = "incomplete";
    this.#emitAll([["response.output_item.done", { output_index, item }]], emit);
    this.#ended = undefined;
  }

  #finish(event: EventOf<"finish">, emit: Emit<Frame>): void {
    const response = serializeEnd(event, factsOf(this.#exchange), this.#exchange.now(), this.#output);
    emit(this.#frame(`response.${response.status}`, { response }));
    emit({ data: "[DONE]" });
  }

  #fail(failure: GatewayError, emit: Emit<Frame>): void {
    const head = serializeHead({ ...factsOf(this.#exchange), stored: false });
    const open = this.#open;
    // Nobody has heard that the item is done.
    if (this.#ended) this.#output[this.#ended.output_index]!.status = "incomplete";
    // What went out stays; a call that was cut is none, and agents would run it.
    const cut = open && open.part.type !== "tool-call" ? [{ ...itemOf(open), status: "incomplete" }] : [];
    const isCancelled = this.#isInBackground && failure.code === "client_closed";
    const error = isCancelled ? null : serializeFailure(failure);
    const status = isCancelled ? "cancelled" : "failed";
    const stopped = new Set(this.#running.values());
    const output = [
      ...this.#output.map((item, at) => stopped.has(at) ? { ...item, status: "failed" } : item),
      ...cut,
    ];
    emit(this.#frame(`response.${status}`, { response: { ...head, status, error, output } }));
    emit({ data: "[DONE]" });
  }

  get #isInBackground(): boolean {
    return this.#exchange.input.recall?.background === true;
  }

  #emitAll(events: readonly ItemEvent[], emit: Emit<Frame>): void {
    for (const [type, fields] of events) emit(this.#frame(type, fields));
  }

  #frame(type: string, fields: JsonObject): Frame {
    return this.#numbered(type, JSON.stringify(fields).slice(1));
  }

  /** `fields`: the JSON of an object that has some, without its opening brace. */
  #numbered(type: string, fields: string): Frame {
    const { frames } = this.#exchange;
    return {
      event: type,
      data: `{"type":"${type}","sequence_number":${frames.sent++},${fields}`,
    };
  }
}

/** A call whose arguments are not whole is unfinished, however the answer ends. */
const CUT: Finish = { reason: "length" };

/** A part that an upstream of this wire sent comes whole, like any other item: it is no step. */
function isStep(part: OutputPart): part is HostedPart {
  return part.type === "hosted" && part.extra === undefined;
}

type EventOf<T extends GenerateEvent["type"]> = Extract<GenerateEvent, { type: T }>;

/** The frame that goes out in silence. Nothing but a comment may come before the response is created. */
export function keepAlive({ frames }: Pick<Exchange, "frames">): Frame | undefined {
  if (frames.sent === 0) return undefined;
  const type = "keepalive";
  return { event: type, data: JSON.stringify({ type, sequence_number: frames.sent++ }) };
}

type ItemEvent = [type: string, fields: JsonObject];

/** An item while it is sent. */
interface OpenItem {
  id: string;
  output_index: number;
  /** The part, as far as it is known. */
  part: SpokenPart;
  delivery: Delivery | undefined;
  speech: Speech;
  /** How its increments are written: the type of their events, and the other fields around a text. */
  increments?: { type: string; around: (text: string) => string };
}

function beginItem(open: OpenItem): ItemEvent[] {
  const { part, delivery, output_index } = open;
  const item = itemOf(open);
  if (part.type === "opaque" || part.type === "hosted") return beginWhole(open, item);
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

/** A server's own work is done when it is sent; what the server could not do has begun all the same. */
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

/** The ends of what the item consists of. */
function endParts(open: OpenItem, item: JsonObject): ItemEvent[] {
  const { delivery } = open;
  if (!delivery) return [];
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
