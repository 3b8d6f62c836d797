import type { SpeechRequest, TranscriptionRequest } from "../../../src/canonical/audio.ts";
import type { JsonValue } from "../../../src/canonical/json.ts";
import type { Input, ModelOperation } from "../../../src/canonical/operations.ts";
import type { FormField } from "../../../src/contract/context.ts";
import type { Call, Reply } from "../../../src/contract/call.ts";
import type { Target, UpstreamOperation } from "../../../src/contract/driver.ts";
import { audioDriver } from "../../../plugins/audio/mod.ts";

/** The beginning of a WAV file. */
export const WAV = bytesOf("RIFF\x24\0\0\0WAVEfmt ");
export const MP3 = bytesOf("ID3\x04\0\0\0\0\0\0");
export const PNG = bytesOf("\x89PNG\r\n\x1a\n");

export function bytesOf(latin1: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(latin1, (character) => character.charCodeAt(0));
}

export function fileField(bytes = WAV, name = "a.wav", mediaType = "audio/wav", field = "file"): FormField {
  return { name: field, file: { bytes, name, mediaType } };
}

/** A form with a model, a file, and these texts. */
export function formOf(...texts: [name: string, value: string][]): FormField[] {
  return [{ name: "model", value: "whisper" }, fileField(), ...texts.map(([name, value]) => ({ name, value }))];
}

export function targetOf(fields: Partial<Target> = {}): Target {
  return { upstream: "local", model: "there", systemMessages: "anywhere", ...fields };
}

export function replyOf(body: JsonValue | Uint8Array<ArrayBuffer>, contentType = "application/json"): Reply {
  return { status: 200, headers: new Headers({ "content-type": contentType }), body };
}

export function speechOf(fields: Partial<SpeechRequest> = {}): SpeechRequest {
  return { model: "tts", text: "Hello", format: "mp3", stream: false, ...fields };
}

export function transcriptionOf(fields: Partial<TranscriptionRequest> = {}): TranscriptionRequest {
  const file = { bytes: WAV, name: "a.wav", mediaType: "audio/wav" };
  return { model: "whisper", file, format: "json", stream: false, ...fields };
}

/** The driver's way, which is never a local one. */
export function wayOf<K extends ModelOperation>(operation: K): UpstreamOperation<K> {
  const way = audioDriver.operations[operation];
  if (!way || "local" in way) throw new Error(`The driver does not serve ${operation}`);
  return way;
}

/** The one call for a request. */
export function callOf<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  target: Target,
  context: Parameters<UpstreamOperation<K>["request"]>[2],
): Call {
  const [call] = [wayOf(operation).request(input, target, context)].flat();
  if (!call) throw new Error("There is no call");
  return call;
}
