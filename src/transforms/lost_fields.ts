import type { Extra } from "../canonical/extra.ts";
import type { GenerateEvent, OpaqueReasoning } from "../canonical/generate.ts";
import { isJsonObject } from "../canonical/json.ts";
import type { StreamTransform } from "../contract/stream.ts";

/** The wire-specific content of an answer, of a part, or of a stream event. */
interface Sent {
  type?: string;
  extra?: Extra;
  opaque?: OpaqueReasoning;
}

/**
 * Notes what the client's serializer leaves out, because only the upstream's wire has it. `isKept`: vendor-only reasoning is
 * sealed for the client or stored.
 */
export function noteLostFields(
  { type, extra, opaque }: Sent,
  clientWire: string,
  isKept: boolean,
  note: (text: string) => void,
): void {
  if (opaque && opaque.origin !== clientWire && !isKept) note("dropped reasoning that only its vendor can read");
  // For a part that is foreign as a whole, the serializer writes the note.
  if (!extra || extra.wire === clientWire || type === "opaque") return;
  for (const [field, value] of Object.entries(extra.fields)) {
    const inner: [name: string, value: unknown][] = isJsonObject(value)
      ? Object.entries(value).map(([key, one]) => [`${field}.${key}`, one])
      : [[field, value]];
    for (const [name, one] of inner) if (!isBlank(one)) note(`dropped ${name}`);
  }
}

/** Dropping a blank value loses nothing. */
function isBlank(value: unknown): boolean {
  return value === null || value === "" || Array.isArray(value) && value.length === 0;
}

/** `noteLostFields` for a stream. */
export function noteLostEventFields(
  clientWire: string,
  isKept: boolean,
  note: (text: string) => void,
): StreamTransform<GenerateEvent> {
  return {
    passesDeltas: true,
    push(event, emit) {
      if (event.type === "part-start") noteLostFields(event.part, clientWire, isKept, note);
      if (event.type === "part-end" || event.type === "finish") noteLostFields(event, clientWire, isKept, note);
      emit(event);
    },
  };
}
