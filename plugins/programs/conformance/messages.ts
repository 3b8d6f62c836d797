import { asObject, asObjects, asText, isJsonObject, type JsonObject } from "../../../src/canonical/json.ts";
import type { CheckedAnswer, CheckedWire } from "../../../src/contract/conformance.ts";
import { complaintsOfCalls, complaintsOfHead, countsIn, emptyAnswer, eventsIn, objectIn } from "./reading.ts";

const STOPS: Readonly<Record<string, CheckedAnswer["stop"]>> = {
  end_turn: "end",
  max_tokens: "length",
  tool_use: "tools",
};
const CHOICES = { any: { type: "any" }, none: { type: "none" } } as const;
/** A model may think first. */
const USUAL_LIMIT = 1024;

export const messages: CheckedWire = {
  name: "messages",
  path: "v1/messages",
  headers: { "anthropic-version": "2023-06-01" },
  request: ({ model, text, system, stream, tools, toolChoice, maxTokens = USUAL_LIMIT }) => ({
    model,
    max_tokens: maxTokens,
    messages: [{ role: "user", content: text }],
    ...system !== undefined && { system },
    ...stream && { stream: true },
    ...tools && {
      tools: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
    },
    ...toolChoice && { tool_choice: CHOICES[toolChoice] },
  }),
  withResults(request, answer, results) {
    const content = Array.from(results, ([id, content]) => ({ type: "tool_result", tool_use_id: id, content }));
    const turns = [
      { role: "assistant", content: objectIn(answer.text)?.content ?? [] },
      { role: "user", content },
    ];
    return { ...request, messages: [...asObjects(request.messages), ...turns] };
  },
  readWhole(reply) {
    const answer = emptyAnswer();
    const { complaints } = answer;
    complaints.push(...complaintsOfHead(reply, "application/json"));
    const body = objectIn(reply.text);
    if (!body || !Array.isArray(body.content)) {
      return { ...answer, complaints: [...complaints, 'There is no list "content"'] };
    }
    if (body.type !== "message" || body.role !== "assistant") complaints.push('It is no "message" of the "assistant"');
    if (!asText(body.id)) complaints.push('There is no "id"');
    for (const block of asObjects(body.content)) readBlock(block, answer);
    readEnd(body.stop_reason, body.usage, answer);
    complaints.push(...complaintsOfCalls(answer));
    return answer;
  },
  readStream(reply) {
    const answer = emptyAnswer();
    answer.complaints.push(...complaintsOfHead(reply, "text/event-stream"));
    const reader = new Reader(answer);
    for (const { name, data } of eventsIn(reply.text)) reader.take(name, objectIn(data));
    reader.finish();
    return answer;
  },
  readError({ text }) {
    const { type, error } = objectIn(text) ?? {};
    if (type !== "error" || !isJsonObject(error)) return ['An error is no {"type": "error", "error": {...}}'];
    return ["message", "type"].flatMap((field) => asText(error[field]) === "" ? [`"error" has no "${field}"`] : []);
  },
};

function readBlock({ type, text, thinking, id, name, input }: JsonObject, answer: CheckedAnswer): void {
  if (type === "text") answer.text += asText(text);
  else if (type === "thinking") answer.thoughts += asText(thinking);
  else if (type === "tool_use") answer.calls.push({ id: asText(id), name: asText(name), input: JSON.stringify(input) });
}

function readEnd(stop: unknown, usage: JsonObject["usage"], answer: CheckedAnswer): void {
  answer.stop = STOPS[String(stop)] ?? (stop ? "other" : undefined);
  answer.usage = countsIn(usage, "input_tokens", "output_tokens") ?? answer.usage;
  if (!answer.stop) answer.complaints.push('There is no "stop_reason"');
}

/** One start; blocks one after the other, each begun and ended; the stop reason; one end. */
class Reader {
  readonly #answer: CheckedAnswer;
  #state: "new" | "open" | "ended" | "over" = "new";
  #blocks = 0;
  /** The type of the block that has begun. */
  #block: string | undefined;

  constructor(answer: CheckedAnswer) {
    this.#answer = answer;
  }

  take(name: string | undefined, event: JsonObject | undefined): void {
    const type = asText(event?.type);
    if (!event || type === "") return this.#complain("An event is no JSON object with a type");
    if (type === "ping") return;
    if (name !== type) this.#complain(`An event is called "${name}", and its type is "${type}"`);
    if (this.#state === "over") return this.#complain(`${type} comes after the end`);
    const take = this.#takers[type];
    if (take) take(event);
    else this.#complain(`${type} is no event of this wire`);
  }

  finish(): void {
    if (this.#state !== "over") this.#complain("The stream does not end with message_stop");
    if (!this.#answer.isFailed) this.#answer.complaints.push(...complaintsOfCalls(this.#answer));
  }

  #complain(sentence: string): void {
    this.#answer.complaints.push(sentence);
  }

  readonly #takers: Record<string, (event: JsonObject) => void> = {
    error: () => {
      this.#answer.isFailed = true;
      this.#state = "over";
    },
    message_start: ({ message }) => {
      if (this.#state !== "new") this.#complain("A second message_start");
      this.#state = "open";
      if (!isJsonObject(message) || !isJsonObject(message.usage)) this.#complain("message_start has no usage");
      else this.#answer.usage = countsIn(message.usage, "input_tokens", "output_tokens");
    },
    content_block_start: ({ index, content_block }) => {
      if (this.#state !== "open") this.#complain("A block begins outside of the message");
      if (this.#block !== undefined) this.#complain("A block begins before the last one ended");
      if (index !== this.#blocks) this.#complain(`A block has index ${index}, and ${this.#blocks} is next`);
      const block = asObject(content_block);
      this.#block = asText(block.type);
      if (this.#block === "tool_use") {
        this.#answer.calls.push({ id: asText(block.id), name: asText(block.name), input: "" });
      }
    },
    content_block_delta: ({ index, delta }) => {
      if (this.#block === undefined || index !== this.#blocks) {
        this.#complain("An increment is of no block that is open");
      }
      const { text, thinking, partial_json } = asObject(delta);
      this.#answer.text += asText(text);
      this.#answer.thoughts += asText(thinking);
      const call = this.#answer.calls.at(-1);
      if (call && this.#block === "tool_use") call.input += asText(partial_json);
    },
    content_block_stop: ({ index }) => {
      if (this.#block === undefined || index !== this.#blocks) this.#complain("A block ends that is not open");
      const call = this.#answer.calls.at(-1);
      if (call && this.#block === "tool_use") call.input ||= "{}";
      this.#block = undefined;
      this.#blocks++;
    },
    message_delta: ({ delta, usage }) => {
      if (this.#block !== undefined) this.#complain("The message ends before its block");
      this.#state = "ended";
      const output = isJsonObject(usage) ? usage.output_tokens : undefined;
      if (!Number.isInteger(output)) this.#complain("message_delta has no usage.output_tokens");
      else if (this.#answer.usage) this.#answer.usage = { ...this.#answer.usage, output: output as number };
      readEnd(isJsonObject(delta) ? delta.stop_reason : undefined, usage, this.#answer);
    },
    message_stop: () => {
      if (this.#state !== "ended") this.#complain("message_stop comes before message_delta");
      this.#state = "over";
    },
  };
}
