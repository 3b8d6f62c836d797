/** The hub's own inference engine (hf-inference), which runs the models of the hub's libraries, each at a path of its own. */
import { isJsonObject } from "../../src/canonical/json.ts";
import type { Reply } from "../../src/contract/call.ts";
import type { Driver } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { featureExtraction } from "./feature_extraction.ts";
import { hubSpeech } from "./speech.ts";
import { teiDriver } from "./tei.ts";
import { textRanking } from "./text_ranking.ts";
import { hubTranscription } from "./transcription.ts";

/** Text Embeddings Inference is the server behind most models for vectors, hence its errors. */
function parseError(reply: Reply): GatewayError {
  const error = teiDriver.parseError(reply);
  const { code, message, details } = error;
  if (code === "invalid_request" && /content type .+ not supported/i.test(message)) {
    return new GatewayError("unsupported_media_type", message, details);
  }
  // A model that nobody used for a while is loaded first; the answer says for how many seconds.
  const { estimated_time } = isJsonObject(reply.body) ? reply.body : {};
  if (code !== "unavailable" || typeof estimated_time !== "number") return error;
  const retryAfter = details.retryAfter ?? String(Math.ceil(estimated_time));
  return new GatewayError(code, message, { ...details, retryAfter });
}

export const inferenceDriver: Driver = {
  name: "hub",
  wire: "hub",
  operations: { embed: featureExtraction, rerank: textRanking, speak: hubSpeech, transcribe: hubTranscription },
  parseError,
};
