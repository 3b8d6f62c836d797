/** The hub's own inference engine, behind the router at `/hf-inference`. */
import { type HubAsked, jsonOf } from "./asked.ts";
import { drawAtEngine } from "./pictures.ts";
import type { Repository } from "./repositories.ts";
import { hear, piecesOf, SOUNDS } from "./sounds.ts";
import { countTokens, embed, embedWords, relevance } from "./texts.ts";

/** The most texts that one call may hold. */
const MOST_INPUTS = 32;

/** `runs` tells whether the engine has a model, by its name on the hub. */
export function answerEngine(
  asked: HubAsked,
  repositories: readonly Repository[],
  runs: (provider: string, model: string) => boolean,
): Response {
  const [, id, pipeline] = /^\/hf-inference\/models\/(.+?)(?:\/pipeline\/([a-z-]+))?$/.exec(asked.url.pathname) ?? [];
  const repository = repositories.find((one) => one.id === id);
  if (asked.method !== "POST" || !id || !repository) return fail(404, `Model ${id ?? ""} does not exist`);
  if (!runs("hf-inference", id)) return fail(400, "Model not supported by provider hf-inference");
  if (id === "fake/loading") return fail(503, `Model ${id} is currently loading`, { estimated_time: 20 });
  switch (pipeline ?? repository.pipeline_tag) {
    case "feature-extraction":
      return extractFeatures(id, asked);
    case "sentence-similarity":
      return compare(asked);
    case "text-ranking":
      return rankTexts(asked);
    case "text-classification":
      return classifyPairs(asked);
    case "text-to-speech":
    case "text-to-audio":
      return speak(repository, asked);
    case "automatic-speech-recognition":
      return transcribe(asked);
    case "text-to-image":
    case "image-to-image":
      return drawAtEngine(repository.pipeline_tag!, asked);
    default:
      return fail(400, `Model ${id} does not support the task ${pipeline}`);
  }
}

function fail(status: number, error: string, more: object = {}): Response {
  return Response.json({ error, ...more }, { status });
}

/**
 * Answers with vectors in one of their shapes: one for each text, the rows of each text before pooling, or a single
 * vector.
 */
function extractFeatures(id: string, asked: HubAsked): Response {
  const { inputs, dimensions } = jsonOf(asked);
  const texts = [inputs].flat();
  if (!texts.every((text) => typeof text === "string")) {
    return fail(422, "inputs: expected text", { error_type: "Validation" });
  }
  if (texts.length === 0 || texts.includes("")) return fail(400, "`inputs` cannot be empty", { error_type: "Empty" });
  if (texts.length > MOST_INPUTS) {
    const error = `batch size ${texts.length} > maximum allowed batch size ${MOST_INPUTS}`;
    return fail(422, error, { error_type: "Validation" });
  }
  const rows = texts.map((text) => embedWords(text));
  switch (id) {
    case "fake/one-dimension":
      return Response.json(texts.length === 1 ? embed(texts[0]!) : texts.map((text) => embed(text)));
    case "fake/token-matrix":
      return Response.json(texts.length === 1 ? rows[0] : rows);
    case "fake/leading-axis":
      return Response.json(rows.map((matrix) => [matrix]));
    case "fake/uneven-widths":
      return Response.json(texts.map((text, index) => embed(text, 64 - index)));
  }
  const width = typeof dimensions === "number" ? dimensions : undefined;
  const tokens = texts.reduce((sum, text) => sum + countTokens(text), 0);
  const headers = { "x-compute-tokens": String(tokens), "x-compute-type": "cpu", "x-inference-time": "7" };
  return Response.json(texts.map((text) => embed(text, width)), { headers });
}

function compare(asked: HubAsked): Response {
  const { inputs } = jsonOf(asked) as { inputs: { source_sentence: string; sentences: string[] } };
  const source = embed(inputs.source_sentence);
  return Response.json(
    inputs.sentences.map((text) => embed(text).reduce((sum, value, column) => sum + value * source[column]!, 0)),
  );
}

function rankTexts(asked: HubAsked): Response {
  const { query, texts } = (jsonOf(asked).inputs ?? {}) as { query?: string; texts?: string[] };
  if (typeof query !== "string" || !Array.isArray(texts)) {
    return fail(422, "inputs: expected `query` and `texts`", { error_type: "Validation" });
  }
  const scores = texts.map((text, index) => ({ index, score: relevance(query, text) }));
  return Response.json(scores.sort((a, b) => b.score - a.score || a.index - b.index));
}

/** A reranker as a classifier: for each pair the score of the one label that it has. */
function classifyPairs(asked: HubAsked): Response {
  const pairs = [jsonOf(asked).inputs].flat() as { text: string; text_pair: string }[];
  if (!pairs.every((pair) => typeof pair?.text === "string")) return fail(422, "inputs: expected pairs of texts");
  return Response.json(pairs.map((pair) => [{ label: "LABEL_0", score: relevance(pair.text, pair.text_pair ?? "") }]));
}

function speak({ pipeline_tag }: Repository, asked: HubAsked): Response {
  const { inputs } = jsonOf(asked);
  if (typeof inputs !== "string" || inputs === "") return fail(400, "`inputs` must be a text");
  const { mediaType, speak } = SOUNDS[pipeline_tag === "text-to-audio" ? "wav" : "flac"]!;
  return new Response(speak(inputs), { headers: { "content-type": mediaType } });
}

/** Takes the bytes as they are, or as base64 with parameters beside it. */
function transcribe(asked: HubAsked): Response {
  const type = asked.headers.get("content-type") ?? "";
  if (type.startsWith("audio/")) return Response.json({ text: hear(asked.bytes) });
  if (!type.startsWith("application/json")) {
    return fail(400, `Content type "${type}" not supported. Supported content types are: application/json, audio/*`);
  }
  const { inputs, parameters = {} } = jsonOf(asked) as { inputs: unknown; parameters?: Record<string, unknown> };
  if (typeof inputs !== "string") return fail(400, "`inputs` must be base64");
  const text = hear(Uint8Array.fromBase64(inputs));
  if (!parameters.return_timestamps) return Response.json({ text });
  const pieces = piecesOf(text, parameters.return_timestamps === "word" ? "word" : "sentence");
  const chunks = pieces.map((piece) => ({ text: ` ${piece.text}`, timestamp: [piece.start, piece.end] }));
  return Response.json({ text, chunks });
}
