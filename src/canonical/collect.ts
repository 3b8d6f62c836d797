import type { GenerateEvent, GenerateResponse, OutputPart } from "./generate.ts";
import { type Extra, mergeExtras } from "./extra.ts";
import { GatewayError } from "../errors.ts";
import type { EventSource } from "../util/event_source.ts";
import type { OperationName, Output, StreamEvent } from "./operations.ts";

/** The whole answer that the events of a stream make. Throws what their `error` event holds. */
export function collect(events: Iterable<GenerateEvent>): GenerateResponse {
  const collector = new Collector();
  for (const event of events) {
    const response = collector.add(event);
    if (response) return response;
  }
  throw incomplete();
}

/** The same of a source, which is ended. */
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

/** Puts an answer together as its events pass by. */
export class Collector {
  #model = "";
  #extra: Extra | undefined;
  readonly #content: OutputPart[] = [];

  /** The whole answer, once the event is its last. Throws what an `error` event holds. */
  add(event: GenerateEvent): GenerateResponse | undefined {
    switch (event.type) {
      case "start":
        this.#model = event.model;
        this.#extra = event.extra;
        return undefined;
      case "part-start":
        this.#content.push({ ...event.part });
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
        return undefined;
      }
      case "finish": {
        const { finish, usage } = event;
        const extra = mergeExtras(this.#extra, event.extra);
        return { model: this.#model, content: this.#content, finish, usage, ...(extra && { extra }) };
      }
      case "error":
        throw event.error;
      default:
        return event satisfies never;
    }
  }
}

function incomplete(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
}

/** How a stream becomes the whole answer of an operation, for operations that stream. */
export const COLLECT: { [K in OperationName]?: (events: Iterable<StreamEvent<K>>) => Output<K> } = {
  generate: collect,
};
