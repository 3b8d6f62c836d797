/** The ways in which servers are asked for decisions. */
import type { DecideRequest, DecideResponse, Decision, Question } from "../../src/canonical/decide.ts";
import type { GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import { asObject, type JsonObject, readJson } from "../../src/canonical/json.ts";
import { sumReported } from "../../src/canonical/usage.ts";
import type { Call, Reply } from "../../src/contract/call.ts";
import type { AnswerContext, Context } from "../../src/contract/context.ts";
import type { Decisions } from "../../src/contract/quirks.ts";
import { badAnswer } from "./answers.ts";
import { parseListedResponse, serializeListedRequest } from "./listed.ts";
import { alternativesAt, readDecision } from "./logprobs.ts";
import { chatRequestsOf, labelsOf } from "./over_chat.ts";
import type { Place } from "./place.ts";
import { parseResponse } from "./parse_response.ts";
import { refuse } from "./refuse.ts";
import { stateOf } from "./state.ts";
import { serializePlainRequest, serializeRequest } from "./serialize_request.ts";
import { parseSystemOneResponse, serializeSystemOneRequest } from "./systemone.ts";

/** How one request is made. */
export function wayOf({ target, chat, usual }: Omit<Place, "context">): Exclude<Decisions, "off"> {
  const { refusesDecisions, refusesLogprobs, refusesForm, upstream } = target;
  let way = target.decisions ?? usual;
  const isOverChat = (one: Decisions) => one === "logprobs" || one === "schema" || one === "tool";
  if (refusesDecisions && !isOverChat(way)) way = usual === "schema" ? "schema" : "logprobs";
  // Only answers of the chat wire have log probabilities.
  if (way === "logprobs" && (refusesLogprobs || usual === "schema")) way = "schema";
  if (way === "schema" && (refusesForm || target.structuredOutput === "instruct")) way = "tool";
  if (way === "off" || (isOverChat(way) && !chat)) throw refuse("model", `Upstream "${upstream}" makes no decisions`);
  return way;
}

/** The calls: one for all questions, or one for each. */
export function requestDecisions(input: DecideRequest, place: Place): Call | Call[] {
  const way = wayOf(place);
  switch (way) {
    case "list":
      return { path: "decisions", body: serializeRequest(input, place) };
    case "plain-list":
      return { path: "decisions", body: serializePlainRequest(input, place) };
    case "list-by-id":
      return { path: "decisions", body: serializeListedRequest(input, place) };
    case "systemone":
      return { path: "systemone", body: serializeSystemOneRequest(input, place) };
    case "systemone-at-decisions":
      return { path: "decisions", body: serializeSystemOneRequest(input, place) };
    case "logprobs":
      return askByLogprobs(input, place);
    case "schema":
    case "tool":
      return askForChoice(input, place, way);
    default:
      return way satisfies never;
  }
}

function askByLogprobs(input: DecideRequest, place: Place): Call[] {
  noteLosses(input, place.context);
  const alternatives = alternativesAt(place.target);
  if (input.questions.some((question) => labelsOf(question).length > alternatives)) {
    place.context.note(`answers beyond the ${alternatives} likeliest count as impossible`);
  }
  return chatRequestsOf(input, () => ({ ...PLAIN, maxOutputTokens: 1 })).map((request) => {
    const call = chatCall(request, place);
    return { ...call, body: { ...asObject(call.body), logprobs: true, top_logprobs: alternatives } };
  });
}

const PLAIN: Partial<GenerateRequest> = { thinking: { enabled: false, effort: "none" }, temperature: 0 };

/** Room for a model that thinks although it should not. */
const LONGEST_CHOICE = 4_096;

const TOOL = "answer";

function askForChoice(input: DecideRequest, place: Place, way: "schema" | "tool"): Call[] {
  const { note } = place.context;
  noteLosses(input, place.context);
  note(`decided by a ${way}: probabilities of 1 and 0 are not measured`);
  return chatRequestsOf(input, (labels) => {
    const schema: JsonObject = {
      type: "object",
      properties: { answer: { type: "string", enum: [...labels] } },
      required: ["answer"],
      additionalProperties: false,
    };
    const asked: Partial<GenerateRequest> = way === "schema"
      ? { outputSchema: { name: TOOL, schema, strict: true } }
      : {
        tools: [{ type: "function", name: TOOL, description: "Gives the answer.", parameters: schema }],
        toolChoice: { type: "tool", kind: "function", name: TOOL },
      };
    return { ...PLAIN, maxOutputTokens: LONGEST_CHOICE, ...asked };
  }).map((request) => chatCall(request, place));
}

function chatCall(request: GenerateRequest, { chat, target, context }: Place): Call {
  return [chat!.request(request, target, context)].flat()[0]!;
}

/** Notes fields that only servers with decisions have, and turns that are no turns in the request. */
function noteLosses(input: DecideRequest, { note }: Context): void {
  const { extra, questions } = input;
  if (stateOf(input).isJoined) note("joined turns to one text");
  for (const one of [extra, ...questions.map((question) => question.extra)]) {
    for (const field in one?.fields) note(`dropped ${field}`);
  }
}

/** The answers in the replies. */
export function readDecisions(
  replies: readonly Reply[],
  input: DecideRequest,
  place: Place & { context: AnswerContext },
): DecideResponse {
  const way = wayOf(place);
  switch (way) {
    case "list":
    case "plain-list":
      return parseResponse(replies[0]!.body, input);
    case "list-by-id":
      return parseListedResponse(replies[0]!.body, input);
    case "systemone":
    case "systemone-at-decisions":
      return parseSystemOneResponse(replies[0]!.body, input);
    case "logprobs":
    case "schema":
    case "tool":
      return readChat(replies, input, place, way);
    default:
      return way satisfies never;
  }
}

function readChat(
  replies: readonly Reply[],
  input: DecideRequest,
  { chat, target, context }: Place & { context: AnswerContext },
  way: "logprobs" | "schema" | "tool",
): DecideResponse {
  const read = replies.map((reply, index) => {
    const question = input.questions[index]!;
    const request: GenerateRequest = { model: input.model, messages: [], stream: false };
    const answer = chat!.response([reply], request, target, context);
    const isRefused = answer.finish.reason === "content-filter" ||
      answer.content.some(({ type }) => type === "refusal");
    const decision: Decision = isRefused
      ? { type: "refusal" }
      : way === "logprobs"
      ? readDecision(reply.body, question)
      : readChoice(answer, question, question.name === undefined ? String(index + 1) : `"${question.name}"`);
    return { decision, usage: answer.usage };
  });
  const answers = read.map(({ decision }) => decision);
  return { model: input.model, answers, usage: sumReported(read.map(({ usage }) => usage)) };
}

/** The label in an answer that follows a schema, or in the arguments of a call. */
function readChoice({ content }: GenerateResponse, question: Question, which: string): Decision {
  const labels = labelsOf(question);
  const texts = content.flatMap((part) =>
    part.type === "tool-call" ? part.input : part.type === "text" ? part.text : []
  );
  for (const text of texts) {
    const { answer } = asObject(readJson(text));
    const chosen = labels.indexOf(String(answer ?? text).trim());
    if (chosen >= 0) return { type: "decided", chosen, probabilities: labels.map((_, at) => at === chosen ? 1 : 0) };
  }
  throw badAnswer(which, "is none of the possible answers");
}

/** The way in words for people. */
const WORDS: Record<Exclude<Decisions, "off">, string> = {
  list: "natively",
  "plain-list": "natively",
  "list-by-id": "natively",
  systemone: "natively",
  "systemone-at-decisions": "natively",
  logprobs: "log probabilities",
  schema: "schema",
  tool: "tool",
};

export function wordFor(place: Omit<Place, "context">): string {
  return WORDS[wayOf(place)];
}
