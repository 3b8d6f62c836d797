import { asObject, asObjects } from "../../../src/canonical/json.ts";
import type { ProbeCall, ProbeFinding } from "../../../src/contract/probing.ts";

/** Whether the scores of a server are those that clients expect, from 0 to 1. */
export async function rerankScores(ask: ProbeCall, model: string): Promise<ProbeFinding> {
  const documents = ["Paris is the capital of France.", "Bread is baked from flour."];
  const { body } = await ask("rerank", { model, query: "What is the capital of France?", documents });
  const results = asObjects(asObject(body).results);
  const scores = results.map(({ relevance_score }) => Number(relevance_score));
  if (scores.length === 0 || scores.some(Number.isNaN)) return { property: "scores", value: "none came" };
  if (scores.every((score) => score >= 0 && score <= 1)) return { property: "scores", value: "from 0 to 1" };
  const because = "it gives raw logits";
  return { property: "scores", value: "raw logits", settings: { scores: { value: "sigmoid", because } } };
}
