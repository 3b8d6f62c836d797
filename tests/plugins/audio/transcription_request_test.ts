import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { audioProtocols } from "../../../plugins/audio/mod.ts";
import { parseTranscriptionRequest } from "../../../plugins/audio/transcription_request.ts";
import type { TranscriptionRequest } from "../../../src/canonical/audio.ts";
import type { FormField } from "../../../src/contract/context.ts";
import { GatewayError } from "../../../src/errors.ts";
import { newContext } from "../../support/context.ts";
import { bytesOf, callOf, fileField, formOf, PNG, targetOf, transcriptionOf, WAV } from "./support.ts";

const model = { name: "model", value: "whisper" };

const READ: [what: string, form: FormField[], request: Partial<TranscriptionRequest>][] = [
  ["the least", formOf(), {}],
  ["the file before the model", [fileField(), model], {}],
  [
    "all that is modelled",
    formOf(["language", "de"], ["prompt", "Names: Ada"], ["temperature", "0.2"], ["response_format", "verbose_json"]),
    { language: "de", prompt: "Names: Ada", temperature: 0.2, format: "verbose_json" },
  ],
  [
    "empty texts are absent",
    formOf(["language", ""], ["temperature", ""], ["response_format", ""], ["stream", ""]),
    {},
  ],
  [
    "granularities in brackets",
    formOf(
      ["timestamp_granularities[]", "word"],
      ["timestamp_granularities[]", "segment"],
      ["response_format", "verbose_json"],
    ),
    { format: "verbose_json", timestamps: ["word", "segment"] },
  ],
  [
    "one granularity without brackets",
    formOf(["timestamp_granularities", "word"], ["response_format", "verbose_json"]),
    { format: "verbose_json", timestamps: ["word"] },
  ],
  ["a stream", formOf(["stream", "true"]), { stream: true }],
  ["a stream as Python says it", formOf(["stream", "True"]), { stream: true }],
  ["no stream", formOf(["stream", "false"]), {}],
  [
    "other fields ride along under their own names",
    formOf(
      ["chunking_strategy", "auto"],
      ["include[]", "logprobs"],
      ["keywords", "Ada"],
      ["keywords", "Grace"],
      ["chunking_strategy[type]", "server_vad"],
    ),
    {
      extra: {
        wire: "audio",
        fields: {
          chunking_strategy: "auto",
          "include[]": ["logprobs"],
          keywords: ["Ada", "Grace"],
          "chunking_strategy[type]": "server_vad",
        },
      },
    },
  ],
  [
    "a file whose bytes say nothing",
    [model, fileField(bytesOf("\x01\x02"), "a.m4a", "audio/mp4")],
    { file: { bytes: bytesOf("\x01\x02"), name: "a.m4a", mediaType: "audio/mp4" } },
  ],
];
for (const [what, form, request] of READ) {
  Deno.test(`audio: transcription request: ${what}`, () => {
    const context = newContext("audio");
    assertEquals(parseTranscriptionRequest(form, context), transcriptionOf(request));
    assertEquals(context.notes, []);
  });
}

const REFUSED: [what: string, form: FormField[], param: string, message?: string, translateTo?: "en"][] = [
  ["an empty form", [], "file"],
  ["no file", [model], "file", "no file"],
  ["a file that is a text", [model, { name: "file", value: "https://cdn.test/a.wav" }], "file", "no file"],
  ["a file under another name", [model, fileField(WAV, "a.wav", "audio/wav", "audio")], "file", "no file"],
  ["two files", [...formOf(), fileField()], "file", "more than one"],
  [
    "a second file under another name",
    [...formOf(), fileField(WAV, "a.wav", "audio/wav", "b")],
    "file",
    "more than one",
  ],
  ["a file of 0 bytes", [model, fileField(new Uint8Array(), "a.wav")], "file", '"a.wav" is empty'],
  ["a picture", [model, fileField(PNG, "a.wav")], "file", "image/png"],
  ["a document", [model, fileField(bytesOf("%PDF-1.7"))], "file", "application/pdf"],
  ["an archive", [model, fileField(bytesOf("PK\x03\x04"))], "file", "application/zip"],
  ["no model", [fileField()], "model"],
  ["an empty model", [fileField(), { name: "model", value: "" }], "model"],
  ["two models", [...formOf(), model], "model"],
  ["an unknown format", formOf(["response_format", "xml"]), "response_format"],
  ["two formats", formOf(["response_format", "json"], ["response_format", "text"]), "response_format"],
  ["a temperature that is no number", formOf(["temperature", "warm"]), "temperature"],
  ["a stream that is neither", formOf(["stream", "maybe"]), "stream"],
  ["granularities without their format", formOf(["timestamp_granularities[]", "word"]), "timestamp_granularities"],
  [
    "an unknown granularity",
    formOf(["timestamp_granularities[]", "letter"], ["response_format", "verbose_json"]),
    "timestamp_granularities[0]",
  ],
  ["subtitles as a stream", formOf(["stream", "true"], ["response_format", "srt"]), "response_format", "stream"],
  ["a verbose stream", formOf(["stream", "true"], ["response_format", "verbose_json"]), "response_format", "stream"],
  ["who speaks in a translation", formOf(["response_format", "diarized_json"]), "response_format", "translation", "en"],
];
for (const [what, form, param, message = "", translateTo] of REFUSED) {
  Deno.test(`audio: transcription request: ${what} is the client's fault`, () => {
    const read = () => parseTranscriptionRequest(form, newContext("audio"), translateTo);
    const error = assertThrows(read, GatewayError);
    assertEquals([error.code, error.details.param], ["invalid_request", param]);
    assertStringIncludes(error.message, message);
  });
}

Deno.test("audio: a translation has no language, and says that it drops one", () => {
  const context = newContext("translations");
  const request = parseTranscriptionRequest(formOf(["language", "de"], ["prompt", "P"]), context, "en");
  assertEquals(request, transcriptionOf({ translateTo: "en", prompt: "P" }));
  assertEquals(context.notes, ["dropped language"]);
});

/** A form as its texts in order, files as their names. */
function textsOf(form: readonly FormField[] | undefined): [string, string][] {
  return (form ?? []).map(({ name, value, file }) => [name, file ? `<${file.name}>` : value]);
}

const FILE: [string, string] = ["file", "<a.wav>"];
const MODEL: [string, string] = ["model", "there"];

const SENT: [what: string, input: Partial<TranscriptionRequest>, path: string, texts: [string, string][]][] = [
  ["json", {}, "audio/transcriptions", [MODEL, ["response_format", "json"], FILE]],
  ["text", { format: "text" }, "audio/transcriptions", [MODEL, ["response_format", "json"], FILE]],
  ["srt", { format: "srt" }, "audio/transcriptions", [MODEL, ["response_format", "verbose_json"], FILE]],
  ["vtt", { format: "vtt" }, "audio/transcriptions", [MODEL, ["response_format", "verbose_json"], FILE]],
  ["who speaks", { format: "diarized_json" }, "audio/transcriptions", [
    MODEL,
    ["response_format", "diarized_json"],
    FILE,
  ]],
  [
    "all that is modelled",
    { language: "de", prompt: "P", temperature: 0, format: "verbose_json", timestamps: ["word", "segment"] },
    "audio/transcriptions",
    [
      MODEL,
      ["language", "de"],
      ["prompt", "P"],
      ["response_format", "verbose_json"],
      ["temperature", "0"],
      ["timestamp_granularities[]", "word"],
      ["timestamp_granularities[]", "segment"],
      FILE,
    ],
  ],
  ["a stream", { stream: true }, "audio/transcriptions", [
    MODEL,
    ["response_format", "json"],
    ["stream", "true"],
    FILE,
  ]],
  [
    "what rides along",
    { extra: { wire: "audio", fields: { hotwords: "Ada", "include[]": ["logprobs", "x"] } } },
    "audio/transcriptions",
    [MODEL, ["response_format", "json"], ["hotwords", "Ada"], ["include[]", "logprobs"], ["include[]", "x"], FILE],
  ],
  [
    "a translation, which no server streams",
    { translateTo: "en", stream: true },
    "audio/translations",
    [MODEL, ["response_format", "json"], FILE],
  ],
];
for (const [what, input, path, texts] of SENT) {
  Deno.test(`audio: transcription request for an upstream: ${what}`, () => {
    const context = newContext("audio");
    const call = callOf("transcribe", transcriptionOf(input), targetOf(), context);
    assertEquals([call.path, textsOf(call.form)], [path, texts]);
    assertEquals(context.notes, []);
  });
}

for (const name of ["openai/whisper-large-v3-turbo", "distil-whisper/distil-large-v3", "nvidia/parakeet-tdt-0.6b-v3"]) {
  Deno.test(`audio: ${name} transcribes, and is not asked to translate`, () => {
    const target = targetOf({ model: name });
    callOf("transcribe", transcriptionOf(), target, newContext("audio"));
    const ask = () => callOf("transcribe", transcriptionOf({ translateTo: "en" }), target, newContext("translations"));
    const error = assertThrows(ask, GatewayError);
    assertEquals([error.code, error.details.param], ["invalid_request", "model"]);
    assertStringIncludes(error.message, name);
  });
}

Deno.test("audio: every endpoint has its path, and translations one outside the lanes", () => {
  const paths = [
    "/oss/v1/audio/speech",
    "/oss/v1/audio/transcriptions",
    "/oss/v1/audio/translations",
    "/v1/audio/translations",
  ];
  const names = paths.map((pathname) =>
    audioProtocols.filter(({ pattern }) => pattern.test({ pathname })).map(({ name }) => name)
  );
  assertEquals(names, [["speech"], ["transcriptions"], ["translations"], ["translations-any-lane"]]);
});
