/** The wire whose questions and answers have names: TypeSafe's System One, which others serve at the path of decisions. */
import { z } from "zod";
import type {
  DecidedAnswer,
  DecideRequest,
  DecideResponse,
  DecideTurn,
  Decision,
  Question,
} from "../../src/canonical/decide.ts";
import { extraField, fieldsFor } from "../../src/canonical/extra.ts";
import { asObject, isJsonObject, type JsonObject, type JsonValue, present } from "../../src/canonical/json.ts";
import type { Usage } from "../../src/canonical/usage.ts";
import type { Exchange } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { sourceOf } from "../shared/foreign.ts";
import { json, name } from "../shared/shapes.ts";
import {
  badAnswer,
  certaintyOf,
  checkProbabilities,
  chosenOf,
  keysOf,
  optionsOf,
  scoreOf,
  shareIn,
} from "./answers.ts";
import { answersByKey, serializeByKey, stateValue } from "./by_key.ts";
import { invalid } from "./parse_request.ts";
import { chosenIn, parseUsage } from "./parse_response.ts";
import { refuse } from "./refuse.ts";
import { textOf, wordsOf } from "./state.ts";
import type { Place } from "./place.ts";
import { MOST_OPTIONS, MOST_QUESTIONS } from "./wire.ts";

export const WIRE = "systemone";

const instructions = z.string().nullish();
const image = z.union([z.string().min(1), z.looseObject({ content_type: z.string(), base64: z.string() })]);
const question = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("noul"),
    instructions,
    criteria: z.looseObject({ true: z.string().nullish(), false: z.string().nullish() }).nullish(),
  }),
  z.looseObject({ type: z.literal("choice"), instructions, criteria: z.record(z.string(), z.string().nullable()) }),
  z.looseObject({ type: z.literal("score"), instructions, criteria: z.array(z.string()).min(1).max(10) }),
]);
type WireQuestion = z.output<typeof question>;

const requestFields = {
  model: name,
  state: z.union([z.string(), json, z.array(z.unknown())]),
  questions: z.record(z.string(), question),
  instructions: z.string().nullish(),
  images: z.array(image).nullish(),
};
export const systemOneSchema = z.looseObject(requestFields);
const REQUEST_KEYS: ReadonlySet<string> = new Set(Object.keys(requestFields));

/** Whether the body of a request for decisions is in this shape. */
export function isSystemOne(body: unknown): boolean {
  return isJsonObject(body) && ("state" in body || isJsonObject(body.questions));
}

export function parseSystemOne(received: unknown): DecideRequest {
  const body = validate(systemOneSchema, received);
  const { model, state, questions, instructions, images } = body;
  const entries = Object.entries(questions);
  if (entries.length === 0 || entries.length > MOST_QUESTIONS) {
    throw invalid("questions", `Expected 1 to ${MOST_QUESTIONS} questions, not ${entries.length}`);
  }
  const given = asObject(asObject(received).questions);
  checkNames(given, "questions");
  for (const key of Object.keys(given)) {
    checkNames(asObject(asObject(given[key]).criteria), `questions.${key}.criteria`);
  }
  const files = images?.map((one) => {
    const url = typeof one === "string" ? one : `data:${one.content_type};base64,${one.base64}`;
    return { type: "file" as const, ...sourceOf(url, "image/*") };
  });
  const about = typeof state === "string"
    ? { type: "text" as const, text: state }
    : { type: "json" as const, value: state as JsonValue };
  return {
    model,
    turns: [
      ...instructions ? [instructionsTurn(instructions)] : [],
      { type: "message", role: "user", content: [about, ...files ?? []] },
    ],
    questions: entries.map(([key, one]) => parseQuestion(key, one)),
    ...extraField(WIRE, body, REQUEST_KEYS),
  };
}

/** The instructions for all questions, which only some servers of the wire have a field for. */
function instructionsTurn(text: string): DecideTurn {
  return { type: "message", role: "system", content: [{ type: "text", text }], extra: { wire: WIRE, fields: {} } };
}

/** The request with its instructions apart, if a client of the wire sent them. */
function withoutInstructions(input: DecideRequest): { input: DecideRequest; instructions?: string } {
  const [first, ...turns] = input.turns;
  if (first?.type !== "message" || first.extra?.wire !== WIRE) return { input };
  return { input: { ...input, turns }, instructions: textOf(first.content) };
}

/** A name of JavaScript's own would get lost. */
function checkNames(object: JsonObject, param: string): void {
  if (Object.hasOwn(object, "__proto__")) throw invalid(param, 'The name "__proto__" cannot be used');
}

function parseQuestion(key: string, one: WireQuestion): Question {
  const common = {
    name: key,
    instructions: one.instructions ? [{ type: "text" as const, text: one.instructions }] : [],
    ...extraField(WIRE, one, ["type", "instructions", "criteria"]),
  };
  const at = `questions.${key}.criteria`;
  switch (one.type) {
    case "noul": {
      const { true: yes, false: no } = one.criteria ?? {};
      if (!one.instructions && !yes && !no) throw invalid(`questions.${key}`, "Expected instructions or criteria");
      return {
        type: "predicate",
        ...common,
        ...(one.criteria && { criteria: { ...present("yes", yes), ...present("no", no) } }),
      };
    }
    case "choice": {
      const options = Object.entries(one.criteria);
      if (options.length === 0 || options.length > MOST_OPTIONS) {
        throw invalid(at, `Expected 1 to ${MOST_OPTIONS} options, not ${options.length}`);
      }
      return {
        type: "choice",
        ...common,
        options: options.map(([value, description]) => ({ value, ...present("description", description) })),
      };
    }
    default:
      return { type: "score", ...common, levels: one.criteria.map((label) => ({ label })) };
  }
}

export function serializeSystemOne(output: DecideResponse, exchange: Exchange<"decide">): JsonObject {
  const { inputTokens, outputTokens, reportedCost } = output.usage as Usage;
  return {
    model: exchange.input.model,
    answers: serializeByKey(output, exchange, serializeAnswer),
    usage: {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      ...(reportedCost !== undefined && { cost: Number(reportedCost) }),
    },
    ...fieldsFor(WIRE, output.extra),
  };
}

function serializeAnswer(answer: DecidedAnswer, question: Question): JsonObject {
  const { probabilities, labelMass } = answer;
  const extra = {
    ...(labelMass !== undefined && { x_label_mass: labelMass }),
    ...fieldsFor(WIRE, answer.extra),
  };
  if (question.type === "predicate") return { type: "noul", noul: probabilities[0]!, ...extra };
  const options = optionsOf(question).map(({ text }) => text);
  const byKey = (keys: readonly string[]) => Object.fromEntries(keys.map((key, at) => [key, probabilities[at]!]));
  if (question.type === "choice") {
    return {
      type: "choice",
      choice: options[chosenOf(answer)]!,
      confidence: certaintyOf(answer),
      probabilities: byKey(options),
      ...extra,
    };
  }
  return {
    type: "score",
    score: scoreOf(answer),
    confidence: certaintyOf(answer),
    legend: Object.fromEntries(options.map((label, level) => [level, label])),
    probabilities: byKey(options.map((_, level) => String(level))),
    ...extra,
  };
}

/** The body for an upstream. */
export function serializeSystemOneRequest(asked: DecideRequest, { target, context: { note } }: Place): JsonObject {
  const { input, instructions } = withoutInstructions(asked);
  const keys = keysOf(input);
  return {
    model: target.model,
    ...stateValue(input, "state", note),
    ...present("instructions", instructions),
    questions: Object.fromEntries(
      input.questions.map((question, index) => [keys[index], serializeQuestion(question, note)]),
    ),
    ...fieldsFor(WIRE, input.extra, note),
  };
}

function serializeQuestion(question: Question, note: (text: string) => void): JsonObject {
  const words = wordsOf(question, true);
  const common = { ...(words !== "" && { instructions: words }), ...fieldsFor(WIRE, question.extra, note) };
  switch (question.type) {
    case "predicate": {
      const { yes, no } = question.criteria ?? {};
      const criteria = { ...present("true", yes), ...present("false", no) };
      return { type: "noul", ...common, ...(question.criteria && { criteria }) };
    }
    case "choice":
      return {
        type: "choice",
        ...common,
        criteria: Object.fromEntries(optionsOf(question).map(({ text, description }) => [text, description ?? null])),
      };
    case "score":
      if (question.levels.length > 10) throw refuse("questions", "The upstream takes at most 10 levels");
      return {
        type: "score",
        ...common,
        criteria: question.levels.map(({ label, description }) =>
          description === undefined ? label : `${label}: ${description}`
        ),
      };
    default:
      return question satisfies never;
  }
}

const ANSWER_KEYS = ["type", "noul", "choice", "score", "confidence", "legend", "probabilities"];

/** An upstream's answer. */
export function parseSystemOneResponse(received: unknown, input: DecideRequest): DecideResponse {
  const { answers, body } = answersByKey(received, input);
  const { diagnostics } = body;
  return {
    model: input.model,
    answers: answers.map((answer, index): Decision => {
      if (!answer) return { type: "refusal" };
      const decided = parseAnswer(answer, input.questions[index]!, String(index + 1));
      const { label_mass: diagnosed } = asObject(asObject(diagnostics)[keysOf(input)[index]!]);
      const labelMass = shareIn(answer.x_label_mass ?? diagnosed);
      return { ...decided, ...(labelMass !== undefined && { labelMass }) };
    }),
    usage: parseUsage(asObject(body.usage)),
    ...extraField(WIRE, body, ["id", "object", "created", "model", "answers", "usage"]),
  };
}

function parseAnswer(answer: JsonObject, question: Question, which: string): DecidedAnswer {
  const extra = extraField(WIRE, answer, [...ANSWER_KEYS, "x_label_mass"]);
  if (answer.type !== (question.type === "predicate" ? "noul" : question.type)) {
    throw badAnswer(which, `is no ${question.type}`);
  }
  if (question.type === "predicate") {
    const { noul } = answer;
    const no = typeof noul === "number" ? 1 - noul : undefined;
    return { type: "decided", probabilities: checkProbabilities([noul, no], 2, which), ...extra };
  }
  const options = optionsOf(question).map(({ text }) => text);
  const keys = question.type === "choice" ? options : options.map((_, level) => String(level));
  const reported = asObject(answer.probabilities);
  if (Object.keys(reported).length !== keys.length) throw badAnswer(which, "has other possible answers");
  const values = keys.map((key) => Object.hasOwn(reported, key) ? reported[key] : undefined);
  const confidence = shareIn(answer.confidence);
  return {
    type: "decided",
    probabilities: checkProbabilities(values, keys.length, which),
    ...(confidence !== undefined && { confidence }),
    ...(question.type === "choice" && { chosen: chosenIn(keys, answer.choice, which) }),
    ...extra,
  };
}
