import { asObject, asObjects, asText, isJsonObject, type JsonObject } from "../../../src/canonical/json.ts";
import type { CheckedAnswer, CheckedWire } from "../../../src/contract/conformance.ts";
import { complaintsOfCalls, complaintsOfHead, countsIn, emptyAnswer, eventsIn, objectIn } from "./reading.ts";

const STOPS: Readonly<Record<string, CheckedAnswer["stop"]>> = { stop: "end", length: "length", tool_calls: "tools" };

function thoughtsIn(message: JsonObject): string {
  return asText(message.reasoning_content) || asText(message.reasoning);
}

export const chat: CheckedWire = {
  name: "chat",
  path: "v1/chat/completions",
  headers: {},
  request: ({ model, text, system, stream, tools, toolChoice, maxTokens }) => ({
    model,
    messages: [...system === undefined ? [] : [{ role: "system", content: system }], { role: "user", content: text }],
    ...stream && { stream: true, stream_options: { include_usage: true } },
    ...tools && { tools: tools.map((tool) => ({ type: "function", function: { ...tool } })) },
    ...toolChoice && { tool_choice: toolChoice === "any" ? "required" : "none" },
    ...maxTokens !== undefined && { max_tokens: maxTokens },
  }),
  withResults(request, answer, results) {
    const message = asObjects(objectIn(answer.text)?.choices)[0]?.message ?? {};
    const turns = Array.from(results, ([id, content]) => ({ role: "tool", tool_call_id: id, content }));
    return { ...request, messages: [...asObjects(request.messages), message, ...turns] };
  },
  readWhole(reply) {
    const answer = emptyAnswer();
    const { complaints } = answer;
    complaints.push(...complaintsOfHead(reply, "application/json"));
    const body = objectIn(reply.text);
    const [choice] = asObjects(body?.choices);
    if (!body || !choice || !isJsonObject(choice.message)) {
      return { ...answer, complaints: [...complaints, "There is no choices[0].message"] };
    }
    const { message } = choice;
    if (body.object !== "chat.completion") complaints.push('"object" is not "chat.completion"');
    if (asText(body.id) === "") complaints.push('There is no "id"');
    if (message.role !== "assistant") complaints.push('The role is not "assistant"');
    if (message.content !== null && typeof message.content !== "string") {
      complaints.push('"content" is neither text nor null');
    }
    answer.text = asText(message.content);
    answer.thoughts = thoughtsIn(message);
    answer.calls = asObjects(message.tool_calls).map(callIn);
    answer.stop = STOPS[asText(choice.finish_reason)] ?? (choice.finish_reason ? "other" : undefined);
    answer.usage = countsIn(body.usage, "prompt_tokens", "completion_tokens");
    if (!answer.stop) complaints.push('There is no "finish_reason"');
    complaints.push(...complaintsOfCalls(answer));
    return answer;
  },
  readStream(reply) {
    const answer = emptyAnswer();
    answer.complaints.push(...complaintsOfHead(reply, "text/event-stream"));
    const events = eventsIn(reply.text);
    const isDone = events.at(-1)?.data === "[DONE]";
    const chunks = (isDone ? events.slice(0, -1) : events).map(({ data }) => objectIn(data));
    if (chunks.some((chunk) => !chunk)) answer.complaints.push("An event is no JSON object");
    answer.isFailed = chunks.some((chunk) => isJsonObject(chunk?.error));
    if (!isDone && !answer.isFailed) answer.complaints.push("The stream does not end with [DONE]");
    for (const chunk of chunks) if (chunk && !isJsonObject(chunk.error)) readChunk(chunk, answer);
    if (!answer.stop && !answer.isFailed) answer.complaints.push('No chunk has a "finish_reason"');
    if (!answer.isFailed) answer.complaints.push(...complaintsOfCalls(answer));
    return answer;
  },
  readError({ text }) {
    const { error } = objectIn(text) ?? {};
    if (!isJsonObject(error)) return ['An error has no object "error"'];
    return ["message", "type"].flatMap((field) => asText(error[field]) === "" ? [`"error" has no "${field}"`] : []);
  },
};

function callIn({ id, function: called }: JsonObject) {
  const { name, arguments: input } = asObject(called);
  return { id: asText(id), name: asText(name), input: asText(input) };
}

function readChunk(chunk: JsonObject, answer: CheckedAnswer): void {
  if (chunk.object !== "chat.completion.chunk") {
    answer.complaints.push('A chunk\'s "object" is not "chat.completion.chunk"');
  }
  answer.usage = countsIn(chunk.usage, "prompt_tokens", "completion_tokens") ?? answer.usage;
  for (const { delta, finish_reason } of asObjects(chunk.choices)) {
    if (isJsonObject(delta)) readDelta(delta, answer);
    if (!finish_reason) continue;
    if (answer.stop) answer.complaints.push('Two chunks have a "finish_reason"');
    answer.stop = STOPS[asText(finish_reason)] ?? "other";
  }
}

function readDelta(delta: JsonObject, answer: CheckedAnswer): void {
  answer.text += asText(delta.content);
  answer.thoughts += thoughtsIn(delta);
  for (const { index, id, function: called } of asObjects(delta.tool_calls)) {
    const { name, arguments: input } = asObject(called);
    const known = answer.calls[Number(index)];
    if (known) known.input += asText(input);
    else if (index === answer.calls.length) {
      answer.calls.push({ id: asText(id), name: asText(name), input: asText(input) });
    } else answer.complaints.push(`A call begins with index ${index}, and ${answer.calls.length} is next`);
  }
}
