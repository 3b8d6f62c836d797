import type { EmbedResponse, Vector } from "../../src/canonical/embed.ts";
import { sliced } from "../../src/util/sliced_work.ts";
import type { Exchange } from "../../src/contract/context.ts";

/** The list of vectors, spelt as the client wants them, under the model name that it knows. */
export function serializeResponse(output: EmbedResponse, exchange: Exchange<"embed">): Response {
  const { length: count, 0: first = [] } = output.vectors;
  const pieces = piecesOf(output, exchange);
  if (count * first.length < LONG) return asJson([...pieces].join(""));
  return asJson(ReadableStream.from(sliced(pieces)).pipeThrough(new TextEncoderStream()));
}

/** Fewer numbers are written at once. From this many on, each vector is written when the client reads it. */
const LONG = 50_000;

function asJson(body: BodyInit): Response {
  return new Response(body, { headers: { "content-type": "application/json" } });
}

/** The text of the answer, a vector at a time. */
function* piecesOf({ vectors, usage }: EmbedResponse, { input }: Exchange<"embed">): Generator<string> {
  const spell = input.encoding === "base64" ? toBase64 : toNumbers;
  yield '{"object":"list","data":[';
  for (const [index, vector] of vectors.entries()) {
    yield (index > 0 ? "," : "") + JSON.stringify({ object: "embedding", index, embedding: spell(vector) });
  }
  const { inputTokens } = usage;
  const counts = { prompt_tokens: inputTokens, total_tokens: inputTokens };
  yield `],"model":${JSON.stringify(input.model)},"usage":${JSON.stringify(counts)}}`;
}

/** 32-bit floats, little-endian, as every machine that Deno runs on has them in memory. */
function toBase64(vector: Vector): string {
  const { buffer, byteOffset, byteLength } = vector instanceof Float32Array ? vector : new Float32Array(vector);
  return new Uint8Array(buffer, byteOffset, byteLength).toBase64();
}

/** Uses a plain loop because `Array.from` takes ten times as long. */
function toNumbers(vector: Vector): readonly number[] {
  if (!(vector instanceof Float32Array)) return vector;
  const numbers = new Array<number>(vector.length);
  for (let at = 0; at < vector.length; at++) numbers[at] = vector[at]!;
  return numbers;
}
