import {
  checkVectors,
  depthOf,
  type EmbedRequest,
  type EmbedResponse,
  poolTokens,
  usageOfInputs,
  type Vector,
} from "../../src/canonical/embed.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Reply } from "../../src/contract/call.ts";
import type { Target } from "../../src/contract/driver.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import { inputsOf } from "./serialize_request.ts";
import { answerSchema, type Entry } from "./wire.ts";

/** The vectors of all batches. An upstream may spell them in either encoding, whichever it was asked for. */
export function parseResponse(
  replies: readonly Reply[],
  input: EmbedRequest,
  target: Target,
  context: Context,
): EmbedResponse {
  const answers = replies.map(({ body }) => parseAnswer(body));
  const vectors = inputsOf(input, target).flatMap((batch, index) => inOrder(answers[index]!.data, batch.length));
  const counts = answers.map(({ usage }) => usage?.prompt_tokens || usage?.total_tokens);
  return { vectors: checkVectors(vectors, input), usage: usageOfInputs(counts, input.input, context.note) };
}

function parseAnswer(body: unknown) {
  if (saysError(body)) throw upstreamStreamError(body);
  const answer = accept(answerSchema, body);
  if (!answer) throw new GatewayError("upstream_error", "The upstream's answer is not a list of embeddings");
  return answer;
}

/** The vectors by their `index`, because servers that work side by side answer in any order. */
function inOrder(data: readonly Entry[], count: number): Vector[] {
  if (data.length !== count) {
    throw new GatewayError("upstream_error", `The upstream returned ${data.length} vectors for ${count} inputs`);
  }
  const vectors = new Array<Vector | undefined>(count).fill(undefined);
  for (const [position, { index, embedding }] of data.entries()) {
    const place = index ?? position;
    if (place < 0 || place >= count || vectors[place]) {
      const message = `The upstream returned index ${place} of ${count}, which is out of range or was returned before`;
      throw new GatewayError("upstream_error", message);
    }
    vectors[place] = parseVector(embedding, place);
  }
  // The count matches the inputs and no index repeats, so every input has a vector.
  return vectors as Vector[];
}

/** `checkVectors` looks at the numbers. */
function parseVector(embedding: unknown, place: number): Vector {
  // llama-cpp-python gives the vectors of the tokens where its model has no pooling.
  if (Array.isArray(embedding)) return depthOf(embedding) === 1 ? embedding : poolTokens(embedding, true);
  const floats = typeof embedding === "string" ? decode(embedding) : undefined;
  if (!floats) {
    throw new GatewayError("upstream_error", `The upstream's vector ${place} is neither a list of numbers nor base64`);
  }
  return floats;
}

/** Little-endian 32-bit floats, as every machine that Deno runs on has them in memory. */
function decode(base64: string): Float32Array | undefined {
  try {
    return new Float32Array(Uint8Array.fromBase64(base64).buffer);
  } catch {
    return undefined;
  }
}
