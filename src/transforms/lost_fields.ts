import type { Extra } from "../canonical/extra.ts";
import type { GenerateEvent, OpaqueReasoning } from "../canonical/generate.ts";
import { isJsonObject } from "../canonical/json.ts";
import type { StreamTransform } from "../contract/stream.ts";

/** An answer, a part of one, or a step of a stream: what of it only one wire may have. */
interface Sent {
  type?: string;
  extra?: Extra;
  opaque?: OpaqueReasoning;
}

/**
 * `note` is given what only the wire of the upstream has, where the client speaks another: its serializer leaves it behind.
 * `isKept`: what only a vendor can read is sealed for the client, or stored.
 */
export function noteLostFields(
  { type, extra, opaque }: Sent,
  clientWire: string,
  isKept: boolean,
  note: (text: string) => void,
): void {
  if (opaque && opaque.origin !== clientWire && !isKept) note("dropped reasoning that only its vendor can read");
  // Of a part that is foreign as a whole, the serializer says what became of it.
  if (!extra || extra.wire === clientWire || type === "opaque") return;
  for (const [field, value] of Object.entries(extra.fields)) {
    const inner: [name: string, value: unknown][] = isJsonObject(value)
      ? Object.entries(value).map(([key, one]) => [`${field}.${key}`, one])
      : [[field, value]];
    for (const [name, one] of inner) if (!isBlank(one)) note(`dropped ${name}`);
  }
}

/** An answer loses nothing with it. */
function isBlank(value: unknown): boolean {
  return value === null || value === "" || Array.isArray(value) && value.length === 0;
}

/** The same of a stream, step by step. */
export function noteLostEventFields(
  clientWire: string,
  isKept: boolean,
  note: (text: string) => void,
): StreamTransform<GenerateEvent> {
  return {
    push(event, emit) {
      if (event.type === "part-start") noteLostFields(event.part, clientWire, isKept, note);
      if (event.type === "part-end" || event.type === "finish") noteLostFields(event, clientWire, isKept, note);
      emit(event);
    },
  };
}
