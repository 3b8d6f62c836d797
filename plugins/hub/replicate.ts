/** Replicate: every call is a prediction, which is awaited and then polled. Its output is often behind a URL. */
import { fieldsFor } from "../../src/canonical/extra.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { Call, Reply } from "../../src/contract/call.ts";
import type { Driver, UpstreamOperation } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { upstreamError, upstreamStreamError } from "../shared/errors.ts";
import { resolveVoice } from "../shared/voices.ts";
import { FILE, jsonWithFile } from "./json_with_file.ts";
import { encodeSegment, pathOf } from "./paths.ts";
import { parseTranscript, refuseSpeakers, wantedTimes } from "./segments.ts";
import { parseSpeech, soundCall } from "./sound.ts";

const speak: UpstreamOperation<"speak"> = {
  request(input, target, context) {
    const { text, speed, instructions, extra } = input;
    if (instructions !== undefined) context.note("dropped instructions");
    fieldsFor("replicate", extra, context.note);
    const [call, version] = predict(target.model);
    return {
      ...call,
      body: { input: { text, voice: resolveVoice(input.voice, target, context.note), speed }, version },
    };
  },
  next({ body }, _input, step) {
    return isPrediction(body) ? pollPrediction(body, step) ?? soundCall(body.output) : undefined;
  },
  cancel: ({ body }) => cancelPrediction(body),
  response: ([reply], input, _target, context) =>
    parseSpeech({ ...reply!, body: outputOf(reply!.body) }, input, context),
};

const transcribe: UpstreamOperation<"transcribe"> = {
  request(input, { model }, context) {
    refuseSpeakers(input, "replicate");
    fieldsFor("replicate", input.extra, context.note);
    const { language, prompt, temperature, translateTo, file } = input;
    const [call, version] = predict(model);
    const fields = {
      audio: `data:${file.mediaType};base64,${FILE}`,
      language,
      temperature,
      initial_prompt: prompt,
      // The two Whisper models have different names for this field. Both ignore unknown fields.
      ...(translateTo && { translate: true, task: "translate" }),
      ...(wantedTimes(input) === "word" && { timestamp: "word" }),
    };
    return { ...call, body: jsonWithFile({ input: fields, version }, file.bytes) };
  },
  next({ body }, _input, step) {
    return isPrediction(body) ? pollPrediction(body, step) ?? textCall(body.output) : undefined;
  },
  cancel: ({ body }) => cancelPrediction(body),
  response: ([reply], input) => parseTranscript(outputOf(reply!.body), input),
};

/** The call of a model's newest version goes to the model's path. Another version is named by its id. */
export function predict(model: string): [Call, version?: string] {
  const [name = "", version] = model.split(":");
  const headers = { prefer: "wait" };
  return version === undefined ? [{ path: `v1/models/${pathOf(name)}/predictions`, headers }] : [
    { path: "v1/predictions", headers },
    version,
  ];
}

/** Whether the body is a prediction, and not the file of its output. */
export function isPrediction(body: unknown): body is JsonObject {
  return isJsonObject(body) && ("status" in body || "output" in body);
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 5_000;

/** The call that polls the prediction. Absent if it is done. Throws if it failed. */
export function pollPrediction({ id, status, error }: JsonObject, step: number): Call | undefined {
  switch (status) {
    case "starting":
    case "processing":
      if (typeof id !== "string") throw new GatewayError("upstream_error", "The upstream's prediction has no id");
      return {
        path: `v1/predictions/${encodeSegment(id)}`,
        afterMs: Math.min(FIRST_WAIT_MS * 2 ** step, LONGEST_WAIT_MS),
      };
    case "failed":
    case "canceled":
    case "aborted":
      if (error) throw upstreamStreamError({ error });
      throw new GatewayError("upstream_error", `The upstream's prediction ended with status "${status}"`);
    default:
      return undefined;
  }
}

/** The call for a text that is only in a file. */
function textCall(output: unknown): Call | undefined {
  if (!isJsonObject(output) || typeof output.txt_file !== "string") return undefined;
  const { transcription, translation, text } = output;
  return [transcription, translation, text].some((one) => typeof one === "string")
    ? undefined
    : { url: output.txt_file };
}

/** Cancels a running prediction, because it is charged by the second. */
export function cancelPrediction(body: Reply["body"]): Call | undefined {
  if (!isPrediction(body) || typeof body.id !== "string") return undefined;
  const isAtWork = body.status === "starting" || body.status === "processing";
  return isAtWork ? { path: `v1/predictions/${encodeSegment(body.id)}/cancel`, method: "POST" } : undefined;
}

/** The output of the prediction, or the content of its URL. */
function outputOf(body: Reply["body"]): Reply["body"] {
  return isPrediction(body) ? body.output ?? null : body;
}

export const replicateDriver: Driver = {
  name: "replicate",
  wire: "replicate",
  operations: { speak, transcribe },
  parseError: upstreamError,
};
