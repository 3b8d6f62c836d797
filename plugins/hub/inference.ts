/** The hub's own inference engine (hf-inference), which runs the models of the hub's libraries, each at a path of its own. */
import { asObject } from "../../src/canonical/json.ts";
import type { Reply } from "../../src/contract/call.ts";
import type { Driver, UpstreamOperation } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { pathOf } from "./paths.ts";
import { hubSpeech } from "./speech.ts";
import { optionsOf, parseRanking, parseVectors, serializeInputs, teiDriver, textsOf } from "./tei.ts";
import { hubTranscription } from "./transcription.ts";

/** Vectors by the hub's own engine. It has no tokenizer's ids at its door: those are for another place of the model. */
export const featureExtraction: UpstreamOperation<"embed"> = {
  request(input, target, context) {
    const index = input.input.findIndex((one) => typeof one !== "string");
    if (index >= 0) {
      const message = `The hub's own engine embeds only texts, and input ${index} is a list of token ids`;
      throw new GatewayError("unsupported", message, { param: "input" });
    }
    const path = `models/${pathOf(target.model)}/pipeline/feature-extraction`;
    return serializeInputs(input, target, context).map((body) => ({ path, body }));
  },
  response: parseVectors,
};

/**
 * Rankings by the hub's own engine. The route serves models of the task `text-ranking` and the rerankers among those that are
 * tagged as classifiers. Its requests have no options.
 */
export const textRanking: UpstreamOperation<"rerank"> = {
  request(input, target, context) {
    optionsOf([], "rerank", input.extra, context);
    const path = `models/${pathOf(target.model)}/pipeline/text-ranking`;
    return textsOf(input, target).map((texts) => ({ path, body: { inputs: { query: input.query, texts } } }));
  },
  response: parseRanking,
};

/** Text Embeddings Inference is the server behind most models for vectors, hence its errors. */
function parseError(reply: Reply): GatewayError {
  const error = teiDriver.parseError(reply);
  const { code, message, details } = error;
  if (code === "invalid_request" && /content type .+ not supported/i.test(message)) {
    return new GatewayError("unsupported_media_type", message, details);
  }
  // A model that nobody used for a while is loaded first; the answer says for how many seconds.
  const { estimated_time } = asObject(reply.body);
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
