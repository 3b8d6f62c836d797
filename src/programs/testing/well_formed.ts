import type { GenerateEvent, OutputPart, PartDelta } from "../../canonical/generate.ts";

const DELTA_OF: Record<OutputPart["type"], PartDelta["type"] | undefined> = {
  text: "text",
  reasoning: "reasoning",
  refusal: "refusal",
  "tool-call": "tool-input",
  file: undefined,
  hosted: undefined,
  opaque: undefined,
};

/** The events without the stack of an error, so that they can be compared. */
export function comparable(events: readonly GenerateEvent[]): unknown[] {
  return events.map((event) => {
    if (event.type !== "error") return event;
    const { code, message, details: { cause: _, ...details } } = event.error;
    return { type: "error", code, message, details };
  });
}

/** Asserts the order of events that `GenerateEvent` promises. A failure before the first event is a lone `error`. */
export function assertWellFormed(events: readonly GenerateEvent[]): void {
  let open: OutputPart | undefined;
  let nextIndex = 0;
  for (const [position, event] of events.entries()) {
    const must = (holds: boolean, rule: string) => {
      if (!holds) throw new Error(`${rule}, but event ${position} of ${JSON.stringify(events, null, 1)}`);
    };
    const isLast = position === events.length - 1;
    must((event.type === "finish" || event.type === "error") === isLast, '"finish" or "error" comes once and last');
    must((event.type === "start") === (position === 0 && event.type !== "error"), '"start" comes once and first');
    switch (event.type) {
      case "start":
        must(event.inputTokens > 0, "The input has tokens");
        break;
      case "part-start":
        must(open === undefined, "One part is open at a time");
        must(event.index === nextIndex, "Indexes count up from 0");
        must(isEmpty(event.part), "A part starts empty but for its id and name");
        open = event.part;
        break;
      case "part-delta":
        must(open !== undefined && event.index === nextIndex, "A delta is inside its part");
        must(event.delta.type === DELTA_OF[open!.type], "A delta is of its part's kind");
        break;
      case "part-end":
        must(open !== undefined && event.index === nextIndex++, "The part that ends is the open one");
        open = undefined;
        break;
      case "finish":
        must(open === undefined, 'All parts end before "finish"');
        break;
      case "error":
        break;
      default:
        event satisfies never;
    }
  }
  if (events.length === 0) throw new Error("A stream has events");
}

function isEmpty(part: OutputPart): boolean {
  switch (part.type) {
    case "text":
    case "reasoning":
    case "refusal":
      return part.text === "";
    case "tool-call":
      return part.input === "" && part.name !== "" && part.id !== "";
    case "file":
    case "hosted":
    case "opaque":
      return true;
    default:
      return part satisfies never;
  }
}
