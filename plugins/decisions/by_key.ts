/** Parts of the wires whose answers are by the names of their questions. */
import type { DecideRequest } from "../../src/canonical/decide.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import { keysOf } from "./answers.ts";
import { imagesOf, stateOf, urlOf } from "./state.ts";

/** Each question's answer in an upstream's. Absent where the server gave none. Throws if there is none at all. */
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

/** The subject of the questions as a text or as data, with its images beside it. */
export function stateValue(input: DecideRequest, field: "state" | "input", note: (text: string) => void): JsonObject {
  const { text, data, images, isJoined } = stateOf(input);
  if (isJoined) note("joined turns to one text");
  // Servers take scalars for texts.
  const value = typeof data === "object" && data !== null ? data : text;
  const all = [...images, ...input.questions.flatMap(imagesOf)];
  return { [field]: value, ...(all.length > 0 && { images: all.map(urlOf) }) };
}
