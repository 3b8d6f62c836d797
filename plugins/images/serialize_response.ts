import {
  type DrawingFacts,
  type DrawRequest,
  type DrawResponse,
  type DrawUsage,
  type Picture,
  sizeText,
} from "../../src/canonical/draw.ts";
import { type JsonObject, present } from "../../src/canonical/json.ts";
import type { Exchange } from "../../src/contract/context.ts";
import { sliced } from "../../src/util/sliced_work.ts";

/** The list of pictures. Each is written when the client reads it, because it has megabytes. */
export function serializeResponse(output: DrawResponse, { created, input }: Exchange<"draw">): Response {
  const body = ReadableStream.from(sliced(piecesOf(output, created, input))).pipeThrough(new TextEncoderStream());
  return new Response(body, { headers: { "content-type": "application/json" } });
}

function* piecesOf(output: DrawResponse, created: number, input: DrawRequest): Generator<string> {
  yield `{"created":${created},"data":[`;
  for (const [index, picture] of output.pictures.entries()) {
    yield (index > 0 ? "," : "") + JSON.stringify(entryOf(picture));
  }
  const facts = { ...factsOf(output.pictures[0], output, input), usage: serializeUsage(output.usage) };
  yield `],${JSON.stringify(facts).slice(1)}`;
}

function entryOf({ base64, url, revisedPrompt }: Picture): JsonObject {
  return {
    ...(base64 === undefined ? { url: url! } : { b64_json: base64 }),
    ...present("revised_prompt", revisedPrompt),
  };
}

/** How a picture was drawn: what it shows of itself, else what the upstream says, else what was requested. */
export function factsOf(
  picture: Picture | undefined,
  { quality, background }: DrawingFacts,
  input: DrawRequest,
): JsonObject {
  const size = picture?.size ?? input.size;
  return {
    background: background ?? "auto",
    output_format: picture?.format ?? input.format ?? "png",
    quality: quality ?? "auto",
    size: size ? sizeText(size) : "auto",
  };
}

export function serializeUsage(
  { inputTokens = 0, outputTokens = 0, inputImageTokens = 0 }: DrawUsage,
): JsonObject {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { image_tokens: inputImageTokens, text_tokens: Math.max(0, inputTokens - inputImageTokens) },
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}
