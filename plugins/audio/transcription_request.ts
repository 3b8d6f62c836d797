import { sniffMedia } from "../../src/canonical/media.ts";
import type { AudioFile, TranscriptFormat, TranscriptionRequest } from "../../src/canonical/audio.ts";
import { extraOf, fieldsFor } from "../../src/canonical/extra.ts";
import { type JsonValue, present } from "../../src/canonical/json.ts";
import type { Context, FormField } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { TRANSCRIPTION_KEYS, transcriptionSchema, WIRE } from "./wire.ts";

/** A client's form, its parts in any order. An empty text means absent. */
export function parseTranscriptionRequest(
  fields: readonly FormField[],
  context: Context,
  translateTo?: "en",
): TranscriptionRequest {
  const file = theFile(fields);
  const texts = collectTexts(fields);
  const request = validate(transcriptionSchema, texts);
  const { model, response_format: format = "json", timestamp_granularities: timestamps, stream = false } = request;
  if (timestamps && format !== "verbose_json") {
    refuse("timestamp_granularities", '"timestamp_granularities" needs the response_format "verbose_json"');
  }
  if (stream && !STREAMED.has(format)) refuse("response_format", `Cannot stream the response_format "${format}"`);
  if (translateTo && format === "diarized_json") {
    refuse("response_format", 'A translation has no response_format "diarized_json"');
  }
  // The field names the spoken language, which a translation model detects itself.
  if (translateTo && request.language) context.note("dropped language");
  const extra = extraOf(WIRE, texts, TRANSCRIPTION_KEYS);
  return {
    model,
    file,
    ...(translateTo ? { translateTo } : present("language", request.language)),
    format,
    ...present("prompt", request.prompt),
    ...present("temperature", request.temperature),
    ...present("timestamps", timestamps),
    stream,
    ...(extra && { extra }),
  };
}

const STREAMED: ReadonlySet<TranscriptFormat> = new Set(["json", "text", "diarized_json"]);

function refuse(param: string, message: string): never {
  throw new GatewayError("invalid_request", message, { param });
}

function theFile(fields: readonly FormField[]): AudioFile {
  const [found, another] = fields.filter(({ name, file }) => file !== undefined || name === "file");
  if (another) refuse("file", "The form has more than one file");
  if (found?.name !== "file" || !found.file) return refuse("file", 'The form has no file in its field "file"');
  const { file } = found;
  if (file.bytes.length === 0) refuse("file", `The file "${file.name}" is empty`);
  const seen = sniffMedia(file.bytes);
  if (seen && !/^(audio|video)\//.test(seen)) refuse("file", `The file "${file.name}" is ${seen}, which is not audio`);
  return file;
}

/**
 * The text fields by name. A field that repeats, or whose name ends in brackets, is a list. Known names lose the brackets, which only
 * some clients send.
 */
function collectTexts(fields: readonly FormField[]): Record<string, JsonValue> {
  const texts = new Map<string, string[]>();
  for (const { name, value, file } of fields) {
    if (file !== undefined || value === "") continue;
    const bare = name.replace(/\[\]$/, "");
    const key = TRANSCRIPTION_KEYS.has(bare) ? bare : name;
    texts.set(key, [...texts.get(key) ?? [], value]);
  }
  return Object.fromEntries(
    [...texts].map(([key, values]) => {
      const isList = values.length > 1 || key.endsWith("[]") || key === "timestamp_granularities";
      return [key, isList ? values : values[0]!];
    }),
  );
}

/** Models of the Whisper family, and similar ones, that were trained without translations. */
const CANNOT_TRANSLATE = /turbo|distil|parakeet/i;

/** Serializes the form for a server of this wire. It requests data from which every format can be made. */
export function serializeTranscriptionRequest(
  input: TranscriptionRequest,
  target: Target,
  context: Context,
): FormField[] {
  if (input.translateTo && CANNOT_TRANSLATE.test(target.model)) {
    const message = `Model "${target.model}" cannot translate: ask a full Whisper model, such as whisper-large-v3`;
    throw new GatewayError("invalid_request", message, { param: "model", tryNextTarget: true });
  }
  const extra = Object.entries(fieldsFor(WIRE, input.extra, context.note));
  const texts: [name: string, value: JsonValue | undefined][] = [
    ["model", target.model],
    ["language", input.language],
    ["prompt", input.prompt],
    ["response_format", ASKED[input.format]],
    ["temperature", input.temperature],
    ["timestamp_granularities[]", input.timestamps],
    // Servers do not stream translations, so the gateway makes a stream from a whole one.
    ["stream", input.stream && !input.translateTo ? "true" : undefined],
    ...extra,
  ];
  return [
    ...texts.flatMap(([name, value]) => [value ?? []].flat().map((one) => ({ name, value: String(one) }))),
    { name: "file", file: input.file },
  ];
}

/** The format to request: servers differ in the other formats, but all have JSON. */
const ASKED: Record<TranscriptFormat, string> = {
  json: "json",
  text: "json",
  srt: "verbose_json",
  vtt: "verbose_json",
  verbose_json: "verbose_json",
  diarized_json: "diarized_json",
};
