/** Reads the probabilities of labels from those of the first token of an answer. */
import type { Decision, Question } from "../../src/canonical/decide.ts";
import { asList, asObject, isJsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { Target } from "../../src/contract/driver.ts";
import { labelsOf } from "./over_chat.ts";

/** How many alternatives of a token are asked for. Most servers report so many, and the others at least five. */
export function alternativesAt({ refusesManyLogprobs }: Pick<Target, "refusesManyLogprobs">): number {
  return refusesManyLogprobs ? 5 : 20;
}

/** Below this share, labels of two letters are taken to be more than one token. */
const LEAST_MASS = 0.5;

/** A server may report slightly more than 1. */
const ROUNDING = 0.01;

/** The answer that the first token of a chat answer shows. */
export function readDecision(body: unknown, question: Question): Decision {
  const logprobs = firstAlternatives(body);
  if (!logprobs) return { type: "open", lacks: "logprobs" };
  const labels = labelsOf(question);
  const masses = new Map(labels.map((label) => [label, 0]));
  for (const [token, logprob] of logprobs) {
    const label = labelIn(token, question);
    const mass = masses.get(label);
    if (mass !== undefined) masses.set(label, mass + Math.exp(Math.min(0, logprob)));
  }
  const shares = labels.map((label) => masses.get(label)!);
  const sum = shares.reduce((all, one) => all + one, 0);
  const labelMass = Math.min(1, sum);
  // Labels that are not among the likeliest tokens cannot be compared.
  if (sum === 0 || (labels[0]!.length === 2 && labelMass < LEAST_MASS)) return { type: "open", lacks: "label" };
  return { type: "decided", probabilities: shares.map((share) => share / sum), labelMass };
}

/** The label that a token is. Its case matters only for letters, of which small ones may begin words. */
function labelIn(token: string, { type }: Question): string {
  const trimmed = token.replace(/^[\s\u0120\u2581]+|\s+$/g, "");
  return type === "predicate" ? trimmed.toLowerCase() : trimmed;
}

/** Each of the first token's alternatives once, with its log probability. `undefined` if none are reported. */
function firstAlternatives(body: unknown): Map<string, number> | undefined {
  const { logprobs } = asObject(asList(asObject(body).choices)[0]);
  if (!isJsonObject(logprobs)) return undefined;
  const { content, tokens, token_logprobs: values, top_logprobs: tops } = logprobs;
  const found = new Map<string, number>();
  const add = (token: unknown, logprob: JsonValue | undefined) => {
    const isReported = typeof token === "string" && typeof logprob === "number" && logprob <= ROUNDING;
    if (isReported && !found.has(token)) found.set(token, logprob);
  };
  const first = asObject(asList(content)[0]);
  for (const one of asList(first.top_logprobs)) add(asObject(one).token, asObject(one).logprob);
  add(first.token, first.logprob);
  // The form of completions, which some servers have here, too.
  for (const [token, logprob] of Object.entries(asObject(asList(tops)[0]))) add(token, logprob);
  add(asList(tokens)[0], asList(values)[0]);
  // A single token without alternatives is no distribution.
  return found.size > 1 ? found : undefined;
}
