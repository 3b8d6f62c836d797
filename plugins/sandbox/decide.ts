import type { DecidePart, DecideRequest, DecideResponse, Decision, Question } from "../../src/canonical/decide.ts";
import { estimateTextTokens } from "../../src/canonical/estimate.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import { toJsonText } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { runsOf } from "./terms.ts";

/** The sandbox's decisions: an answer is the more likely the more of its words are in the text. */
export function decide(
  { turns, questions, extra }: DecideRequest,
  { model }: Pick<Target, "model">,
  { note }: Pick<Context, "note">,
): DecideResponse {
  fieldsFor("sandbox", extra, note);
  const state = turns.map((turn) => turn.type === "call" ? turn.input : textOf(turn.content)).join("\n");
  const known = new Set(wordsIn(state));
  const answers = questions.map((question): Decision => {
    fieldsFor("sandbox", question.extra, note);
    const weights = answersTo(question).map((text) => {
      const words = wordsIn(text);
      return 1 + words.filter((word) => known.has(word)).length * 4 / Math.max(1, words.length);
    });
    const sum = weights.reduce((all, one) => all + one, 0);
    return { type: "decided", probabilities: weights.map((weight) => weight / sum) };
  });
  const read = questions.reduce(
    (sum, question) => sum + estimateTextTokens([textOf(question.instructions), ...answersTo(question)].join("\n")),
    estimateTextTokens(state),
  );
  // Not marked as estimated, because this is the sandbox's own count.
  return { model, answers, usage: { inputTokens: Math.ceil(read), outputTokens: questions.length } };
}

/** The words for each possible answer. */
function answersTo(question: Question): string[] {
  switch (question.type) {
    case "predicate":
      return [question.criteria?.yes ?? textOf(question.instructions), question.criteria?.no ?? ""];
    case "choice":
      return question.options.map(({ value, description = "" }) => `${value} ${description}`);
    case "score":
      return question.levels.map(({ label, description = "" }) => `${label} ${description}`);
    default:
      return question satisfies never;
  }
}

function textOf(parts: readonly DecidePart[]): string {
  return parts.flatMap((part) => part.type === "text" ? part.text : part.type === "json" ? toJsonText(part.value) : [])
    .join("\n");
}

function wordsIn(text: string): string[] {
  return runsOf(text).flatMap(({ terms }) => terms);
}
