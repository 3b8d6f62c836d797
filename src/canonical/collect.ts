import type { DrawEvent, DrawResponse } from "./draw.ts";
import type { GenerateEvent, GenerateResponse, OutputPart } from "./generate.ts";
import { type Extra, mergeExtras } from "./extra.ts";
import { GatewayError } from "../errors.ts";
import type { EventSource } from "../util/event_source.ts";
import type { OperationName, Output, StreamEvent } from "./operations.ts";

/** The whole answer from the events of a stream. Throws the error of an `error` event. */
export function collect(events: Iterable<GenerateEvent>): GenerateResponse {
  const collector = new Collector();
  for (const event of events) {
    const response = collector.add(event);
    if (response) return response;
  }
  throw incomplete();
}

/** The whole answer from an event source, which is always ended. */
export async function collectFrom(source: EventSource<GenerateEvent>): Promise<GenerateResponse> {
  const collector = new Collector();
  try {
    for (;;) {
      const events = await source.next();
      if (!events) throw incomplete();
      for (const event of events) {
        const response = collector.add(event);
        if (response) return response;
      }
    }
  } finally {
    await source.cancel();
  }
}

/** Assembles an answer from its events. */
export class Collector {
  #model = "";
  #extra: Extra | undefined;
  readonly #content: OutputPart[] = [];
  #isOpen = false;

  /** A copy of the answer so far. */
  get shown(): { content: readonly OutputPart[]; isOpen: boolean } {
    return { content: this.#content.map((part) => ({ ...part })), isOpen: this.#isOpen };
  }

  /** Returns the whole answer after the last event. Throws the error of an `error` event. */
  add(event: GenerateEvent): GenerateResponse | undefined {
    switch (event.type) {
      case "start":
        this.#model = event.model;
        this.#extra = event.extra;
        return undefined;
      case "part-start":
        this.#content.push({ ...event.part });
        this.#isOpen = true;
        return undefined;
      case "part-delta": {
        const part = this.#content[event.index];
        if (part?.type === "tool-call") part.input += event.delta.text;
        else if (part && "text" in part) part.text += event.delta.text;
        return undefined;
      }
      case "part-end": {
        const part = this.#content[event.index];
        if (part?.type === "text" && event.annotations) part.annotations = event.annotations;
        if (part?.type === "reasoning" && event.opaque) part.opaque = event.opaque;
        if (part && event.extra) part.extra = event.extra;
        this.#isOpen = false;
        return undefined;
      }
      case "finish": {
        const { finish, usage } = event;
        const extra = mergeExtras([this.#extra, event.extra]);
        return { model: this.#model, content: this.#content, finish, usage, ...(extra && { extra }) };
      }
      case "error":
        throw event.error;
      default:
        return event satisfies never;
    }
  }
}

/** The error for a stream that just stops. */
export function incomplete(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
}

function collectPictures(events: Iterable<DrawEvent>): DrawResponse {
  const pictures: DrawResponse["pictures"] = [];
  for (const event of events) {
    if (event.type === "error") throw event.error;
    if (event.type === "picture") pictures.push(event.picture);
    if (event.type !== "finish") continue;
    const { type: _, ...rest } = event;
    return { pictures, ...rest };
  }
  throw incomplete();
}

/** Turns a stream into an operation's whole answer, for operations that stream. */
export const COLLECT: { [K in OperationName]?: (events: Iterable<StreamEvent<K>>) => Output<K> } = {
  generate: collect,
  draw: collectPictures,
};
