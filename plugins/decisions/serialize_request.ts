import type { DecidePart, DecideRequest, DecideTurn, Question } from "../../src/canonical/decide.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import type { Place } from "./place.ts";
import { refuse } from "./refuse.ts";
import { imagesOf, stateOf, urlOf, wordsOf } from "./state.ts";
import { WIRE } from "./wire.ts";

/** The body for servers whose questions are a list. */
export function serializeRequest(input: DecideRequest, { target, context: { note } }: Place): JsonObject {
  checkCounts(input.questions);
  return {
    model: target.model,
    input: serializeInput(input.turns, note),
    questions: input.questions.map((question) => ({
      ...serializeQuestion(question, serializeContent(question.instructions, wordsOf(question, false), note), note),
      ...fieldsFor(WIRE, question.extra, note),
    })),
    ...fieldsFor(WIRE, input.extra, note),
  };
}

/** The body for servers that refuse all but texts. */
export function serializePlainRequest(input: DecideRequest, { target, context: { note } }: Place): JsonObject {
  checkCounts(input.questions);
  const { text, images, isJoined } = stateOf(input);
  if (images.length > 0 || input.questions.some((question) => imagesOf(question).length > 0)) {
    throw refuse("input", "The upstream takes no images with questions");
  }
  if (isJoined) note("joined turns to one text");
  // Fields beside these are refused, even those of the same wire.
  fieldsFor("plain", input.extra, note);
  return {
    model: target.model,
    input: text,
    questions: input.questions.map((question) => {
      fieldsFor("plain", question.extra, note);
      return serializeQuestion(question, wordsOf(question, false) || USUAL_WORDS, note);
    }),
  };
}

/** Servers refuse a question without words. */
const USUAL_WORDS = "Which answer is right?";

function checkCounts(questions: readonly Question[]): void {
  for (const [index, question] of questions.entries()) {
    const count = question.type === "choice"
      ? question.options.length
      : question.type === "score"
      ? question.levels.length
      : 2;
    if (count < 2) throw refuse(`questions[${index}]`, "The upstream takes no question with one answer");
  }
}

type Note = (text: string) => void;

function serializeInput(turns: readonly DecideTurn[], note: Note): JsonValue {
  const [only] = turns;
  if (turns.length === 1 && only?.type === "message" && only.role === "user" && !only.extra) {
    const [part] = only.content;
    if (only.content.length === 1 && part?.type === "text" && !part.extra) return part.text;
  }
  return turns.map((turn) => ({ ...serializeTurn(turn, note), ...fieldsFor(WIRE, turn.extra, note) }));
}

function serializeTurn(turn: DecideTurn, note: Note): JsonObject {
  switch (turn.type) {
    case "message": {
      const texts = turn.role === "assistant" ? "output_text" : "input_text";
      return {
        type: "message",
        role: turn.role,
        content: turn.content.map((part) => serializePart(part, texts, note)),
      };
    }
    case "call":
      return turn.kind === "function"
        ? { type: "function_call", call_id: turn.id, name: turn.name, arguments: turn.input }
        : { type: "custom_tool_call", call_id: turn.id, name: turn.name, input: turn.input };
    case "result":
      return {
        type: turn.kind === "function" ? "function_call_output" : "custom_tool_call_output",
        call_id: turn.id,
        output: turn.content.map((part) => serializePart(part, "input_text", note)),
      };
    default:
      return turn satisfies never;
  }
}

/** `words`: the same as text. */
function serializeContent(parts: readonly DecidePart[], words: string, note: Note): JsonValue {
  const isText = parts.every((part) => part.type === "text" && !part.extra);
  return isText ? words || USUAL_WORDS : parts.map((part) => serializePart(part, "input_text", note));
}

function serializePart(part: DecidePart, texts: "input_text" | "output_text", note: Note): JsonObject {
  const extra = fieldsFor(WIRE, part.extra, note);
  switch (part.type) {
    case "text":
      return extra.type === "refusal" ? { ...extra, refusal: part.text } : { type: texts, text: part.text, ...extra };
    case "json":
      return { type: "input_json", data: part.value, ...extra };
    case "file":
      return {
        type: "input_image",
        image_url: urlOf(part),
        ...(part.detail !== undefined && { detail: part.detail }),
        ...extra,
      };
    default:
      return part satisfies never;
  }
}

function serializeQuestion(question: Question, instructions: JsonValue, note: Note): JsonObject {
  const common = { type: question.type, ...(question.name !== undefined && { name: question.name }), instructions };
  switch (question.type) {
    case "predicate":
      return common;
    case "choice":
      return {
        ...common,
        choices: question.options.map(({ value, description, extra }) => ({
          value,
          ...(description !== undefined && { description }),
          ...fieldsFor(WIRE, extra, note),
        })),
      };
    case "score":
      return {
        ...common,
        levels: question.levels.map(({ label, description, extra }) => ({
          label,
          ...(description !== undefined && { description }),
          ...fieldsFor(WIRE, extra, note),
        })),
      };
    default:
      return question satisfies never;
  }
}
