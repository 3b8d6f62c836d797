/** The questions of the command `probe`. */
import type { Call, SecretHeader } from "../../../src/contract/call.ts";
import { asObject, asObjects } from "../../../src/canonical/json.ts";
import type { ProbeCall, ProbeFinding } from "../../../src/contract/probing.ts";

export { chatQuestions } from "./chat.ts";
export { serverKinds } from "./kinds.ts";
export { hubToken, likelyTask, usualAddresses } from "./places.ts";
export { findWires, type FoundWire } from "./wires.ts";

/** Servers of the messages wire require this version. */
export const listing: Call & { path: string } = { path: "models", headers: { "anthropic-version": "2023-06-01" } };

/** The places for the secret, in the order in which they are tried. */
export const secretPlaces: readonly SecretHeader[] = [
  { header: "authorization", scheme: "Bearer" },
  { header: "x-api-key" },
  { header: "api-key" },
];

/** Whether the server's scores are from 0 to 1, as clients expect. */
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
