/** Figures of answers that several wires share. */
import type { Choice, DecidedAnswer, DecideRequest, Decision, Question } from "../../src/canonical/decide.ts";
import { GatewayError } from "../../src/errors.ts";

/** One possible answer, for wires that name it in one text. */
export interface Option {
  text: string;
  description?: string;
}

/** The possible answers of a question, in the order of its probabilities. */
export function optionsOf(question: Question): Option[] {
  switch (question.type) {
    case "predicate":
      return [
        { text: "yes", description: question.criteria?.yes },
        { text: "no", description: question.criteria?.no },
      ];
    case "choice":
      return valueNames(question).map((text, index) => ({ text, description: question.options[index]!.description }));
    case "score":
      return question.levels.map(({ label, description }) => ({ text: label, description }));
    default:
      return question satisfies never;
  }
}

/** The values of a choice as texts. A boolean that would be the same as another value says that it is one. */
export function valueNames({ options }: Choice): string[] {
  const texts = new Set(options.flatMap(({ value }) => typeof value === "string" ? value : []));
  return options.map(({ value }) => {
    if (typeof value === "string") return value;
    let name = String(value);
    while (texts.has(name)) name += " (boolean)";
    return name;
  });
}

/** A name of its own for each question: the client's where no two are the same. */
export function keysOf({ questions }: Pick<DecideRequest, "questions">): string[] {
  const taken = new Set<string>();
  const named = questions.map(({ name }) => {
    if (!name || taken.has(name)) return undefined;
    taken.add(name);
    return name;
  });
  return named.map((name, index) => {
    if (name !== undefined) return name;
    let key = `q${index + 1}`;
    while (taken.has(key)) key += "_";
    taken.add(key);
    return key;
  });
}

/** How far the sum of reported probabilities may be from 1. Servers round each of them. */
const ROUNDING = 0.02;

/**
 * Reported probabilities with a sum of 1. Throws `upstream_error` if one is missing, negative or no number, or if their sum shows
 * that they are not all.
 */
export function checkProbabilities(reported: readonly unknown[], count: number, which: string): number[] {
  const isNumber = (value: unknown): value is number =>
    typeof value === "number" && value >= 0 && value <= 1 + ROUNDING;
  if (reported.length !== count || !reported.every(isNumber)) {
    throw badAnswer(which, "has no probability between 0 and 1 for each possible answer");
  }
  const sum = reported.reduce((all, one) => all + one, 0);
  // Every one of many may have been rounded.
  if (Math.abs(sum - 1) > Math.max(ROUNDING, count / 1_000)) {
    throw badAnswer(which, `has probabilities with a sum of ${sum.toFixed(3)}`);
  }
  return Math.abs(sum - 1) < 1e-9 ? [...reported] : reported.map((one) => one / sum);
}

/** A reported share between 0 and 1. Anything else counts as not reported. */
export function shareIn(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= 1 ? value : undefined;
}

export function badAnswer(which: string, what: string): GatewayError {
  return new GatewayError("upstream_error", `The upstream's answer to question ${which} ${what}`);
}

export function chosenOf({ chosen, probabilities }: DecidedAnswer): number {
  return chosen ?? probabilities.indexOf(Math.max(...probabilities));
}

/** The mean of the levels, each weighed by its probability. */
export function scoreOf({ probabilities }: DecidedAnswer): number {
  return probabilities.reduce((sum, probability, level) => sum + level * probability, 0);
}

/** 0 if all answers are as likely as the others, 1 if one is certain. */
export function certaintyOf({ confidence, probabilities }: DecidedAnswer): number {
  if (confidence !== undefined) return confidence;
  const count = probabilities.length;
  const most = Math.max(...probabilities);
  return count < 2 ? most : Math.max(0, (count * most - 1) / (count - 1));
}

export function confidenceOf({ confidence, probabilities }: DecidedAnswer): number {
  return confidence ?? Math.max(...probabilities);
}

/** An answer that a client can be sent. The inference leaves no other. */
export function settledOf(answer: Decision): Exclude<Decision, { type: "open" }> {
  if (answer.type !== "open") return answer;
  throw new GatewayError("upstream_error", "The upstream's answer shows none of the possible answers");
}
