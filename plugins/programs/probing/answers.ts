/** Reads answers of the chat wire. */
import { asList, asObject, asObjects, asText, isJsonObject, type JsonObject } from "../../../src/canonical/json.ts";
import type { ProbeReply } from "../../../src/contract/probing.ts";

/** The message of a whole answer. */
export function messageOf({ status, body }: ProbeReply): JsonObject | undefined {
  const [choice] = asList(status === 200 && asObject(body).choices);
  return isJsonObject(choice) && isJsonObject(choice.message) ? choice.message : undefined;
}

/** Whether a whole answer was cut off at its token limit. */
export function isCutShort({ body }: ProbeReply): boolean {
  const [choice] = asList(asObject(body).choices);
  return isJsonObject(choice) && choice.finish_reason === "length";
}

export function messageText(message: JsonObject | undefined): string {
  return asText(message?.content);
}

export function callsOf(message: JsonObject | undefined): JsonObject[] {
  return asObjects(message?.tool_calls);
}

/** The fields in which servers send reasoning. */
export const REASONING_FIELDS = ["reasoning_content", "reasoning"] as const;

export function reasoningFieldOf(message: JsonObject | undefined): typeof REASONING_FIELDS[number] | undefined {
  return REASONING_FIELDS.find((field) => typeof message?.[field] === "string" && message[field] !== "");
}

/** Whether the model thought, wherever it stands. */
export function hasThought(message: JsonObject | undefined): boolean {
  return reasoningFieldOf(message) !== undefined || /<think>|<\|channel\|>analysis/.test(messageText(message));
}

/** The objects of a stream, without its end mark. */
export function eventsOf({ text }: ProbeReply): JsonObject[] {
  return text.split(/\r?\n/).filter((line) => line.startsWith("data:")).flatMap((line) => {
    try {
      const value = JSON.parse(line.slice("data:".length));
      return isJsonObject(value) ? [value] : [];
    } catch {
      return [];
    }
  });
}

/** What an error says, for people. */
export function errorOf({ body, text }: ProbeReply): string {
  const error = isJsonObject(body) ? body.error ?? body.detail ?? body.message : undefined;
  const words = isJsonObject(error) ? error.message : error;
  return (typeof words === "string" ? words : JSON.stringify(words) ?? text).slice(0, 120);
}
