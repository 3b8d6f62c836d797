import type { DecidePart, DecideRequest, DecideTurn, Question } from "../../src/canonical/decide.ts";
import { extraField } from "../../src/canonical/extra.ts";
import { type JsonObject, present } from "../../src/canonical/json.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { sourceOf } from "../shared/foreign.ts";
import {
  REQUEST_KEYS,
  requestSchema,
  WIRE,
  type WireContent,
  type WireItem,
  type WirePart,
  type WireQuestion,
} from "./wire.ts";

/** A client's request whose questions are a list. `null` means absent. */
export function parseRequest(received: unknown): DecideRequest {
  const body = validate(requestSchema, received);
  const { model, input, questions } = body;
  if (typeof input !== "string") checkCalls(input);
  return {
    model,
    turns: typeof input === "string" ? [userText(input)] : input.map(parseItem),
    questions: questions.map(parseQuestion),
    ...extraField(WIRE, body, REQUEST_KEYS),
  };
}

function userText(text: string): DecideTurn {
  return { type: "message", role: "user", content: [{ type: "text", text }] };
}

/** Each result must follow its call. */
function checkCalls(items: readonly WireItem[]): void {
  const called = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (item.type === "function_call" || item.type === "custom_tool_call") called.add(item.call_id);
    else if (item.type !== "message" && "output" in item && !called.has(item.call_id as string)) {
      throw invalid(`input[${index}].call_id`, `No call before it has the id "${item.call_id}"`);
    }
  }
}

function parseItem(item: WireItem): DecideTurn {
  switch (item.type) {
    case "function_call":
      return {
        type: "call",
        kind: "function",
        id: item.call_id,
        name: item.name,
        input: item.arguments,
        ...extraField(WIRE, item, ["type", "call_id", "name", "arguments"]),
      };
    case "custom_tool_call":
      return {
        type: "call",
        kind: "custom",
        id: item.call_id,
        name: item.name,
        input: item.input,
        ...extraField(WIRE, item, ["type", "call_id", "name", "input"]),
      };
    case "function_call_output":
    case "custom_tool_call_output":
      return {
        type: "result",
        kind: item.type === "function_call_output" ? "function" : "custom",
        id: item.call_id,
        content: parseContent(item.output),
        ...extraField(WIRE, item, ["type", "call_id", "output"]),
      };
    default:
      return {
        type: "message",
        role: item.role,
        content: parseContent(item.content),
        ...extraField(WIRE, item, ["type", "role", "content"]),
      };
  }
}

function parseContent(content: WireContent): DecidePart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content.map(parsePart);
}

function parsePart(part: WirePart): DecidePart {
  switch (part.type) {
    case "refusal":
      return { type: "text", text: part.refusal, ...extraField(WIRE, part, ["refusal"]) };
    case "input_image":
      return {
        type: "file",
        ...sourceOf(part.image_url, "image/*"),
        ...present("detail", part.detail),
        ...extraField(WIRE, part, ["type", "image_url", "detail"]),
      };
    case "input_json":
      return { type: "json", value: part.data, ...extraField(WIRE, part, ["type", "data"]) };
    default:
      return { type: "text", text: part.text, ...extraField(WIRE, part, ["type", "text"]) };
  }
}

function parseQuestion(question: WireQuestion, index: number): Question {
  const known = ["type", "name", "instructions", "choices", "levels"];
  const common = {
    ...present("name", question.name),
    instructions: parseContent(question.instructions ?? []),
    ...extraField(WIRE, question, known),
  };
  switch (question.type) {
    case "predicate":
      return { type: "predicate", ...common };
    case "choice":
      checkUnique(question.choices.map(({ value }) => value), `questions[${index}].choices`);
      return {
        type: "choice",
        ...common,
        options: question.choices.map((choice) => ({
          value: choice.value,
          ...present("description", choice.description),
          ...extraField(WIRE, choice as JsonObject, ["value", "description"]),
        })),
      };
    default:
      return {
        type: "score",
        ...common,
        levels: question.levels.map((level) => ({
          label: level.label,
          ...present("description", level.description),
          ...extraField(WIRE, level as JsonObject, ["label", "description"]),
        })),
      };
  }
}

/** `values`: a text and a boolean are never the same. */
export function checkUnique(values: readonly unknown[], param: string): void {
  const seen = new Set<unknown>();
  for (const [index, value] of values.entries()) {
    if (seen.has(value)) throw invalid(`${param}[${index}]`, `${JSON.stringify(value)} is there twice`);
    seen.add(value);
  }
}

export function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", `Invalid value at "${param}": ${message}`, { param });
}
