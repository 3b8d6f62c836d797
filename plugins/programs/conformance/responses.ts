import { asObjects, asText, isJsonObject, type JsonObject } from "../../../src/canonical/json.ts";
import type { CheckedAnswer, CheckedWire } from "../../../src/contract/conformance.ts";
import { complaintsOfCalls, complaintsOfHead, countsIn, emptyAnswer, eventsIn, objectIn } from "./reading.ts";

/** What every response has, as clients that validate it insist on. */
const FIELDS = [
  "id",
  "object",
  "created_at",
  "status",
  "model",
  "output",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "metadata",
];
const TERMINAL = ["response.completed", "response.incomplete", "response.failed"];

export const responses: CheckedWire = {
  name: "responses",
  path: "v1/responses",
  headers: {},
  request: ({ model, text, system, stream, tools, toolChoice, maxTokens }) => ({
    model,
    store: false,
    input: [{ role: "user", content: text }],
    ...system !== undefined && { instructions: system },
    ...stream && { stream: true },
    ...tools && { tools: tools.map((tool) => ({ type: "function", strict: false, ...tool })) },
    ...toolChoice && { tool_choice: toolChoice === "any" ? "required" : "none" },
    ...maxTokens !== undefined && { max_output_tokens: maxTokens },
  }),
  withResults(request, answer, results) {
    const items = Array.from(results, ([id, output]) => ({ type: "function_call_output", call_id: id, output }));
    return { ...request, input: [...asObjects(request.input), ...asObjects(objectIn(answer.text)?.output), ...items] };
  },
  readWhole(reply) {
    const answer = emptyAnswer();
    answer.complaints.push(...complaintsOfHead(reply, "application/json"));
    const body = objectIn(reply.text);
    if (!body) answer.complaints.push("The body is no JSON object");
    else readResponse(body, answer);
    answer.complaints.push(...complaintsOfCalls(answer));
    return answer;
  },
  readStream(reply) {
    const answer = emptyAnswer();
    answer.complaints.push(...complaintsOfHead(reply, "text/event-stream"));
    const events = eventsIn(reply.text).filter(({ data }) => data !== "[DONE]");
    const reader = new Reader(answer);
    for (const { name, data } of events) reader.take(name, objectIn(data));
    reader.finish();
    return answer;
  },
  readError({ text }) {
    const { error } = objectIn(text) ?? {};
    if (!isJsonObject(error)) return ['An error has no object "error"'];
    return asText(error.message) === "" ? ['"error" has no "message"'] : [];
  },
};

function readResponse(body: JsonObject, answer: CheckedAnswer): void {
  for (const field of FIELDS) if (body[field] === undefined) answer.complaints.push(`The response has no "${field}"`);
  if (body.object !== "response") answer.complaints.push('"object" is not "response"');
  answer.usage = countsIn(body.usage, "input_tokens", "output_tokens");
  answer.isFailed = body.status === "failed";
  const [text, thoughts, calls] = [answer.text, answer.thoughts, answer.calls];
  Object.assign(answer, { text: "", thoughts: "", calls: [] });
  for (const item of asObjects(body.output)) readItem(item, answer);
  const isStreamed = text !== "" || calls.length > 0;
  if (isStreamed && text !== answer.text) {
    answer.complaints.push("The text of the increments is not the text of the response");
  }
  answer.thoughts ||= thoughts;
  const isIncomplete = body.status === "incomplete";
  answer.stop = isIncomplete
    ? "length"
    : answer.calls.length > 0
    ? "tools"
    : body.status === "completed"
    ? "end"
    : "other";
}

function readItem(
  { type, id, content, summary, call_id, name, arguments: input }: JsonObject,
  answer: CheckedAnswer,
): void {
  if (asText(id) === "") answer.complaints.push(`An item of type ${type} has no id`);
  const texts = asObjects(content).map(({ text }) => asText(text)).join("");
  if (type === "message") answer.text += texts;
  else if (type === "reasoning") answer.thoughts += texts + asObjects(summary).map(({ text }) => asText(text)).join("");
  else if (type === "function_call") {
    answer.calls.push({ id: asText(call_id), name: asText(name), input: asText(input) });
  }
}

/** Created first, one terminal event at the end, numbers without gaps, items added before what is of them. */
class Reader {
  readonly #answer: CheckedAnswer;
  readonly #open = new Set<string>();
  #count = 0;
  #isOver = false;
  #isMisnumbered = false;

  constructor(answer: CheckedAnswer) {
    this.#answer = answer;
  }

  take(name: string | undefined, event: JsonObject | undefined): void {
    const type = asText(event?.type);
    if (!event || type === "") return this.#complain("An event is no JSON object with a type");
    if (name !== undefined && name !== type) this.#complain(`An event is called "${name}", and its type is "${type}"`);
    if (this.#isOver) this.#complain(`${type} comes after the end`);
    this.#checkNumber(type, event.sequence_number);
    if (this.#count === 0 && type !== "response.created" && type !== "error") {
      this.#complain(`${type} comes before response.created`);
    }
    this.#count++;
    this.#takeOf(type, event);
  }

  /** One wrong number makes all that follow wrong. */
  #checkNumber(type: string, number: unknown): void {
    if (number === this.#count || this.#isMisnumbered) return;
    this.#isMisnumbered = true;
    this.#complain(`${type} has the number ${number}, and ${this.#count} is next`);
  }

  finish(): void {
    if (!this.#isOver) this.#complain("The stream has no terminal event");
    if (!this.#answer.isFailed) this.#answer.complaints.push(...complaintsOfCalls(this.#answer));
  }

  #takeOf(type: string, event: JsonObject): void {
    const item = isJsonObject(event.item) ? asText(event.item.id) : "";
    if (type === "response.output_item.added") this.#open.add(item);
    else if (type === "response.output_item.done" && !this.#open.delete(item)) {
      this.#complain("An item is done that was not added");
    } else if (event.item_id !== undefined && !this.#open.has(asText(event.item_id))) {
      this.#complain(`${type} is of no item that is open`);
    }
    if (type === "response.output_text.delta") this.#answer.text += asText(event.delta);
    if (type === "error") this.#answer.isFailed = this.#isOver = true;
    if (!TERMINAL.includes(type)) return;
    this.#isOver = true;
    if (isJsonObject(event.response)) readResponse(event.response, this.#answer);
    else this.#complain(`${type} has no response`);
  }

  #complain(sentence: string): void {
    this.#answer.complaints.push(sentence);
  }
}
