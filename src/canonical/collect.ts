import type { GenerateEvent, GenerateResponse, OutputPart } from "./generate.ts";
import type { Extra } from "./extra.ts";
import { GatewayError } from "../errors.ts";

/** The whole answer that a stream of events tells. Throws what its `error` event holds. */
export async function collect(events: AsyncIterable<GenerateEvent>): Promise<GenerateResponse> {
  const all: GenerateEvent[] = [];
  for await (const event of events) all.push(event);
  return collectSync(all);
}

/** The same for events that are all there. */
export function collectSync(events: Iterable<GenerateEvent>): GenerateResponse {
  let model = "";
  let startExtra: Extra | undefined;
  const content: OutputPart[] = [];
  for (const event of events) {
    switch (event.type) {
      case "start":
        ({ model, extra: startExtra } = event);
        break;
      case "part-start":
        content.push({ ...event.part });
        break;
      case "part-delta": {
        const part = content[event.index];
        if (part?.type === "tool-call") part.input += event.delta.text;
        else if (part && "text" in part) part.text += event.delta.text;
        break;
      }
      case "part-end": {
        const part = content[event.index];
        if (part?.type === "text" && event.annotations) part.annotations = event.annotations;
        if (part?.type === "reasoning" && event.opaque) part.opaque = event.opaque;
        if (part && event.extra) part.extra = event.extra;
        break;
      }
      case "finish": {
        const { finish, usage } = event;
        const extra = mergeExtras(startExtra, event.extra);
        return { model, content, finish, usage, ...(extra && { extra }) };
      }
      case "error":
        throw event.error;
      default:
        event satisfies never;
    }
  }
  throw new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
}

function mergeExtras(first: Extra | undefined, second: Extra | undefined): Extra | undefined {
  if (!first || !second || first.wire !== second.wire) return second ?? first;
  return { wire: first.wire, fields: { ...first.fields, ...second.fields } };
}
