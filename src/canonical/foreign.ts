import type { Extra } from "./extra.ts";
import type { GenerateEvent, OpaqueReasoning } from "./generate.ts";
import { isJsonObject } from "./json.ts";

/** An answer, a part of one, or a step of a stream: what of it only one wire may have. */
interface Told {
  type?: string;
  extra?: Extra;
  opaque?: OpaqueReasoning;
}

/**
 * `note` hears of what only the wire of the upstream has, where the client speaks another: its serializer leaves it behind.
 * `isSealed`: the client gets sealed what only a vendor can read.
 */
export function noteForeign(
  { type, extra, opaque }: Told,
  clientWire: string,
  isSealed: boolean,
  note: (text: string) => void,
): void {
  if (opaque && opaque.origin !== clientWire && !isSealed) note("dropped reasoning that only its vendor can read");
  // Of a part that is foreign as a whole, the serializer says what became of it.
  if (!extra || extra.wire === clientWire || type === "opaque") return;
  for (const [field, value] of Object.entries(extra.fields)) {
    const inner = isJsonObject(value) ? Object.keys(value).map((key) => `${field}.${key}`) : [field];
    for (const name of inner) note(`dropped ${name}`);
  }
}

/** The same of a stream, step by step. */
export async function* hearForeign(
  events: AsyncIterable<GenerateEvent>,
  clientWire: string,
  isSealed: boolean,
  note: (text: string) => void,
): AsyncGenerator<GenerateEvent> {
  for await (const event of events) {
    if (event.type === "part-start") noteForeign(event.part, clientWire, isSealed, note);
    if (event.type === "part-end" || event.type === "finish") noteForeign(event, clientWire, isSealed, note);
    yield event;
  }
}
