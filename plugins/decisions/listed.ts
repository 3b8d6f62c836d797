/** SGLang's wire: questions are a list, answers are by their ids. */
import { z } from "zod";
import type { DecidedAnswer, DecideRequest, DecideResponse, Decision, Question } from "../../src/canonical/decide.ts";
import { extraField, fieldsFor } from "../../src/canonical/extra.ts";
import {
  asObject,
  asObjects,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  present,
} from "../../src/canonical/json.ts";
import type { Usage } from "../../src/canonical/usage.ts";
import type { Exchange } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { sourceOf } from "../shared/foreign.ts";
import { json, name } from "../shared/shapes.ts";
import { badAnswer, checkProbabilities, chosenOf, keysOf, optionsOf, scoreOf, shareIn } from "./answers.ts";
import { answersByKey, serializeByKey, stateValue } from "./by_key.ts";
import { checkUnique } from "./parse_request.ts";
import { chosenIn, parseUsage } from "./parse_response.ts";
import { refuse } from "./refuse.ts";
import { wordsOf } from "./state.ts";
import type { Place } from "./place.ts";
import { MOST_QUESTIONS } from "./wire.ts";

export const WIRE = "listed decisions";

/** One label for each letter. */
const MOST_OPTIONS = 26;

const asked = { id: name, question: z.string() };
const description = z.string().nullish();
const question = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("choice"),
    ...asked,
    options: z.array(z.looseObject({ name: z.string(), description })).min(1).max(MOST_OPTIONS),
  }),
  z.looseObject({ type: z.literal("score"), ...asked, levels: z.array(z.string()).min(2).max(10) }),
  z.looseObject({ type: z.literal("yes_no"), ...asked, yes: description, no: description }),
]);
type WireQuestion = z.output<typeof question>;

const requestFields = {
  model: name,
  input: z.union([z.string(), json, z.array(z.unknown())]),
  images: z.array(z.string().min(1)).nullish(),
  questions: z.array(question).min(1).max(MOST_QUESTIONS),
};
export const listedSchema = z.looseObject(requestFields);
const REQUEST_KEYS: ReadonlySet<string> = new Set(Object.keys(requestFields));

/** Whether the body of a request for decisions is in this shape. */
export function isListed(body: unknown): boolean {
  return asObjects(asObject(body).questions).some((one) => "question" in one || "id" in one || one.type === "yes_no");
}

export function parseListed(received: unknown): DecideRequest {
  const body = validate(listedSchema, received);
  const { model, input, images, questions } = body;
  checkUnique(questions.map(({ id }) => id), "questions");
  const about = typeof input === "string"
    ? { type: "text" as const, text: input }
    : { type: "json" as const, value: input as JsonValue };
  const files = images?.map((url) => ({ type: "file" as const, ...sourceOf(url, "image/*") })) ?? [];
  return {
    model,
    turns: [{ type: "message", role: "user", content: [about, ...files] }],
    questions: questions.map(parseQuestion),
    ...extraField(WIRE, body, REQUEST_KEYS),
  };
}

function parseQuestion(one: WireQuestion, index: number): Question {
  const known = ["type", "id", "question", "options", "levels", "yes", "no"];
  const common = {
    name: one.id,
    instructions: one.question === "" ? [] : [{ type: "text" as const, text: one.question }],
    ...extraField(WIRE, one, known),
  };
  switch (one.type) {
    case "yes_no": {
      const criteria = { ...present("yes", one.yes), ...present("no", one.no) };
      return { type: "predicate", ...common, ...(Object.keys(criteria).length > 0 && { criteria }) };
    }
    case "choice":
      checkUnique(one.options.map((option) => option.name), `questions[${index}].options`);
      return {
        type: "choice",
        ...common,
        options: one.options.map((option) => ({ value: option.name, ...present("description", option.description) })),
      };
    default:
      return { type: "score", ...common, levels: one.levels.map((label) => ({ label })) };
  }
}

export function serializeListed(output: DecideResponse, exchange: Exchange<"decide">): JsonObject {
  const { inputTokens, outputTokens } = output.usage as Usage;
  return {
    object: "decisions",
    model: exchange.input.model,
    prompt_format_version: 1,
    answers: serializeByKey(output, exchange, serializeAnswer),
    usage: { prompt_tokens: inputTokens, total_tokens: inputTokens + outputTokens },
    ...fieldsFor(WIRE, output.extra),
  };
}

function serializeAnswer(answer: DecidedAnswer, question: Question): JsonObject {
  const { probabilities, labelMass } = answer;
  const options = optionsOf(question).map(({ text }) => text);
  const keys = question.type === "score" ? options.map((_, level) => String(level)) : options;
  return {
    type: question.type === "predicate" ? "yes_no" : question.type,
    probabilities: Object.fromEntries(keys.map((key, at) => [key, probabilities[at]!])),
    ...(labelMass !== undefined && { label_mass: labelMass }),
    ...(question.type === "choice" && { choice: options[chosenOf(answer)]! }),
    ...(question.type === "score" && { score: scoreOf(answer) }),
    ...fieldsFor(WIRE, answer.extra),
  };
}

/** The body for an upstream. */
export function serializeListedRequest(input: DecideRequest, { target, context: { note } }: Place): JsonObject {
  const keys = keysOf(input);
  return {
    model: target.model,
    ...stateValue(input, "input", note),
    questions: input.questions.map((question, index) => ({
      id: keys[index]!,
      ...serializeQuestion(question),
      ...fieldsFor(WIRE, question.extra, note),
    })),
    ...fieldsFor(WIRE, input.extra, note),
  };
}

function serializeQuestion(question: Question): JsonObject {
  const words = wordsOf(question, true) || "Which answer is right?";
  switch (question.type) {
    case "predicate":
      return {
        type: "yes_no",
        question: words,
        ...present("yes", question.criteria?.yes),
        ...present("no", question.criteria?.no),
      };
    case "choice":
      if (question.options.length > MOST_OPTIONS) {
        throw refuse("questions", `The upstream takes at most ${MOST_OPTIONS} options`);
      }
      return {
        type: "choice",
        question: words,
        options: optionsOf(question).map(({ text, description }) => ({
          name: text,
          ...present("description", description),
        })),
      };
    case "score":
      if (question.levels.length < 2 || question.levels.length > 10) {
        throw refuse("questions", "The upstream takes 2 to 10 levels");
      }
      return {
        type: "score",
        question: words,
        levels: question.levels.map(({ label, description }) =>
          description === undefined ? label : `${label}: ${description}`
        ),
      };
    default:
      return question satisfies never;
  }
}

const ANSWER_KEYS = ["type", "probabilities", "label_mass", "choice", "score"];

/** An upstream's answer. */
export function parseListedResponse(received: unknown, input: DecideRequest): DecideResponse {
  const { answers, body } = answersByKey(received, input);
  return {
    model: input.model,
    answers: answers.map((answer, index): Decision =>
      answer ? parseAnswer(answer, input.questions[index]!, String(index + 1)) : { type: "refusal" }
    ),
    usage: parseUsage(asObject(body.usage)),
    ...extraField(WIRE, body, ["object", "model", "prompt_format_version", "answers", "usage"]),
  };
}

function parseAnswer(answer: JsonObject, question: Question, which: string): DecidedAnswer {
  if (answer.type !== (question.type === "predicate" ? "yes_no" : question.type)) {
    throw badAnswer(which, `is no ${question.type}`);
  }
  const reported = isJsonObject(answer.probabilities) ? answer.probabilities : {};
  const options = optionsOf(question);
  if (Object.keys(reported).length !== options.length) throw badAnswer(which, "has other possible answers");
  // Levels are reported by their numbers, or as they were sent.
  const values = options.map(({ text, description }, level) => {
    const names = question.type === "score"
      ? [String(level), description === undefined ? text : `${text}: ${description}`]
      : [text];
    const found = names.find((one) => Object.hasOwn(reported, one));
    return found === undefined ? undefined : reported[found];
  });
  const labelMass = shareIn(answer.label_mass);
  return {
    type: "decided",
    probabilities: checkProbabilities(values, options.length, which),
    ...(labelMass !== undefined && { labelMass }),
    ...(question.type === "choice" && answer.choice !== undefined &&
      { chosen: chosenIn(options.map(({ text }) => text), answer.choice, which) }),
    ...extraField(WIRE, answer, ANSWER_KEYS),
  };
}
