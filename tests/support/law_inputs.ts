import type fc from "fast-check";
import type { GenerateResponse } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import * as chat from "./chat_arbitraries.ts";
import * as messages from "./messages_arbitraries.ts";
import * as messagesNormal from "./messages_normal_form.ts";
import * as chatNormal from "./normal_form.ts";
import * as responses from "./responses_arbitraries.ts";
import * as responsesNormal from "./responses_normal_form.ts";
import { CHAT, MESSAGES, RESPONSES, type Wire } from "./wires.ts";

/** The inputs for the laws of a wire, and the normal forms by which they are compared. */
export interface LawInputs {
  wire: Wire;
  request: fc.Arbitrary<JsonObject>;
  answer: fc.Arbitrary<JsonObject>;
  /** The answers by a model of this name that the wire can express. */
  response(model: string): fc.Arbitrary<GenerateResponse>;
  normalRequest(body: JsonObject): JsonObject;
  normalAnswer(body: JsonObject): JsonObject;
}

export const LAW_INPUTS: readonly LawInputs[] = [
  { wire: CHAT, request: chat.chatRequest, answer: chat.chatAnswer, response: chat.chatResponse, ...chatNormal },
  {
    wire: MESSAGES,
    request: messages.messagesRequest,
    answer: messages.messagesAnswer,
    response: messages.messagesResponse,
    ...messagesNormal,
  },
  {
    wire: RESPONSES,
    request: responses.responsesRequest,
    answer: responses.responsesAnswer,
    response: responses.responsesResponse,
    ...responsesNormal,
  },
];
