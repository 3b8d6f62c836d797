/** Embeddings of one text, or of several at once. */
import type { EmbedRequest, EmbedResponse, Vector } from "../../src/canonical/embed.ts";
import { extraField } from "../../src/canonical/extra.ts";
import { present } from "../../src/canonical/json.ts";
import type { Exchange, WireRequest } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { sliced } from "../../src/util/sliced_work.ts";
import { EMBED_KEYS, embedSchema, PROMPT_KEYS, promptSchema, WIRE } from "./wire.ts";

export function parseEmbed({ body }: WireRequest): EmbedRequest {
  const { model, input, dimensions, ...rest } = validate(embedSchema, body);
  return {
    model,
    input: typeof input === "string" ? [input] : input,
    encoding: "float",
    ...present("dimensions", dimensions),
    ...extraField(WIRE, asked(rest), EMBED_KEYS),
  };
}

export function parsePrompt({ body }: WireRequest): EmbedRequest {
  const { model, prompt, ...rest } = validate(promptSchema, body);
  return { model, input: [prompt], encoding: "float", ...extraField(WIRE, asked(rest), PROMPT_KEYS) };
}

/** The gateway shortens no input, so a request not to do so asks for nothing. */
function asked<T extends { truncate?: unknown }>({ truncate, ...rest }: T): object {
  return truncate === true ? { ...rest, truncate } : rest;
}

/** From this many numbers on, each vector is written when the client reads it. Fewer are written at once. */
const LONG = 50_000;

export function serializeEmbed({ vectors, usage }: EmbedResponse, { input, elapsedMs }: Exchange<"embed">): Response {
  const total_duration = Math.max(1, Math.round(elapsedMs() * 1e6));
  const counts = { total_duration, load_duration: 1, prompt_eval_count: usage.inputTokens };
  const pieces = piecesOf(input.model, vectors, JSON.stringify(counts).slice(1));
  const isLong = vectors.length * (vectors[0]?.length ?? 0) >= LONG;
  const body = isLong ? ReadableStream.from(sliced(pieces)).pipeThrough(new TextEncoderStream()) : [...pieces].join("");
  return new Response(body, { headers: { "content-type": "application/json" } });
}

/** `end`: the JSON of the fields after the vectors. */
function* piecesOf(model: string, vectors: readonly Vector[], end: string): Generator<string> {
  yield `{"model":${JSON.stringify(model)},"embeddings":[`;
  for (const [index, vector] of vectors.entries()) yield (index > 0 ? "," : "") + JSON.stringify([...vector]);
  yield `],${end}`;
}

export function serializeEmbedding({ vectors: [vector = []] }: EmbedResponse): Response {
  return Response.json({ embedding: [...vector] });
}
