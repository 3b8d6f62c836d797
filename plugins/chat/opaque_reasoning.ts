/**
 * Fields that a server of this wire wants back with the next turn and nobody else reads: the details of its reasoning, and fields
 * of its own on calls, such as signatures of the thoughts before them. A client of this wire sees them all and sends them back;
 * for others they ride in reasoning parts.
 */
import type { GenerateEvent, OpaqueReasoning, ReasoningPart } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { parseExactly } from "../../src/canonical/raw_number.ts";
import { WIRE } from "./wire.ts";

/** The fields that one reasoning part carries. */
interface OpaqueFields {
  details?: JsonValue[];
  /** The server's fields of calls, by the id of the call. */
  calls?: { [id: string]: JsonObject };
}

/** Puts the fields that the server wants back into the reasoning parts of an answer, or before a call if there is no such part. */
export class OpaqueReasoningFields {
  #details: JsonValue[] = [];
  #inReasoning = false;
  /** How many parts were added so far. Until there are any, events that bring more of a part are left as they are. */
  added = 0;

  /** Details of reasoning; increments of one detail are one. */
  add(details: readonly JsonValue[]): void {
    for (const detail of details) {
      const last = this.#details.at(-1);
      if (isJsonObject(last) && isJsonObject(detail) && isSame(last, detail)) mergeDetail(last, detail);
      else this.#details.push(isJsonObject(detail) ? { ...detail } : detail);
    }
  }

  /** The events, with all that was added by the time of each. */
  carry(events: GenerateEvent[]): GenerateEvent[] {
    return events.flatMap((event) => this.#carry(event));
  }

  #carry(event: GenerateEvent): GenerateEvent[] {
    switch (event.type) {
      case "part-start": {
        const { part } = event;
        this.#inReasoning = part.type === "reasoning";
        if (this.#inReasoning) return [this.#moved(event)];
        const fields = part.type === "tool-call" && part.extra?.wire === WIRE ? part.extra.fields : undefined;
        if (part.type !== "tool-call" || !fields) return [...this.#addPart(event.index), this.#moved(event)];
        const { extra: _, ...call } = part;
        return [...this.#addPart(event.index, { [call.id]: fields }), this.#moved({ ...event, part: call })];
      }
      case "part-end": {
        const opaque = this.#inReasoning ? this.#take() : undefined;
        this.#inReasoning = false;
        return [this.#moved(opaque ? { ...event, opaque } : event)];
      }
      case "part-delta":
        return [this.#moved(event)];
      case "finish":
        return [...this.#addPart(this.#next), event];
      case "start":
      case "error":
        return [event];
      default:
        return event satisfies never;
    }
  }

  /** The index of the part that would follow, without those that were added. */
  #next = 0;

  #moved<E extends GenerateEvent & { index: number }>(event: E): E {
    this.#next = event.index + 1;
    return this.added === 0 ? event : { ...event, index: event.index + this.added };
  }

  #addPart(before: number, calls?: OpaqueFields["calls"]): GenerateEvent[] {
    const opaque = this.#take(calls);
    if (!opaque) return [];
    const index = before + this.added++;
    return [
      { type: "part-start", index, part: { type: "reasoning", text: "", opaque } },
      { type: "part-end", index },
    ];
  }

  #take(calls?: OpaqueFields["calls"]): OpaqueReasoning | undefined {
    const details = this.#details;
    if (details.length === 0 && !calls) return undefined;
    this.#details = [];
    const carried: OpaqueFields = { ...(details.length > 0 && { details }), ...(calls && { calls }) };
    return { origin: WIRE, data: JSON.stringify(carried) };
  }
}

/** Whether one increment goes on with what the other began: what is whole from the start never does. */
function isSame(last: JsonObject, next: JsonObject): boolean {
  const grows = typeof (next.text ?? next.summary ?? next.signature) === "string";
  return grows && last.type === next.type && last.index === next.index && (next.id ?? last.id) === last.id;
}

function mergeDetail(last: JsonObject, next: JsonObject): void {
  for (const [key, value] of Object.entries(next)) {
    const before = last[key];
    if (value === null) continue;
    const grows = (key === "text" || key === "summary") && typeof before === "string" && typeof value === "string";
    last[key] = grows ? before + value : value;
  }
}

/** The fields that the reasoning of a turn carries for the server that wrote it. */
export function opaqueFieldsIn(parts: readonly ReasoningPart[]): Required<OpaqueFields> {
  const carried = parts.filter(isOwn).map(({ opaque }) => parseExactly(opaque!.data) as OpaqueFields);
  return {
    details: carried.flatMap(({ details = [] }) => details),
    calls: Object.assign({}, ...carried.map(({ calls }) => calls)),
  };
}

export function isOwn({ opaque }: ReasoningPart): boolean {
  return opaque?.origin === WIRE;
}
