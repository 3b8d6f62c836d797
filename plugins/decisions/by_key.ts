/** Parts of the wires whose answers are by the names of their questions. */
import type { DecidedAnswer, DecideRequest, DecideResponse, Question } from "../../src/canonical/decide.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { Exchange } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import { keysOf, settledOf } from "./answers.ts";
import { imagesOf, stateOf, urlOf } from "./state.ts";

/** The upstream's answer to each question. Absent where it gave none. Throws if it gave none to any. */
export function answersByKey(
  received: unknown,
  input: DecideRequest,
): { answers: (JsonObject | undefined)[]; body: JsonObject } {
  if (saysError(received)) throw upstreamStreamError(received);
  const body = isJsonObject(received) ? received : {};
  const given = isJsonObject(body.answers) ? body.answers : {};
  const answers = keysOf(input).map((key) => {
    const answer = Object.hasOwn(given, key) ? given[key] : undefined;
    return isJsonObject(answer) ? answer : undefined;
  });
  if (answers.every((one) => one === undefined)) {
    throw new GatewayError("upstream_error", "The upstream's answer has no decisions");
  }
  return { answers, body };
}

/** The answers by the names of their questions. A refused question has none on these wires. */
export function serializeByKey(
  { answers }: DecideResponse,
  { input, note }: Exchange<"decide">,
  serializeAnswer: (answer: DecidedAnswer, question: Question) => JsonObject,
): JsonObject {
  const keys = keysOf(input);
  return Object.fromEntries(answers.flatMap((answer, index): [string, JsonObject][] => {
    const settled = settledOf(answer);
    if (settled.type === "decided") return [[keys[index]!, serializeAnswer(settled, input.questions[index]!)]];
    note(`question ${index + 1} was refused`);
    return [];
  }));
}

/** The subject of the questions as a text or as data, with its images beside it. */
export function stateValue(input: DecideRequest, field: "state" | "input", note: (text: string) => void): JsonObject {
  const { text, data, images, isJoined } = stateOf(input);
  if (isJoined) note("joined turns to one text");
  // Servers take scalars for texts.
  const value = typeof data === "object" && data !== null ? data : text;
  const all = [...images, ...input.questions.flatMap(imagesOf)];
  return { [field]: value, ...(all.length > 0 && { images: all.map(urlOf) }) };
}
