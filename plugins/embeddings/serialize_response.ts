import type { EmbedResponse, Vector } from "../../src/canonical/embed.ts";
import type { Exchange } from "../../src/contract/context.ts";

/** The list of vectors, spelt as the client wants them, under the model name that it knows. */
export function serializeResponse({ vectors, usage }: EmbedResponse, { input }: Exchange<"embed">) {
  const spell = input.encoding === "base64" ? toBase64 : toNumbers;
  return {
    object: "list",
    data: vectors.map((vector, index) => ({ object: "embedding", index, embedding: spell(vector) })),
    model: input.model,
    usage: { prompt_tokens: usage.inputTokens, total_tokens: usage.inputTokens },
  };
}

/** 32-bit floats, little-endian, as every machine that Deno runs on has them in memory. */
function toBase64(vector: Vector): string {
  const { buffer, byteOffset, byteLength } = vector instanceof Float32Array ? vector : new Float32Array(vector);
  return new Uint8Array(buffer, byteOffset, byteLength).toBase64();
}

/** By a plain loop: `Array.from` takes ten times as long. */
function toNumbers(vector: Vector): readonly number[] {
  if (!(vector instanceof Float32Array)) return vector;
  const numbers = new Array<number>(vector.length);
  for (let at = 0; at < vector.length; at++) numbers[at] = vector[at]!;
  return numbers;
}
